#include "solve/helpers/helper_solvers.h"

#include <array>

#include "solve/helpers/cp_sat_schedule.h"
#include "solve/helpers/free_solvers.h"

namespace allot {

std::span<const Solver> helperSolvers() {
  static const std::array<Solver, 4> kList{{
      {"helpers-free", "placement without contiguity by HiGHS and CP-SAT at once (`make helpers`)",
       "optimal, with plans and bounds along the way", helpersFreeAccepts, solveHelpersFree},
      {"cp-sat-free", "placement without contiguity by CP-SAT (`make helpers`)", "optimal", cpSatFreeAccepts,
       solveCpSatFree},
      {"highs-free", "placement without contiguity by HiGHS (`make helpers`)",
       "a plan and a bound that meet up to 1e-6", highsFreeAccepts, solveHighsFree},
      {"cp-sat-schedule", "schedules and windows of them by CP-SAT (`make helpers`)",
       "plans, and a bound where the graph is not large", cpSatScheduleAccepts, solveCpSatSchedule},
  }};
  return kList;
}

}  // namespace allot
