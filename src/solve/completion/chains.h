// One or two models that are chains, to proven optimality.
//
// Problem: total completion of at most two chains, in every link and send mode, without launch times.
// Method: the dynamic programme of two_chains.h, first with few pairs by state for a good plan, then with
// more, in the end with all.
// Guarantee: optimal; where memory may bind, the optimum without memory as a bound, and its plan where it
// fits.
// When time or memory runs out: the best plan so far.
#pragma once

#include "allot/solve.h"

namespace allot {

bool chainsAccepts(const Problem& problem);
SolveResult solveChains(const Problem& problem, const Budget& budget, Progress& progress);

}  // namespace allot
