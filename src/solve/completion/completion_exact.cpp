#include "solve/completion/completion_exact.h"

#include <fmt/format.h>

#include <algorithm>

#include "solve/completion/chain_model.h"
#include "solve/completion/state_search.h"

namespace allot {
namespace {

constexpr std::size_t kMostDevices = 16, kMostNets = 4096;
constexpr std::size_t kMostStates = 3'000'000;
// The search adds times in the order of the evaluator, but its bounds do not.
constexpr double kRounding = 1e-10;

}  // namespace

bool completionExactAccepts(const Problem& problem) {
  return problem.goal() == Goal::kCompletion && problem.opCount() <= StateSearch::kMostOps &&
         problem.deviceCount() <= kMostDevices && problem.graph.tensor_consumers.items.size() <= kMostNets;
}

SolveResult solveCompletionExact(const Problem& problem, const Budget& budget, Progress& progress) {
  StateSearch search(problem);
  const std::size_t most =
      budget.work_limit > 0 ? std::min<std::size_t>(budget.work_limit, kMostStates) : kMostStates;
  double best = progress.bestValue();
  for (const std::size_t width : {30, 1000, 0, 5000}) {
    const StateEnd end = search.run(best * (1 - kRounding), width, most, budget);
    if (end == StateEnd::kStopped) return {SolveEnd::kStopped, ""};
    if (search.value() < best) {
      best = search.value();
      progress.plan(planOf(search.model(), search.schedule()), "completion-exact");
    }
    if (width == 0 && end == StateEnd::kDone) break;
    if (width == 5000 || progress.done()) return {SolveEnd::kFinished, ""};
  }
  const std::string proof = fmt::format("search of {} states that none dominates", search.states());
  if (problem.modes.memory == MemoryModel::kStatic || memoryNeverBinds(problem))
    return {SolveEnd::kExhausted, proof};
  progress.bound(std::min(best, progress.bestValue()) * (1 - kRounding), "completion-exact");
  return {SolveEnd::kFinished, proof};
}

}  // namespace allot
