// Solver "modules": exact by structure, for graphs that barriers cut into modules.
//
// Problem: latency of the events model, every link mode and send mode. Memory, units that reach over a
// barrier
//   and launch gaps longer than a barrier are left out of the sum over modules, which stays a valid bound;
//   plans are valued and checked as a whole.
// Method: shortest path over (barrier, device) with module costs between a lower and an upper one. Modules on
//   the current least path are searched exactly (exact_window.h), from one entry device to all exit devices
//   at once, below a target: what the best plan leaves for them when all others cost no more than their lower
//   costs. Targets start low and grow, so that each search either settles costs or raises them; those that
//   take too many partial schedules come back later with more. Where ports count, what a module costs without
//   them is settled first: that search is far smaller and its costs are lower costs.
// Guarantee: the sum of lower costs along the least path is a valid bound at any time; when every cost on it
//   is settled, it is the optimum, unless something was left out.
// When time runs out, the best plan and the bound so far stand.
#pragma once

#include "allot/solve.h"

namespace allot {

bool moduleSolverAccepts(const Problem& problem);
SolveResult solveModules(const Problem& problem, const Budget& budget, Progress& progress);

}  // namespace allot
