#include "report/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "allot/evaluate.h"
#include "allot/solve.h"
#include "base/units.h"
#include "problem/calls_model.h"
#include "report/slack.h"
#include "report/what_if.h"

namespace allot {
namespace {

constexpr std::size_t kShown = 5;

class Explainer {
 public:
  Explainer(const Problem& problem, const Plan& plan, const ExplainRequest& request)
      : problem_(problem), plan_(plan), request_(request) {}

  Explanation run() {
    out_.value = plan_.value;
    findBottleneck();
    findFullness();
    findCopies();
    findExclusions();
    std::vector<OpId> ops = request_.ops;
    if (ops.empty()) {
      for (const OpCost& cost : out_.heaviest) ops.push_back(cost.op);
    }
    for (const OpId op : ops) out_.ops.push_back(explainOp(op));
    addWhatIfs();
    return std::move(out_);
  }

 private:
  const Problem& problem_;
  const Plan& plan_;
  const ExplainRequest& request_;
  Explanation out_;

  const std::string& deviceName(DeviceId device) const {
    return problem_.cluster.devices[device.index()].name;
  }

  void findBottleneck() {
    std::size_t best = 0;
    for (std::size_t d = 1; d < plan_.devices.size(); ++d) {
      if (plan_.devices[d].load_seconds > plan_.devices[best].load_seconds) best = d;
    }
    out_.bottleneck = DeviceId(best);
    if (!plan_.start.empty()) out_.path = criticalPath(problem_, plan_);
    if (!plan_.start.empty() && !isCallsModel(problem_)) out_.slack = opSlack(problem_, plan_);
    if (problem_.goal() == Goal::kThroughput) {
      for (std::size_t i = 0; i < problem_.opCount(); ++i) {
        if (plan_.assignment[i] == out_.bottleneck) addHeavy(OpId(i));
      }
      for (const CutPayment& payment : cutPayments(problem_, plan_.assignment)) {
        if (payment.device == out_.bottleneck) out_.cuts.push_back(payment);
      }
      std::stable_sort(out_.cuts.begin(), out_.cuts.end(),
                       [](const auto& a, const auto& b) { return a.seconds > b.seconds; });
    } else {
      for (const PathStep& step : out_.path) {
        if (step.kind == PathStep::Kind::kOp) addHeavy(step.op);
      }
    }
    std::stable_sort(out_.heaviest.begin(), out_.heaviest.end(),
                     [](const auto& a, const auto& b) { return a.seconds > b.seconds; });
    if (out_.heaviest.size() > kShown) out_.heaviest.resize(kShown);
  }

  void addHeavy(OpId op) {
    out_.heaviest.push_back({op, problem_.opSeconds(op, plan_.assignment[op.index()])});
  }

  double unitBytes(UnitId unit) const {
    double bytes = 0;
    for (const OpId op : problem_.unitOps(unit)) bytes += problem_.residentBytes(op);
    return bytes;
  }

  void findFullness() {
    for (std::size_t d = 0; d < plan_.devices.size(); ++d) {
      const DeviceId device(d);
      MemoryFullness fullness{device, plan_.devices[d].memory_bytes, problem_.memoryLimit(device), false};
      double smallest = std::numeric_limits<double>::infinity();
      for (std::size_t u = 0; std::isfinite(fullness.limit) && u < problem_.unitCount(); ++u) {
        const UnitId unit(u);
        const bool elsewhere = plan_.assignment[problem_.unitOps(unit).front().index()] != device;
        const double bytes = unitBytes(unit);
        if (elsewhere && bytes > 0 && problem_.allowed(unit, device)) smallest = std::min(smallest, bytes);
      }
      fullness.binds = std::isfinite(smallest) && fullness.used + smallest > fullness.limit;
      out_.memory.push_back(fullness);
    }
  }

  void findCopies() {
    const OpGraph& graph = problem_.graph;
    std::vector<std::vector<DeviceId>> replicas(
        problem_.deviceCount());  // by the device that stands for them
    for (std::size_t d = 0; d < replicas.size(); ++d) replicas[d] = {DeviceId(d)};
    if (problem_.goal() == Goal::kThroughput) {
      for (const PlanStage& stage : plan_.stages) replicas[stage.devices.front().index()] = stage.devices;
    }
    for (std::size_t b = 0; b < graph.block_bytes.size(); ++b) {
      WeightCopies copies{graph.block_name[b], graph.block_bytes[b], {}};
      for (const OpId reader : graph.block_readers[b]) {
        const auto& held = replicas[plan_.assignment[reader.index()].index()];
        copies.devices.insert(copies.devices.end(), held.begin(), held.end());
      }
      std::sort(copies.devices.begin(), copies.devices.end());
      copies.devices.erase(std::unique(copies.devices.begin(), copies.devices.end()), copies.devices.end());
      if (copies.bytes > 0 && copies.devices.size() > 1) out_.copies.push_back(std::move(copies));
    }
    std::stable_sort(out_.copies.begin(), out_.copies.end(),
                     [](const WeightCopies& a, const WeightCopies& b) { return a.bytes > b.bytes; });
  }

  double unitSeconds(UnitId unit, DeviceId device) const {
    double seconds = 0;
    for (const OpId op : problem_.unitOps(unit)) seconds += problem_.busySeconds(op, device);
    return seconds;
  }

  void findExclusions() {
    std::vector<std::uint8_t> seen(problem_.unitCount(), 0);
    const auto report = [&](OpId op, std::string_view rule) {
      const UnitId unit = problem_.unit(op);
      if (seen[unit.index()]++) return;
      const DeviceId here = plan_.assignment[op.index()];
      const double now = unitSeconds(unit, here);
      DeviceId fastest = here;
      for (std::size_t d = 0; d < problem_.deviceCount(); ++d) {
        if (problem_.allowed(unit, DeviceId(d))) continue;
        if (unitSeconds(unit, DeviceId(d)) < unitSeconds(unit, fastest)) fastest = DeviceId(d);
      }
      if (fastest == here) return;
      out_.excluded.push_back(fmt::format(
          "{} keeps \"{}\" on {} ({}), off {} ({})", rule, problem_.graph.op_name[op.index()],
          deviceName(here), secondsText(now), deviceName(fastest), secondsText(unitSeconds(unit, fastest))));
    };
    for (const auto& [op, device] : problem_.constraints.pin) report(op, "a pin");
    for (const auto& [op, device] : problem_.constraints.forbid) report(op, "a forbid");
  }

  // The decisions with a unit on another device. What no longer follows from them is left to the evaluator.
  Plan moved(UnitId unit, DeviceId to, bool keep_order) const {
    Plan decisions;
    decisions.modes = plan_.modes;
    decisions.assignment = plan_.assignment;
    for (const OpId op : problem_.unitOps(unit)) decisions.assignment[op.index()] = to;
    if (keep_order) {
      decisions.start = plan_.start;
      decisions.end = plan_.end;
    }
    const bool replicated = std::any_of(plan_.stages.begin(), plan_.stages.end(),
                                        [](const PlanStage& s) { return s.devices.size() > 1; });
    if (!replicated) return decisions;
    decisions.stages = plan_.stages;
    PlanStage* target = nullptr;
    for (PlanStage& stage : decisions.stages) {
      std::erase_if(stage.ops, [&](OpId op) { return problem_.unit(op) == unit; });
      if (std::find(stage.devices.begin(), stage.devices.end(), to) != stage.devices.end()) target = &stage;
    }
    if (target == nullptr) target = &decisions.stages.emplace_back(PlanStage{{to}, {}});
    for (const OpId op : problem_.unitOps(unit)) {
      target->ops.push_back(op);
      decisions.assignment[op.index()] = target->devices.front();
    }
    std::erase_if(decisions.stages, [](const PlanStage& stage) { return stage.ops.empty(); });
    return decisions;
  }

  OpExplanation explainOp(OpId op) const {
    const UnitId unit = problem_.unit(op);
    OpExplanation explanation{op, problem_.unitOps(unit).size(), 0, {}};
    if (!out_.slack.empty()) explanation.slack = out_.slack[op.index()];
    const DeviceId here = plan_.assignment[op.index()];
    for (std::size_t d = 0; d < problem_.deviceCount(); ++d) {
      Elsewhere there;
      there.device = DeviceId(d);
      there.unit_seconds = unitSeconds(unit, there.device);
      there.here = there.device == here;
      there.value = plan_.value;
      if (!there.here) valueMove(unit, there);
      explanation.devices.push_back(std::move(there));
    }
    return explanation;
  }

  void valueMove(UnitId unit, Elsewhere& there) const {
    if (!std::isfinite(there.unit_seconds)) {
      there.value = std::numeric_limits<double>::infinity();
      there.obstacle = "it cannot run there";
      return;
    }
    Evaluation best = evaluate(problem_, moved(unit, there.device, false));
    if (!plan_.start.empty()) {
      Evaluation kept = evaluate(problem_, moved(unit, there.device, true));
      const bool better = kept.valid() != best.valid() ? kept.valid() : kept.plan.value < best.plan.value;
      if (better) best = std::move(kept);
    }
    there.value = best.plan.value;
    if (!best.valid()) there.obstacle = best.violations.front();
  }

  void addWhatIfs() {
    for (std::size_t c = 0; c < problem_.cluster.classCount(); ++c) {
      addWhatIf(fmt::format("one more {}", problem_.cluster.classes[c].name),
                withExtraDevice(problem_, ClassId(c)), false);
      addWhatIf(fmt::format("{} twice as fast", problem_.cluster.classes[c].name),
                withFasterClass(problem_, ClassId(c), 2), true);
    }
    if (problem_.deviceCount() > 1) addWhatIf("links twice as fast", withFasterLinks(problem_, 2), true);
  }

  void addWhatIf(std::string change, Result<Problem> changed, bool revalue) {
    if (!changed) return;  // for example no device of a class to copy
    WhatIf what{std::move(change), plan_.value, false, 0, 0};
    Plan start = plan_;
    if (revalue) {
      Evaluation evaluation = evaluate(*changed, plan_);
      what.same_plan = evaluation.plan.value;
      if (!evaluation.valid()) start.assignment.clear();
    }
    if (request_.what_if_seconds > 0 && !(request_.stop_flag && *request_.stop_flag)) {
      RunOptions run;
      run.time_limit_seconds = request_.what_if_seconds;
      run.threads = request_.threads;
      run.seed = request_.seed;
      const SolveOutcome outcome =
          solve(*changed, run, start.assignment.empty() ? nullptr : &start, request_.stop_flag);
      what.replanned = outcome.plan.hasPlan();
      what.value = outcome.plan.value;
      what.bound = outcome.plan.bound;
    }
    out_.what_ifs.push_back(std::move(what));
  }
};

}  // namespace

Explanation explain(const Problem& problem, const Plan& plan, const ExplainRequest& request) {
  return Explainer(problem, plan, request).run();
}

}  // namespace allot
