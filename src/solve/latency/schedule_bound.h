// Lower bounds on latency, from cheap to strong.
//
// Problem: no plan is faster than this. Plans come up on the way where the chain leaves no op out.
// Method: paths by device and prices of device time first. Then chains of ops cut the graph into parts
// (bound_chain.h) whose least times, by the devices of their two ends, add up along a shortest path over
// (chain op, device). Where that path runs, the parts on it are raised by refuting larger and larger times
// (refute.h), until the path is as long as the best known plan, or nothing on it can be raised.
// Guarantee: every bound holds for every plan, in every link mode, send mode and memory model, with launches,
// units, pins and forbids.
// Complexity: anytime. Graphs of more than kMaxOps ops get parts between barriers only.
// Stopped early: the best bound so far has been reported.
#pragma once

#include "allot/solve.h"
#include "solve/latency/schedule_model.h"

namespace allot {

bool scheduleBoundAccepts(const Problem& problem);
SolveResult solveScheduleBound(const Problem& problem, const Budget& budget, Progress& progress);

struct ScheduleBoundReport {
  double bound = 0;
  std::size_t parts = 0;
  std::uint64_t nodes = 0;
  bool proven = false;      // the best plan is optimal
  bool impossible = false;  // no plan exists: whatever the time, nothing fits
};

// Reports bounds and schedules to `progress`; there is no use in bounds beyond its best value.
ScheduleBoundReport scheduleBound(const ScheduleModel& model, const Budget& budget, Progress& progress);

}  // namespace allot
