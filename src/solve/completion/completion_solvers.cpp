#include "solve/completion/completion_solvers.h"

#include <array>

#include "solve/completion/chains.h"
#include "solve/completion/completion_bound.h"
#include "solve/completion/completion_exact.h"
#include "solve/completion/completion_search.h"
#include "solve/completion/weighted_speedup.h"

namespace allot {

std::span<const Solver> chainSolvers() {
  static const std::array<Solver, 1> kList{{
      {"chains", "one or two models that are chains, by dynamic programming over both",
       "optimal; a bound where memory may bind", chainsAccepts, solveChains},
  }};
  return kList;
}

std::span<const Solver> completionSolvers() {
  static const std::array<Solver, 4> kList{{
      {"weighted-speedup",
       "ready ops on devices by min-cost flow: waiting + transfer + execution - hidden, shortest rest first",
       "heuristic", weightedSpeedupAccepts, solveWeightedSpeedup},
      {"completion-exact", "small sets of models, by layers of states that none dominates",
       "optimal; a bound where live memory may bind", completionExactAccepts, solveCompletionExact},
      {"completion-search", "plans of several models grown at prices of device time, then refined",
       "heuristic", completionSearchAccepts, solveCompletionSearch},
      {"completion-bound", "lower bound on completions from prices of device time",
       "a valid bound in every mode; finds no plans", completionBoundAccepts, solveCompletionBound},
  }};
  return kList;
}

}  // namespace allot
