// Schedules by CP-SAT against enumeration; skipped where its library is absent (`make helpers` fetches it).
#include <gtest/gtest.h>

#include <cstdlib>

#include "allot/allot.h"
#include "base/random.h"
#include "solve/helpers/cp_sat.h"
#include "solve/helpers/cp_sat_schedule.h"
#include "support/brute_force.h"
#include "support/random_problem.h"

namespace allot {
namespace {

std::string missing() {
#ifdef __SANITIZE_THREAD__
  return "the library is not built for the thread sanitizer";
#endif
  setenv("ALLOT_HELPERS_DIR", ALLOT_SOURCE_DIR "/third_party/helpers", 0);
  const auto loaded = loadCpSolver();
  return loaded ? "" : loaded.error().text();
}

TEST(CpSchedule, ProvesWhatEnumerationFinds) {
  if (const std::string why = missing(); !why.empty()) GTEST_SKIP() << why;
  int solved = 0;
  for (std::uint64_t seed = 0; seed < 400 && solved < 120; ++seed) {
    Problem problem = randomProblem(seed, Goal::kLatency, {5, 3});
    if (!cpSatScheduleAccepts(problem)) continue;
    RunOptions run;
    run.solver = "cp-sat-schedule";
    run.threads = 1;
    const Plan plan = solve(problem, run).plan;
    const auto best = bruteForce(problem);
    if (!best) continue;
    ASSERT_TRUE(plan.hasPlan()) << "seed " << seed << ", " << describe(problem);
    EXPECT_NEAR(plan.value, *best, 1e-9) << "seed " << seed << ", " << describe(problem);
    EXPECT_LE(plan.bound, *best * (1 + 1e-9)) << "seed " << seed << ", " << describe(problem);
    EXPECT_GE(plan.bound, *best * (1 - 1e-6)) << "seed " << seed << ", " << describe(problem);
    if (HasFailure()) return;
    ++solved;
  }
  EXPECT_EQ(solved, 120);
}

TEST(CpSchedule, StopsSoon) {
  if (const std::string why = missing(); !why.empty()) GTEST_SKIP() << why;
  Problem problem = randomProblem(1, Goal::kLatency, {40, 3});
  for (std::uint64_t seed = 2; !cpSatScheduleAccepts(problem); ++seed)
    problem = randomProblem(seed, Goal::kLatency, {40, 3});
  RunOptions run;
  run.solver = "cp-sat-schedule";
  run.time_limit_seconds = 0.3;
  const Plan plan = solve(problem, run).plan;
  EXPECT_LT(plan.seconds, 3);
}

}  // namespace
}  // namespace allot
