// "cp-sat-schedule": latency by CP-SAT, where its library is there (`make helpers`).
//
// Problem, model: schedule_cp.h. It starts from the best plan and the best bound so far. Graphs of up to some
// hundred ops are first given to it whole, for a bound; then windows of the best plan (ops that run within a
// span of time, or the modules between barriers that lie in it) are freed one after the other and solved
// anew. Guarantee: plans are re-evaluated by the receiver; bounds come from the whole model alone, whose
// times are
//   rounded down, and hold for every plan.
// When time runs out: the best plan and bound so far. Under a work limit it does not run, for its work cannot
//   be counted.
#pragma once

#include "allot/solve.h"

namespace allot {

bool cpSatScheduleAccepts(const Problem& problem);
SolveResult solveCpSatSchedule(const Problem& problem, const Budget& budget, Progress& progress);

}  // namespace allot
