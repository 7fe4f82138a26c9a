// Search by modules: between two barriers a schedule is independent of the rest.
//
// A barrier is an op that every other op precedes or follows and that no net passes by: when it starts all
// else has ended, and only its device matters for what follows. So the ops between two barriers are searched
// on their own for each pair of devices, and a shortest path over (barrier, device) joins the best plans
// found. After each round only the pairs that a path close to the best one uses are searched on, longer.
// Assumptions: memory cannot bind and no unit reaches over a barrier; a device's launch gap may reach over
// one, so the joined plan is valued as a whole.
// Guarantee: heuristic; the same plan for any number of threads. When time runs out: the best plan joined so
// far.
#pragma once

#include "solve/latency/anneal.h"

namespace allot {

// Barriers in order of position; empty where the search by modules does not apply.
std::vector<std::uint32_t> scheduleBarriers(const ScheduleModel& model);

struct ModuleSearchEnd {
  bool by_clock = false;
  std::uint64_t moves = 0;
};

// Improves on `start`; hands each better whole sequence to `report`.
ModuleSearchEnd searchModules(const ScheduleModel& model, const std::vector<std::uint32_t>& barriers,
                              const Sequence& start, const Budget& budget,
                              const std::function<void(const Sequence&)>& report);

}  // namespace allot
