#include "solve/completion/completion_bound.h"

#include "solve/completion/price_search.h"

namespace allot {
namespace {

constexpr std::uint64_t kRounds = 4000;
// Of the counted work, a round takes as much as this many plans.
constexpr std::uint64_t kPlansPerRound = 1000;

}  // namespace

bool completionBoundAccepts(const Problem& problem) {
  return problem.goal() == Goal::kCompletion && problem.opCount() <= PriceSearch::kMostOps;
}

SolveResult solveCompletionBound(const Problem& problem, const Budget& budget, Progress& progress) {
  PriceSearch search(problem, budget, progress);
  const std::uint64_t rounds = budget.work_limit > 0 ? 10 + budget.work_limit / kPlansPerRound : kRounds;
  return {search.run(rounds) ? SolveEnd::kFinished : SolveEnd::kStopped, "prices of device time"};
}

}  // namespace allot
