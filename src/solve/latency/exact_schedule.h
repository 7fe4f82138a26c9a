// Solver "schedule-exact": the fastest schedule of a small graph, with proof.
//
// Problem: latency of the events model, every link mode and send mode, launch, units, pins, forbids, static
//   memory. Under live memory only resident bytes are looked at: that gives a valid bound, and its plans
//   count where they happen to fit.
// Method: the whole graph as one window (exact_window.h). Beams give plans; the exact search then looks for a
//   better one or proves that there is none. Where that takes too many partial schedules, lower targets are
//   refuted instead: each search that ends without a plan below its target raises the bound to it. Where
//   ports count, the least value without them is such a bound. Where all times are multiples of one, so are
//   values.
// Guarantee: the bound is valid at any time; optimal when value and bound meet.
// Complexity: exponential in the width of the graph. When time runs out, the last plan and bound stand.
#pragma once

#include "allot/solve.h"

namespace allot {

bool exactScheduleAccepts(const Problem& problem);
SolveResult solveExactSchedule(const Problem& problem, const Budget& budget, Progress& progress);

}  // namespace allot
