// Search for plans of several models, any graphs, devices, links and memory.
#pragma once

#include "allot/solve.h"

namespace allot {

bool completionSearchAccepts(const Problem& problem);
SolveResult solveCompletionSearch(const Problem& problem, const Budget& budget, Progress& progress);

}  // namespace allot
