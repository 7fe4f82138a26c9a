#include "allot/evaluate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/units.h"
#include "evaluate/calls.h"
#include "evaluate/event_simulation.h"
#include "evaluate/live_memory.h"
#include "evaluate/pipeline.h"
#include "evaluate/sweep.h"
#include "problem/calls_model.h"

namespace allot {
namespace {

constexpr std::size_t kMaxViolations = 20;

class Evaluator {
 public:
  Evaluator(const Problem& problem, Plan decisions) : problem_(problem) {
    result_.plan = std::move(decisions);
    result_.plan.modes = problem.modes;
    result_.plan.costs = problem.costs;
    result_.plan.completion.clear();
  }

  Evaluation run() {
    checkPlaces();
    const bool calls = isCallsModel(problem_);
    if (problem_.goal() == Goal::kThroughput)
      evaluatePipeline(problem_, result_.plan, result_.violations);
    else if (calls)
      evaluateAsCalls();
    else
      evaluateEvents();
    checkMemory();
    return std::move(result_);
  }

 private:
  const Problem& problem_;
  Evaluation result_;

  Plan& plan() { return result_.plan; }
  const std::string& opName(OpId op) const { return problem_.graph.op_name[op.index()]; }
  const std::string& deviceName(DeviceId d) const { return problem_.cluster.devices[d.index()].name; }
  void violate(std::string text) {
    if (result_.violations.size() < kMaxViolations) result_.violations.push_back(std::move(text));
  }

  void checkPlaces() {
    for (std::size_t u = 0; u < problem_.unitCount(); ++u) {
      const auto ops = problem_.unitOps(UnitId(u));
      const DeviceId on = plan().assignment[ops.front().index()];
      if (!problem_.allowed(UnitId(u), on)) {
        violate(fmt::format("op \"{}\" may not run on {}", opName(ops.front()), deviceName(on)));
      }
      for (const OpId op : ops.subspan(1)) {
        if (plan().assignment[op.index()] == on) continue;
        violate(fmt::format("ops \"{}\" and \"{}\" must share a device", opName(ops.front()), opName(op)));
        break;
      }
    }
  }

  void staticUse() {
    plan().devices.assign(problem_.deviceCount(), {});
    for (std::size_t i = 0; i < problem_.opCount(); ++i) {
      DeviceUse& use = plan().devices[plan().assignment[i].index()];
      use.compute_seconds += problem_.opSeconds(OpId(i), plan().assignment[i]);
    }
    const std::vector<double> resident = residentBytesByDevice(problem_, plan().assignment);
    for (std::size_t d = 0; d < resident.size(); ++d) plan().devices[d].memory_bytes = resident[d];
  }

  void evaluateEvents() {
    Plan& p = plan();
    p.stages.clear();
    const bool has_starts =
        p.start.size() == problem_.opCount() &&
        std::none_of(p.start.begin(), p.start.end(), [](double s) { return std::isnan(s); });
    const bool live = problem_.liveMemory();
    if (!has_starts) {
      p.transfers.clear();
      simulateByRank(problem_, p, {});
    } else if (p.transfers.empty() && !live) {
      const std::vector<double> wanted = p.start;
      simulateByRank(problem_, p, wanted);
    } else {
      if (p.end.size() != p.start.size()) p.end = p.start;
      Plan given = p;
      retime(problem_, p, false);
      if (live && !fitsLive()) {
        p = std::move(given);
        retime(problem_, p, true);
      }
    }
    std::vector<double> completion;
    p.value = scheduleValue(problem_, p.end, completion);
    if (problem_.goal() == Goal::kCompletion) p.completion = std::move(completion);
    staticUse();
    if (live) {
      const std::vector<double> peak = livePeaks(problem_, p);
      for (std::size_t d = 0; d < peak.size(); ++d) p.devices[d].memory_bytes = peak[d];
    }
    for (const PlanTransfer& transfer : p.transfers) {
      p.devices[transfer.from.index()].communication_seconds += transfer.end - transfer.start;
      p.devices[transfer.to.index()].communication_seconds += transfer.end - transfer.start;
    }
    for (DeviceUse& use : p.devices) use.load_seconds = use.compute_seconds;
  }

  bool fitsLive() {
    const std::vector<double> peak = livePeaks(problem_, plan());
    for (std::size_t d = 0; d < peak.size(); ++d) {
      if (peak[d] > problem_.memoryLimit(DeviceId(d))) return false;
    }
    return true;
  }

  void evaluateAsCalls() {
    Plan& p = plan();
    p.transfers.clear();
    if (!callsCoverAccelerators()) p.stages = callsByLevel(problem_, p.assignment);
    CallTimes times = evaluateCalls(problem_, p.assignment, p.stages);
    if (times.cyclic) {
      violate("calls wait for each other");
      p.value = std::numeric_limits<double>::infinity();
    } else {
      p.value = *std::max_element(times.end.begin(), times.end.end());
    }
    std::vector<std::uint32_t> count(problem_.deviceCount(), 0);
    for (const PlanStage& call : p.stages) {
      if (++count[call.devices.front().index()] == problem_.modes.calls + 1) {
        violate(
            fmt::format("{} has more than {} calls", deviceName(call.devices.front()), problem_.modes.calls));
      }
    }
    p.start = std::move(times.start);
    p.end = std::move(times.end);
    staticUse();
    for (std::size_t d = 0; d < problem_.deviceCount(); ++d) {
      p.devices[d].communication_seconds = times.transfer_seconds[d];
      p.devices[d].load_seconds = p.devices[d].compute_seconds + times.transfer_seconds[d];
    }
  }

  // Whether the given stages hold each accelerator op exactly once, on its own device.
  bool callsCoverAccelerators() {
    std::vector<std::uint8_t> seen(problem_.opCount(), 0);
    for (const PlanStage& call : plan().stages) {
      if (call.devices.size() != 1 || call.ops.empty()) return false;
      for (const OpId op : call.ops) {
        if (seen[op.index()]++ || plan().assignment[op.index()] != call.devices.front()) return false;
      }
      if (!problem_.cluster.isAccelerator(call.devices.front())) return false;
    }
    for (std::size_t i = 0; i < problem_.opCount(); ++i) {
      if (problem_.cluster.isAccelerator(plan().assignment[i]) != (seen[i] != 0)) return false;
    }
    return true;
  }

  void checkMemory() {
    for (std::size_t d = 0; d < problem_.deviceCount(); ++d) {
      const double limit = problem_.memoryLimit(DeviceId(d));
      const double used = plan().devices[d].memory_bytes;
      if (used <= limit) continue;
      violate(fmt::format("{} needs {} ({:.0f} bytes) but may hold {}: {} more than its limit",
                          deviceName(DeviceId(d)), bytesText(used), used, bytesText(limit),
                          bytesText(used - limit)));
    }
  }
};

}  // namespace

Evaluation evaluate(const Problem& problem, Plan decisions) {
  return Evaluator(problem, std::move(decisions)).run();
}

}  // namespace allot
