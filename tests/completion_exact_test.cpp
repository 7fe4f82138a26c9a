// The engines for completions against plain enumeration.
#include <gtest/gtest.h>

#include <cmath>

#include "allot/solve.h"
#include "support/brute_force.h"
#include "support/random_problem.h"

namespace allot {
namespace {

Plan planBy(const Problem& problem, const char* solver) {
  RunOptions run;
  run.solver = solver;
  run.threads = 1;
  run.helpers = Helpers::kOff;
  run.time_limit_seconds = 20;
  SolveOutcome outcome = solve(problem, run);
  EXPECT_EQ(outcome.message, "") << describe(problem);
  return std::move(outcome.plan);
}

bool accepts(const Problem& problem, const char* solver) {
  return findSolver(solver)->accepts(problem);
}

TEST(CompletionExact, EqualsEnumeration) {
  int compared = 0, proven = 0;
  for (std::uint64_t seed = 0; seed < 5000; ++seed) {
    const Problem problem = randomProblem(seed, Goal::kCompletion, {4, 3});
    if (problem.modes.memory == MemoryModel::kLive) continue;
    const std::optional<double> best = bruteForce(problem);
    const Plan plan = planBy(problem, "completion-exact");
    ASSERT_EQ(plan.hasPlan(), best.has_value()) << seed << ' ' << describe(problem);
    if (!best) {
      EXPECT_EQ(plan.status, Status::kInfeasible) << seed << ' ' << describe(problem);
      continue;
    }
    EXPECT_NEAR(plan.value, *best, 1e-9) << seed << ' ' << describe(problem);
    EXPECT_EQ(plan.status, Status::kOptimal) << seed << ' ' << describe(problem);
    ++compared;
    proven += plan.status == Status::kOptimal;
  }
  EXPECT_GT(compared, 2500);
}

TEST(CompletionBound, HoldsForEveryPlan) {
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    const Problem problem = randomProblem(seed, Goal::kCompletion, {5, 3});
    const Plan exact = planBy(problem, "exhaustive");
    if (exact.status != Status::kOptimal) continue;
    for (const char* solver : {"completion-bound", "completion-search", "completion-exact", "chains"}) {
      if (!accepts(problem, solver)) continue;
      RunOptions run;
      run.solver = solver;
      run.work_limit = 20'000;
      run.helpers = Helpers::kOff;
      const SolveOutcome outcome = solve(problem, run, &exact);
      EXPECT_EQ(outcome.message, "") << solver << ' ' << seed << ' ' << describe(problem);
      EXPECT_LE(outcome.plan.bound, exact.value * (1 + 1e-9))
          << solver << ' ' << seed << ' ' << describe(problem);
      EXPECT_GE(outcome.plan.value, exact.value * (1 - 1e-9))
          << solver << ' ' << seed << ' ' << describe(problem);
    }
  }
}

}  // namespace
}  // namespace allot
