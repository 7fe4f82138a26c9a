// Proven best pipelines of contiguous stages, and chains as starts for other contiguity.
//
// Problem: throughput, every mode.
// Method: ChainProof. The first try uses the best plan known as cut-off: if no chain is below it, that plan
// is optimal and one pass has proved it. Where that would take long, bounds from the least loads of single
// stages come first (stage_bound.h), or from positions where the graph is too wide for those
// (position_bound.h); then cut-offs rise from the lower bound.
// Guarantee under `chain`: exhausted = no chain is better than the plan reported; otherwise the bound
// reported holds. by-link transfers: the model's loads are lower bounds, so its answers are bounds and its
// chain is offered as a plan. Under `convex` and `none` only the first try is made, for its plan.
// Complexity: see chain_search.h; memory within the budget, else it ends with the bound reached.
#pragma once

#include "allot/solve.h"

namespace allot {

bool chainAccepts(const Problem& problem);
SolveResult solveChain(const Problem& problem, const Budget& budget, Progress& progress);

}  // namespace allot
