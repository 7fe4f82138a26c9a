// Small sets of models to proven optimality: any graphs, links and static memory.
//
// Method: the layers of state_search.h, narrow ones first for a good plan, in the end all states.
// Guarantee: optimal where it ends; where live memory may bind, the optimum without tensors in memory as a
// bound.
// When time or the limit on states runs out: the best plan so far.
#pragma once

#include "allot/solve.h"

namespace allot {

bool completionExactAccepts(const Problem& problem);
SolveResult solveCompletionExact(const Problem& problem, const Budget& budget, Progress& progress);

}  // namespace allot
