// The exact search of small schedules against plain enumeration, in every mode.
#include <gtest/gtest.h>

#include <cmath>

#include "allot/allot.h"
#include "support/brute_force.h"
#include "support/random_problem.h"

namespace allot {
namespace {

bool near(double a, double b) {
  return std::fabs(a - b) <= 1e-9 * std::max({1e-30, std::fabs(a), std::fabs(b)});
}

SolveOutcome exact(const Problem& problem) {
  RunOptions run;
  run.solver = "schedule-exact";
  run.time_limit_seconds = 20;
  return solve(problem, run);
}

TEST(ScheduleExact, AgreesWithEnumeration) {
  int plans = 0, none = 0;
  for (std::uint64_t seed = 0; seed < 6000; ++seed) {
    const bool large = seed % 8 == 0;
    const Problem problem =
        randomProblem(seed, Goal::kLatency, large ? RandomLimits{6, 2} : RandomLimits{4, 3});
    if (problem.modes.model != LatencyModel::kEvents) continue;
    const bool live = problem.modes.memory == MemoryModel::kLive;
    if (live && (seed % 20 != 0 || problem.opCount() > 3)) continue;  // the grid of enumeration is slow
    SCOPED_TRACE("seed " + std::to_string(seed) + ", " + describe(problem));
    const std::optional<double> best = bruteForce(problem);
    const SolveOutcome outcome = exact(problem);
    ASSERT_TRUE(outcome.message.empty()) << outcome.message;
    if (!best) {
      EXPECT_FALSE(outcome.plan.hasPlan());
      if (!live) {
        EXPECT_EQ(outcome.plan.status, Status::kInfeasible);
      }
      ++none;
    } else {
      EXPECT_LE(outcome.plan.bound, *best * (1 + 1e-9));
      if (!live) {
        ASSERT_EQ(outcome.plan.status, Status::kOptimal);
        EXPECT_TRUE(near(outcome.plan.value, *best)) << outcome.plan.value << " / " << *best;
      }
      ++plans;
    }
    if (HasFailure()) return;
  }
  EXPECT_GT(plans, 1500);
  EXPECT_GT(none, 20);
}

}  // namespace
}  // namespace allot
