// Non-contiguous max-load by the optional solvers: "highs-free" (HiGHS) and "cp-sat-free" (CP-SAT).
//
// Problem, model: free_model.h. Both start from the best plan, look only at plans no worse than it, and take
// the best bound so far as a floor of the objective.
// Guarantee: plans are re-evaluated by the receiver; bounds are reported less the tolerance of the arithmetic
//   that made them, so that they hold for every plan:
// - CP-SAT counts in integers. Seconds are rounded to the nearest multiple of a grid, the coarsest one of the
//   form 5^-a 2^-b seconds (which holds decimal and binary fractions alike) at which the rounding errors of
//   all terms of a load row together, E, are at most 2e-10 of the value. A plan of value v has an integer
//   value of at most (v + E) / grid, so an integer bound b proves b * grid - E. This closes the gap to 1e-9
//   and lets CP-SAT prove optimality.
// - HiGHS works in doubles, with the objective scaled to about 1. Dual values may have the wrong sign by its
//   tolerance in each column and row, each of which ranges over at most 1: that is what its bound may err by.
//   Reported is its bound less 1e-6 or (columns + rows) * tolerance, whichever is larger. So it narrows the
//   gap to about 1e-6, which is not "optimal" in Allot's sense.
// When time runs out: the best plan and bound so far. Under a work limit they do not run, for their work
//   cannot be counted.
#pragma once

#include "allot/solve.h"

namespace allot {

// Whether the problem is theirs and their library is there; loads nothing.
bool highsFreeAccepts(const Problem& problem);
bool cpSatFreeAccepts(const Problem& problem);

SolveResult solveHighsFree(const Problem& problem, const Budget& budget, Progress& progress);
SolveResult solveCpSatFree(const Problem& problem, const Budget& budget, Progress& progress);

}  // namespace allot
