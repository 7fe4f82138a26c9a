#include "report/report_data.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "allot/version.h"
#include "base/json_writer.h"
#include "report/report_columns.h"
#include "report/report_stages.h"

namespace allot {
namespace {

// Times of every op on every class help to see why an op is where it is; beyond this they are left out.
constexpr std::size_t kMostClassTimes = std::size_t{1} << 21;

class DataWriter {
 public:
  DataWriter(const Problem& problem, const Plan& plan, const Explanation& why, const ReportOptions& options)
      : problem_(problem),
        plan_(plan),
        why_(why),
        options_(options),
        scheduled_(plan.start.size() == problem.opCount() && plan.end.size() == problem.opCount()),
        clock_(lastMoment()) {}

  std::string write(const std::string& what_if_note) {
    out_.beginObject().field("version", ALLOT_VERSION).field("name", problem_.name);
    out_.field("cluster", problem_.cluster.name).field("goal", name(problem_.goal()));
    out_.field("tick", clock_.secondsPerTick());
    writePlan();
    writeCluster();
    writeModels();
    writeOps();
    writeTensors();
    if (scheduled_) {
      writeTransfers();
      writePath();
    }
    if (problem_.goal() == Goal::kThroughput) writeStages();
    writeWhy();
    writeWhatIfs(what_if_note);
    writeBaselines();
    out_.endObject();
    return out_.take();
  }

 private:
  using Numbers = std::vector<std::uint32_t>;

  const Problem& problem_;
  const Plan& plan_;
  const Explanation& why_;
  const ReportOptions& options_;
  bool scheduled_;
  TickClock clock_;
  JsonWriter out_{0};

  double lastMoment() const {
    double last = 0;
    for (const double end : plan_.end) last = std::max(last, end);
    for (const PlanTransfer& transfer : plan_.transfers) last = std::max(last, transfer.end);
    return last;
  }

  template <class Function>
  Numbers numbers(std::size_t count, const Function& of) const {
    Numbers all(count);
    for (std::size_t i = 0; i < count; ++i) all[i] = static_cast<std::uint32_t>(of(i));
    return all;
  }
  template <class Function>
  std::vector<double> figures(std::size_t count, const Function& of) const {
    std::vector<double> all(count);
    for (std::size_t i = 0; i < count; ++i) all[i] = static_cast<double>(of(i));
    return all;
  }
  // Left out where every entry is zero.
  template <class Column>
  void column(std::string_view key, const Column& all) {
    const bool any = std::any_of(all.begin(), all.end(), [](auto number) { return number != 0; });
    if (any) writeColumn(out_, key, all);
  }

  void writePlan() {
    out_.key("plan").beginObject().field("status", name(plan_.status));
    out_.field("value", plan_.value).field("bound", plan_.bound).field("gap", plan_.gap());
    out_.field("solver", plan_.solver).field("proof", plan_.proof).field("seed", plan_.seed);
    out_.field("seconds", plan_.seconds).field("time_limited", plan_.time_limited);
    out_.field("costs", problem_.costs);
    if (plan_.noise) {
      out_.key("noise").beginObject().field("share", plan_.noise->share).field("mean", plan_.noise->mean);
      out_.field("p95", plan_.noise->p95).endObject();
    }
    out_.key("modes").beginArray();
    const Options all{plan_.modes, {}};
    for (const OptionSpec& spec : optionTable()) {
      if (spec.name == "goal" || spec.scope == OptionScope::kRun) continue;
      const std::string text = isModeOf(spec.scope, problem_.goal()) ? spec.get(all) : std::string();
      if (!text.empty()) out_.beginArray().value(spec.name).value(text).value(spec.help).endArray();
    }
    out_.endArray().key("curve").beginArray();
    for (const CurvePoint& point : plan_.curve)
      out_.beginArray().value(point.seconds).value(point.value).value(point.bound).endArray();
    out_.endArray().endObject();
  }

  void writeCluster() {
    out_.key("classes").beginArray();
    for (const DeviceClass& cls : problem_.cluster.classes) {
      out_.beginObject().field("name", cls.name);
      out_.field("kind", cls.kind == DeviceKind::kCpu ? "cpu" : "accelerator");
      out_.field("launch", cls.launch_seconds);
      if (cls.spec) out_.field("catalogue", cls.spec->catalogue);
      out_.endObject();
    }
    out_.endArray().key("devices").beginArray();
    for (std::size_t d = 0; d < problem_.deviceCount(); ++d) {
      const Device& device = problem_.cluster.devices[d];
      const DeviceUse use = d < plan_.devices.size() ? plan_.devices[d] : DeviceUse();
      out_.beginObject()
          .field("name", device.name)
          .field("class", static_cast<std::uint64_t>(device.cls.index()));
      if (device.host.valid()) out_.field("host", problem_.cluster.host_name[device.host.index()]);
      out_.field("limit", problem_.memoryLimit(DeviceId(d))).field("memory", use.memory_bytes);
      out_.field("compute", use.compute_seconds).field("communication", use.communication_seconds);
      out_.field("load", use.load_seconds);
      if (d < why_.memory.size()) out_.field("binds", why_.memory[d].binds);
      out_.endObject();
    }
    out_.endArray();
  }

  void writeModels() {
    out_.key("models").beginArray();
    for (std::size_t m = 0; m < problem_.graph.modelCount(); ++m) {
      out_.beginObject().field("name", problem_.graph.model_name[m]);
      if (m < plan_.completion.size()) out_.field("completion", plan_.completion[m]);
      if (m < problem_.model_weight.size()) out_.field("weight", problem_.model_weight[m]);
      if (m < problem_.model_release.size()) out_.field("release", problem_.model_release[m]);
      out_.endObject();
    }
    out_.endArray();
  }

  void writeOps() {
    const OpGraph& graph = problem_.graph;
    const std::size_t count = problem_.opCount();
    out_.key("types").beginArray();
    for (const std::string& type : graph.type_name) out_.value(type);
    out_.endArray().key("ops").beginObject().field("count", static_cast<std::uint64_t>(count));
    writeNames(out_, "names", graph.op_name);
    column("type", numbers(count, [&](std::size_t i) { return graph.op_type[i]; }));
    writeColumn(out_, "device", numbers(count, [&](std::size_t i) { return plan_.assignment[i].value; }));
    column("model", numbers(count, [&](std::size_t i) { return graph.op_model[i].value; }));
    column("phase", numbers(count, [&](std::size_t i) { return graph.op_phase[i]; }));
    writeColumn(out_, "seconds", figures(count, [&](std::size_t i) {
                  return plan_.assignment[i].valid() ? problem_.opSeconds(OpId(i), plan_.assignment[i]) : 0;
                }));
    column("memory", figures(count, [&](std::size_t i) { return problem_.residentBytes(OpId(i)); }));
    column("flops", figures(count, [&](std::size_t i) { return graph.op_flops[i]; }));
    column("unknown", numbers(count, [&](std::size_t i) { return graph.op_cost_unknown[i]; }));
    const Numbers position = numbers(count, [&](std::size_t i) { return graph.position(OpId(i)); });
    if (!std::is_sorted(position.begin(), position.end())) writeColumn(out_, "position", position);
    Numbers pinned(count, 0);
    for (const auto& [op, device] : problem_.constraints.pin) pinned[op.index()] = 1;
    column("pinned", pinned);
    if (scheduled_) {
      writeColumn(out_, "start", numbers(count, [&](std::size_t i) { return clock_.ticks(plan_.start[i]); }));
      writeColumn(out_, "end", numbers(count, [&](std::size_t i) { return clock_.ticks(plan_.end[i]); }));
    }
    // Rounding leaves crumbs where there is none.
    if (why_.slack.size() == count) {
      writeColumn(out_, "slack", figures(count, [&](std::size_t i) {
                    return why_.slack[i] > 1e-9 * plan_.value ? why_.slack[i] : 0.0;
                  }));
    }
    const std::size_t classes = problem_.cluster.classCount();
    if (classes > 1 && count * classes <= kMostClassTimes) writeColumn(out_, "times", problem_.op_seconds);
    out_.endObject();
  }

  // The dearest way this tensor takes between devices; 0 where it stays.
  double cutSeconds(TensorId tensor) const {
    const DeviceId from = plan_.assignment[problem_.graph.producer(tensor).index()];
    double dearest = 0;
    for (const OpId consumer : problem_.graph.consumers(tensor)) {
      const DeviceId to = plan_.assignment[consumer.index()];
      if (!from.valid() || !to.valid() || to == from) continue;
      const bool via_host =
          problem_.goal() == Goal::kThroughput && problem_.transfers() == Transfers::kViaHost;
      if (!via_host) {
        dearest = std::max(dearest, problem_.transferSeconds(tensor, from, to));
        continue;
      }
      if (problem_.cluster.isAccelerator(from))
        dearest = std::max(dearest, problem_.toHostSeconds(tensor, from));
      if (problem_.cluster.isAccelerator(to))
        dearest = std::max(dearest, problem_.fromHostSeconds(tensor, to));
    }
    return dearest;
  }

  // Order constraints are no tensors that anyone sends.
  void writeTensors() {
    const OpGraph& graph = problem_.graph;
    const std::size_t count = problem_.firstOrderTensor();
    Numbers consumers;
    for (std::size_t t = 0; t < count; ++t) {
      for (const OpId consumer : graph.consumers(TensorId(t))) consumers.push_back(consumer.value);
    }
    out_.key("tensors").beginObject().field("count", static_cast<std::uint64_t>(count));
    writeColumn(out_, "from", numbers(count, [&](std::size_t t) { return graph.tensor_producer[t].value; }));
    writeColumn(out_, "fan",
                numbers(count, [&](std::size_t t) { return graph.consumers(TensorId(t)).size(); }));
    writeColumn(out_, "to", consumers);
    column("bytes", figures(count, [&](std::size_t t) { return graph.tensor_bytes[t]; }));
    column("cut", figures(count, [&](std::size_t t) { return cutSeconds(TensorId(t)); }));
    out_.endObject();
  }

  void writeTransfers() {
    const auto& all = plan_.transfers;
    out_.key("transfers").beginObject().field("count", static_cast<std::uint64_t>(all.size()));
    writeColumn(out_, "tensor", numbers(all.size(), [&](std::size_t i) { return all[i].tensor.value; }));
    writeColumn(out_, "from", numbers(all.size(), [&](std::size_t i) { return all[i].from.value; }));
    writeColumn(out_, "to", numbers(all.size(), [&](std::size_t i) { return all[i].to.value; }));
    writeColumn(out_, "start",
                numbers(all.size(), [&](std::size_t i) { return clock_.ticks(all[i].start); }));
    writeColumn(out_, "end", numbers(all.size(), [&](std::size_t i) { return clock_.ticks(all[i].end); }));
    out_.endObject();
  }

  void writePath() {
    const auto& all = why_.path;
    if (all.empty()) return;
    const auto idOr = [](auto id) { return id.valid() ? id.value + 1 : 0; };
    out_.key("path").beginObject().field("count", static_cast<std::uint64_t>(all.size()));
    writeColumn(out_, "kind", numbers(all.size(), [&](std::size_t i) { return all[i].kind; }));
    writeColumn(out_, "op", numbers(all.size(), [&](std::size_t i) { return idOr(all[i].op); }));
    writeColumn(out_, "device", numbers(all.size(), [&](std::size_t i) { return idOr(all[i].device); }));
    writeColumn(out_, "to", numbers(all.size(), [&](std::size_t i) { return idOr(all[i].to); }));
    writeColumn(out_, "start",
                numbers(all.size(), [&](std::size_t i) { return clock_.ticks(all[i].start); }));
    writeColumn(out_, "end", numbers(all.size(), [&](std::size_t i) { return clock_.ticks(all[i].end); }));
    out_.endObject();
  }

  void writeStages() {
    out_.key("stages").beginArray();
    for (const StageWork& stage : stageWork(problem_, plan_)) {
      out_.beginObject().key("devices").beginArray();
      for (const DeviceId device : stage.devices) out_.value(static_cast<std::uint64_t>(device.index()));
      out_.endArray().field("ops", static_cast<std::uint64_t>(stage.ops)).field("load", stage.load_seconds);
      out_.field("sync", stage.sync_seconds).key("parts").beginArray();
      for (const StagePart& part : stage.parts) {
        out_.beginArray().value(part.receive_seconds).value(part.compute_seconds).value(part.send_seconds);
        out_.endArray();
      }
      out_.endArray().endObject();
    }
    out_.endArray();
  }

  void writeWhy() {
    out_.key("why").beginObject();
    if (why_.bottleneck.valid())
      out_.field("bottleneck", static_cast<std::uint64_t>(why_.bottleneck.index()));
    out_.key("excluded").beginArray();
    for (const std::string& line : why_.excluded) out_.value(line);
    out_.endArray().key("ops").beginArray();
    for (const OpExplanation& item : why_.ops) {
      out_.beginObject().field("op", static_cast<std::uint64_t>(item.op.index()));
      out_.field("together", static_cast<std::uint64_t>(item.unit_size)).key("devices").beginArray();
      for (const Elsewhere& there : item.devices) {
        out_.beginObject().field("device", static_cast<std::uint64_t>(there.device.index()));
        out_.field("here", there.here).field("seconds", there.unit_seconds).field("value", there.value);
        out_.field("obstacle", there.obstacle).endObject();
      }
      out_.endArray().endObject();
    }
    out_.endArray().key("cuts").beginArray();
    constexpr std::size_t kMostCuts = 8;
    for (std::size_t i = 0; i < std::min(kMostCuts, why_.cuts.size()); ++i) {
      const CutPayment& cut = why_.cuts[i];
      out_.beginObject().field("op", static_cast<std::uint64_t>(problem_.graph.producer(cut.tensor).index()));
      out_.field("sends", cut.sends).field("seconds", cut.seconds);
      if (cut.peer.valid()) out_.field("peer", static_cast<std::uint64_t>(cut.peer.index()));
      out_.endObject();
    }
    out_.endArray().endObject();
  }

  void writeWhatIfs(const std::string& note) {
    out_.key("what_if").beginObject().field("note", note).key("rows").beginArray();
    for (const WhatIf& what : why_.what_ifs) {
      out_.beginObject().field("change", what.change).field("same_plan", what.same_plan);
      if (what.replanned) out_.field("value", what.value).field("bound", what.bound);
      out_.endObject();
    }
    out_.endArray().endObject();
  }

  void writeBaselines() {
    out_.key("baselines").beginArray();
    for (const ReportBaseline& row : options_.baselines) {
      const bool good = row.status == Status::kOptimal || row.status == Status::kFeasible;
      out_.beginObject().field("name", row.name).field("status", name(row.status));
      if (good) out_.field("value", row.value);
      out_.endObject();
    }
    out_.endArray();
  }
};

}  // namespace

std::string writeReportData(const Problem& problem, const Plan& plan, const Explanation& why,
                            const std::string& what_if_note, const ReportOptions& options) {
  return DataWriter(problem, plan, why, options).write(what_if_note);
}

}  // namespace allot
