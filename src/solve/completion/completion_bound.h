// Lower bounds on the weighted sum of completions.
//
// Method: prices of device time (price_model.h, price_search.h), from those of one machine of weighted speed.
// Guarantee: valid for every plan in every link, send and memory mode, rounding taken off. Finds no plans.
// When time runs out: the best bound so far.
#pragma once

#include "allot/solve.h"

namespace allot {

bool completionBoundAccepts(const Problem& problem);
SolveResult solveCompletionBound(const Problem& problem, const Budget& budget, Progress& progress);

}  // namespace allot
