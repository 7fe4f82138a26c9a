#include "solve/latency/latency_solvers.h"

#include <array>

#include "solve/latency/calls.h"
#include "solve/latency/coarse.h"
#include "solve/latency/exact_schedule.h"
#include "solve/latency/module_solver.h"
#include "solve/latency/schedule_bound.h"
#include "solve/latency/search.h"

namespace allot {

std::span<const Solver> latencySolvers() {
  static const std::array<Solver, 6> kList{{
      {"calls", "subgraph calls by labels over ideals, module by module",
       "optimal for one call per accelerator; a bound and packed plans for several", callsAccepts,
       solveCalls},
      {"schedule-exact", "fastest schedule of a small graph, by Pareto search over ideals",
       "optimal, with a valid bound along the way", exactScheduleAccepts, solveExactSchedule},
      {"modules", "shortest path over barriers and their devices, modules between them exactly",
       "optimal where modules are small, with a valid bound along the way", moduleSolverAccepts,
       solveModules},
      {"schedule-search", "annealing of orders and devices, by modules or in rounds from a pool",
       "heuristic; never worse than the best plan it starts from", scheduleSearchAccepts,
       solveScheduleSearch},
      {"schedule-bound", "bounds of the parts between ops that others wait for, and plans made of them",
       "a valid bound; optimal where barriers cut the graph into parts it can solve", scheduleBoundAccepts,
       solveScheduleBound},
      {"coarse", "fused groups, chains and heavy edges contracted, parts placed, then refined op by op",
       "heuristic", coarseAccepts, solveCoarse},
  }};
  return kList;
}

}  // namespace allot
