// Anytime search for short schedules: solver "schedule-search".
//
// Problem: latency of the events model, every link, send and memory mode.
// Method: starts from the best plan so far, list schedules (also some that price slow devices or see the
// ports) and single devices, decoded with ports. Where memory binds, rules price its bytes
// (memory_prices.h), placements of least total time within it are starts too (serial_place.h), and moves make
// room for each other. Where barriers cut the graph into modules, each is searched
// on its own (search_modules.h). Otherwise rounds of annealing in several chains from a pool of good and
// different plans and from joins of two of them, each round twice as long as the one before; in the best
// chain parts of the schedule are then freed and solved again (window_resolve.h); large graphs are improved
// window by window (search_windows.h). Guarantee: heuristic, no bound; never worse than the best plan so far;
// the same plan for any number of threads. Ends after several rounds without a better plan. When time runs
// out: the best plan found so far has been reported.
#pragma once

#include "allot/solve.h"

namespace allot {

bool scheduleSearchAccepts(const Problem& problem);
SolveResult solveScheduleSearch(const Problem& problem, const Budget& budget, Progress& progress);

}  // namespace allot
