// Non-contiguous max-load by the optional solvers: "highs-free" (HiGHS), "cp-sat-free" (CP-SAT) and
// "helpers-free" (both at once, for the portfolio).
//
// Problem, model: free_model.h. They start from the best plan, look only at plans no worse than it, and take
// the best bound so far as a floor of the objective.
// Guarantee: plans are re-evaluated by the receiver; bounds are reported less the tolerance of the arithmetic
//   that made them, so that they hold for every plan:
// - CP-SAT counts in integers. Seconds are rounded down to a grid, so an integer bound b proves b * grid
// (less
//   `up`, by which multiples of the grid that division makes a little too small are rounded up). The grid is
//   the coarsest of the form 5^-a 2^-b seconds, which holds decimal and binary fractions alike, at which all
//   terms of a load row together lose at most 2e-10 of the value: this closes the gap to 1e-9 and lets CP-SAT
//   prove optimality. When two thirds of the time have not been enough, the rest goes to a grid of 1e-4 of
//   the value, where sums are small numbers and the bound climbs in larger steps.
// - HiGHS works in doubles, with the objective scaled to about 1. Dual values may have the wrong sign by its
//   tolerance in each column and row, each of which ranges over at most 1: that is what its bound may err by.
//   Reported is its bound less 1e-6 or (columns + rows) * tolerance, whichever is larger. So it narrows the
//   gap to about 1e-6, which is not "optimal" in Allot's sense.
// "helpers-free" runs both at once on half of the threads each (one after the other on one thread). Once
// HiGHS
//   has ended, CP-SAT starts anew between its plan and its bound, all but closed, and settles the last
//   digits.
// When time runs out: the best plan and bound so far. Under a work limit they do not run, for their work
//   cannot be counted. With several threads the plan found depends on timing, so the end is never better than
//   `kStopped` when it is theirs.
#pragma once

#include "allot/solve.h"

namespace allot {

// Whether the problem is theirs and their library is there; loads nothing.
bool highsFreeAccepts(const Problem& problem);
bool cpSatFreeAccepts(const Problem& problem);
bool helpersFreeAccepts(const Problem& problem);

SolveResult solveHighsFree(const Problem& problem, const Budget& budget, Progress& progress);
SolveResult solveCpSatFree(const Problem& problem, const Budget& budget, Progress& progress);
SolveResult solveHelpersFree(const Problem& problem, const Budget& budget, Progress& progress);

}  // namespace allot
