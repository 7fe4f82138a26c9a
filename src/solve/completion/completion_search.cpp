#include "solve/completion/completion_search.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "solve/completion/chain_beam.h"
#include "solve/completion/chain_model.h"
#include "solve/completion/price_search.h"

namespace allot {
namespace {

constexpr double kRounding = 1e-10;

SolveEnd searchChains(const Problem& problem, const ChainModel& model, const Budget& budget, Progress& progress) {
  PriceSearch prices(problem, budget, progress);
  std::size_t width = 16;
  // Under a work limit, states kept count as plans.
  std::uint64_t left = budget.work_limit > 0 ? budget.work_limit : ~std::uint64_t{0};
  for (int round = 0; !progress.done() && left > 0; ++round) {
    if (!prices.run(round == 0 ? 5 : 40) || !prices.priceAtBest()) return SolveEnd::kStopped;
    ChainBeam beam(model, prices);
    if (beam.run(width, progress.bestValue() * (1 - kRounding), budget))
      progress.plan(planOfChains(problem, model, beam.activities()), "completion-search");
    if (getenv("PB_LOG"))
      fprintf(stderr, "width %zu beam %.6f best %.6f bound %.6f slots %zu t %.2f\n", width, beam.value(), progress.bestValue(), prices.bound(), prices.prices().slots(), budget.elapsedSeconds());
    if (budget.stopped()) return SolveEnd::kStopped;
    left -= std::min<std::uint64_t>(left, width * problem.opCount());
    width *= 2;
  }
  return SolveEnd::kFinished;
}

}  // namespace

bool completionSearchAccepts(const Problem& problem) {
  return problem.goal() == Goal::kCompletion;
}

SolveResult solveCompletionSearch(const Problem& problem, const Budget& budget, Progress& progress) {
  if (const std::optional<ChainModel> model = chainModelOf(problem))
    return {searchChains(problem, *model, budget, progress), ""};
  return {SolveEnd::kFinished, ""};
}

}  // namespace allot
