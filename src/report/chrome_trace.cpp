#include "report/chrome_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/json_writer.h"
#include "report/cut_tensors.h"
#include "report/report_stages.h"

namespace allot {
namespace {

enum Track { kCompute = 0, kSend = 1, kReceive = 2 };

struct Span {
  double start = 0, end = 0;
};

class TraceWriter {
 public:
  TraceWriter(const Problem& problem, const Plan& plan) : problem_(problem), plan_(plan) {}

  std::string write() {
    out_.beginObject().field("displayTimeUnit", "ms").key("traceEvents").beginArray();
    writeNames();
    if (plan_.start.empty()) {
      writePipeline();
    } else {
      writeSchedule();
    }
    out_.endArray().endObject();
    return out_.take();
  }

 private:
  const Problem& problem_;
  const Plan& plan_;
  JsonWriter out_;
  std::uint64_t next_flow_ = 1;

  const std::string& opName(OpId op) const { return problem_.graph.op_name[op.index()]; }
  const std::string& deviceName(DeviceId device) const {
    return problem_.cluster.devices[device.index()].name;
  }

  void begin(std::string_view phase, std::string_view name, DeviceId device, Track track) {
    out_.beginObject()
        .field("ph", phase)
        .field("name", name)
        .field("pid", static_cast<std::uint64_t>(device.index()));
    out_.field("tid", static_cast<int>(track));
  }

  void writeNames() {
    constexpr std::string_view kTracks[] = {"compute", "send", "receive"};
    for (std::size_t d = 0; d < problem_.deviceCount(); ++d) {
      begin("M", "process_name", DeviceId(d), kCompute);
      out_.key("args").beginObject().field("name", deviceName(DeviceId(d))).endObject().endObject();
      for (const Track track : {kCompute, kSend, kReceive}) {
        begin("M", "thread_name", DeviceId(d), track);
        out_.key("args").beginObject().field("name", kTracks[track]).endObject().endObject();
      }
    }
  }

  void writeSpan(std::string_view category, std::string_view name, DeviceId device, Track track, Span span) {
    begin("X", name, device, track);
    out_.field("cat", category).field("ts", span.start * 1e6).field("dur", (span.end - span.start) * 1e6);
  }

  void writeOp(OpId op, DeviceId device, Span span, std::size_t replicas) {
    writeSpan("op", opName(op), device, kCompute, span);
    out_.key("args").beginObject().field(
        "model", problem_.graph.model_name[problem_.graph.op_model[op.index()].index()]);
    out_.field("phase", name(problem_.graph.op_phase[op.index()]));
    if (replicas > 1) out_.field("replicas", static_cast<std::uint64_t>(replicas));
    out_.endObject().endObject();
  }

  void writeTransfer(TensorId tensor, std::string_view peer, DeviceId device, Track track, Span span) {
    writeSpan("transfer", opName(problem_.graph.producer(tensor)), device, track, span);
    out_.key("args").beginObject().field(track == kSend ? "to" : "from", peer);
    out_.field("bytes", problem_.graph.tensor_bytes[tensor.index()]).endObject().endObject();
  }

  // An arrow from the send to the receive; viewers refuse one that goes back in time.
  void writeFlow(TensorId tensor, DeviceId from, double start, DeviceId to, double end) {
    if (end < start) return;
    const std::string& label = opName(problem_.graph.producer(tensor));
    begin("s", label, from, kSend);
    out_.field("cat", "tensor").field("id", next_flow_).field("ts", start * 1e6).endObject();
    begin("f", label, to, kReceive);
    out_.field("cat", "tensor").field("id", next_flow_).field("bp", "e").field("ts", end * 1e6).endObject();
    ++next_flow_;
  }

  void writeSchedule() {
    for (std::size_t i = 0; i < problem_.opCount(); ++i) {
      writeOp(OpId(i), plan_.assignment[i], {plan_.start[i], plan_.end[i]}, 1);
    }
    for (const PlanTransfer& transfer : plan_.transfers) {
      const Span span{transfer.start, transfer.end};
      writeTransfer(transfer.tensor, deviceName(transfer.to), transfer.from, kSend, span);
      writeTransfer(transfer.tensor, deviceName(transfer.from), transfer.to, kReceive, span);
      writeFlow(transfer.tensor, transfer.from, transfer.start, transfer.to, transfer.end);
    }
  }

  void writePipeline() {
    const std::vector<CutPayment> payments = cutPayments(problem_, plan_.assignment);
    std::vector<Span> span_of(payments.size());
    std::vector<std::size_t> by_device_begin(problem_.deviceCount() + 1, 0);
    std::vector<std::size_t> by_device(payments.size());
    for (const CutPayment& payment : payments) ++by_device_begin[payment.device.index() + 1];
    for (std::size_t d = 0; d < problem_.deviceCount(); ++d) by_device_begin[d + 1] += by_device_begin[d];
    std::vector<std::size_t> fill(by_device_begin.begin(), by_device_begin.end() - 1);
    for (std::size_t p = 0; p < payments.size(); ++p) by_device[fill[payments[p].device.index()]++] = p;

    const bool overlap = problem_.modes.overlap == Overlap::kMax;
    double period_start = 0;
    for (PlanStage& stage : stagesOrDevices(problem_, plan_)) {
      const DeviceId device = stage.devices.front();
      const auto pay = [&](bool sends, double clock) {
        for (std::size_t k = by_device_begin[device.index()]; k < by_device_begin[device.index() + 1]; ++k) {
          const CutPayment& payment = payments[by_device[k]];
          if (payment.sends != sends) continue;
          span_of[by_device[k]] = {clock, clock + payment.seconds};
          clock += payment.seconds;
        }
        return clock;
      };
      const double received = pay(false, period_start);
      double clock = overlap ? period_start : received;
      std::sort(stage.ops.begin(), stage.ops.end(),
                [&](OpId a, OpId b) { return problem_.graph.position(a) < problem_.graph.position(b); });
      for (const OpId op : stage.ops) {
        const double seconds = problem_.opSeconds(op, device);
        for (const DeviceId replica : stage.devices)
          writeOp(op, replica, {clock, clock + seconds}, stage.devices.size());
        clock += problem_.busySeconds(op, device);
      }
      pay(true, overlap ? received : clock);
      period_start += std::isfinite(plan_.value) ? plan_.value : clock - period_start;
    }
    for (std::size_t p = 0; p < payments.size(); ++p) {
      const CutPayment& payment = payments[p];
      const std::string peer = payment.peer.valid() ? deviceName(payment.peer) : "host";
      writeTransfer(payment.tensor, peer, payment.device, payment.sends ? kSend : kReceive, span_of[p]);
      if (payment.sends) continue;
      // The payments of one tensor lie together: look back for who sends it here.
      for (std::size_t q = p; q-- > 0 && payments[q].tensor == payment.tensor;) {
        const bool match = payments[q].sends && (!payment.peer.valid() || payments[q].peer == payment.device);
        if (!match) continue;
        writeFlow(payment.tensor, payments[q].device, span_of[q].start, payment.device, span_of[p].end);
        break;
      }
    }
  }
};

}  // namespace

std::string writeChromeTrace(const Problem& problem, const Plan& plan) {
  return TraceWriter(problem, plan).write();
}

}  // namespace allot
