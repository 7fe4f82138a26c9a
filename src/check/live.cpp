// Latency and completion: peak memory with live tensors, model inputs and workspace.
//
// Each of these is a half-open interval on one device: what ends at a time is freed before what begins then
// is taken, and what has no length takes nothing. A tensor that nobody reads has no end, so it counts even
// where it is put out at the very end.
#include "check/parts.h"

namespace allot {
namespace {

struct Change {
  double time;
  std::int64_t bytes;  // negative = freed
  OpId op;             // what the bytes were taken for
  bool workspace;
};

class LiveMemory {
 public:
  explicit LiveMemory(std::size_t devices) : changes_(devices) {}

  void hold(DeviceId device, std::int64_t bytes, double from, double to, OpId op, bool workspace = false) {
    if (bytes == 0 || !(from < to)) return;
    changes_[device.index()].push_back({from, bytes, op, workspace});
    changes_[device.index()].push_back({to, -bytes, op, workspace});
  }
  void holdForGood(DeviceId device, std::int64_t bytes, double from, OpId op) {
    if (bytes != 0) changes_[device.index()].push_back({from, bytes, op, false});
  }

  void findPeak(DeviceId device, Held& peak) {
    auto& list = changes_[device.index()];
    std::sort(list.begin(), list.end(), [](const Change& a, const Change& b) {
      return a.time != b.time ? a.time < b.time : a.bytes < b.bytes;
    });
    std::int64_t tensors = 0, workspace = 0;
    for (const Change& change : list) {
      (change.workspace ? workspace : tensors) += change.bytes;
      if (tensors + workspace <= peak.tensors + peak.workspace) continue;
      peak.tensors = tensors;
      peak.workspace = workspace;
      peak.at = change.op;
    }
  }

 private:
  std::vector<std::vector<Change>> changes_;
};

// One tensor on one device that it comes to, over all its readers there.
struct Visit {
  double from = std::numeric_limits<double>::infinity();
  double to = 0;
  OpId first;

  // True when this is the first reader seen.
  bool add(double begin, double end, OpId reader) {
    const bool fresh = !first.valid();
    if (fresh || begin < from) first = reader;
    from = std::min(from, begin);
    to = std::max(to, end);
    return fresh;
  }
};

class LiveTensors {
 public:
  LiveTensors(const CheckContext& context, LiveMemory& memory)
      : context_(context),
        plan_(context.plan),
        graph_(context.problem.graph),
        memory_(memory),
        visit_(context.problem.deviceCount()) {}

  void addMade(const Deliveries& deliveries) {
    for (std::size_t t = 0; t < graph_.tensorCount(); ++t) {
      const std::int64_t bytes = graph_.tensor_bytes[t];
      if (bytes == 0) continue;
      const OpId producer = graph_.tensor_producer[t];
      const DeviceId home = context_.deviceOf(producer);
      const double made = plan_.start[producer.index()], ready = plan_.end[producer.index()];
      if (graph_.consumers(TensorId(t)).empty()) {
        memory_.holdForGood(home, bytes, made, producer);
        continue;
      }
      double kept = ready;
      const std::uint32_t first = graph_.tensor_consumers.begin[t];
      for (std::uint32_t slot = first; slot < graph_.tensor_consumers.begin[t + 1]; ++slot) {
        const OpId consumer = graph_.tensor_consumers.items[slot];
        const DeviceId device = context_.deviceOf(consumer);
        const double end = plan_.end[consumer.index()];
        if (device == home) {
          kept = std::max(kept, end);
          continue;
        }
        const std::uint32_t k = deliveries.cover[slot];
        const bool listed = k != Deliveries::kNone;
        // A transfer that may stay unlisted runs as soon as its tensor is ready.
        const double sent = listed ? plan_.transfers[k].start : ready;
        const double gone = listed ? plan_.transfers[k].end
                                   : ready + context_.clock.transferSeconds(TensorId(t), home, device);
        visit(device, sent, end, consumer);
        kept = std::max(kept, gone);
      }
      memory_.hold(home, bytes, made, kept, producer);
      endVisits(bytes);
    }
  }

  void addGiven() {
    for (std::size_t k = 0; k < graph_.input_bytes.size(); ++k) {
      for (const OpId reader : graph_.input_readers[k])
        visit(context_.deviceOf(reader), plan_.start[reader.index()], plan_.end[reader.index()], reader);
      endVisits(graph_.input_bytes[k]);
    }
  }

 private:
  const CheckContext& context_;
  const Plan& plan_;
  const OpGraph& graph_;
  LiveMemory& memory_;
  // Of the tensor at hand, by device, and the devices that it comes to.
  std::vector<Visit> visit_;
  std::vector<DeviceId> visited_;

  void visit(DeviceId device, double from, double to, OpId reader) {
    if (visit_[device.index()].add(from, to, reader)) visited_.push_back(device);
  }

  void endVisits(std::int64_t bytes) {
    for (const DeviceId device : visited_) {
      Visit& here = visit_[device.index()];
      memory_.hold(device, bytes, here.from, here.to, here.first);
      here = {};
    }
    visited_.clear();
  }
};

}  // namespace

void addLiveMemory(const CheckContext& context, const Deliveries& deliveries, std::vector<Held>& held) {
  const Plan& plan = context.plan;
  const OpGraph& graph = context.problem.graph;
  LiveMemory memory(context.problem.deviceCount());
  for (std::size_t i = 0; i < graph.opCount(); ++i) {
    memory.hold(plan.assignment[i], graph.op_workspace_bytes[i], plan.start[i], plan.end[i], OpId(i), true);
  }
  LiveTensors tensors(context, memory);
  tensors.addMade(deliveries);
  tensors.addGiven();
  for (std::size_t d = 0; d < held.size(); ++d) memory.findPeak(DeviceId(d), held[d]);
}

}  // namespace allot
