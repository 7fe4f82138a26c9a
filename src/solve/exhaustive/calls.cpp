#include <algorithm>
#include <map>

#include "evaluate/calls.h"
#include "solve/exhaustive/exhaustive.h"

namespace allot {
namespace {

// Labels each accelerator op of a placement with a call and values what comes out.
class CallSearch {
 public:
  CallSearch(const Problem& problem, Progress& progress, Steps& steps)
      : problem_(problem), progress_(progress), steps_(steps) {}

  bool run() {
    return forEachPlacement(
        problem_, [](std::size_t, const std::vector<DeviceId>&) { return true; },
        [&](const std::vector<DeviceId>& choice) {
          assignment_ = assignmentOf(problem_, choice);
          call_.assign(problem_.opCount(), 0);
          return label(0);
        });
  }

 private:
  const Problem& problem_;
  Progress& progress_;
  Steps& steps_;
  std::vector<DeviceId> assignment_;
  std::vector<std::uint32_t> call_;

  bool label(std::size_t op) {
    while (op < problem_.opCount() && !problem_.cluster.isAccelerator(assignment_[op])) ++op;
    if (op == problem_.opCount()) return leaf();
    const auto most = std::min<std::size_t>(problem_.modes.calls, problem_.opCount());
    for (std::uint32_t c = 0; c < most; ++c) {
      call_[op] = c;
      if (!label(op + 1)) return false;
    }
    return true;
  }

  bool leaf() {
    if (!steps_.next()) return false;
    ++steps_.plans;
    std::map<std::pair<std::uint32_t, DeviceId>, PlanStage> calls;
    for (std::size_t i = 0; i < problem_.opCount(); ++i) {
      if (!problem_.cluster.isAccelerator(assignment_[i])) continue;
      PlanStage& call = calls[{call_[i], assignment_[i]}];
      call.devices = {assignment_[i]};
      call.ops.emplace_back(i);
    }
    Plan plan;
    plan.modes = problem_.modes;
    plan.assignment = assignment_;
    for (auto& [key, call] : calls) plan.stages.push_back(std::move(call));
    const CallTimes times = evaluateCalls(problem_, assignment_, plan.stages);
    if (times.cyclic || *std::max_element(times.end.begin(), times.end.end()) >= progress_.bestValue())
      return true;
    progress_.plan(std::move(plan), "exhaustive");
    return true;
  }
};

}  // namespace

bool exhaustCalls(const Problem& problem, Progress& progress, Steps& steps) {
  return CallSearch(problem, progress, steps).run();
}

}  // namespace allot
