// The search for completions on graphs of any kind, with memory and links.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "allot/solve.h"
#include "base/random.h"
#include "support/random_models.h"
#include "support/random_problem.h"
#include "support/stop_time.h"

namespace allot {
namespace {

Plan planBy(const Problem& problem, std::string solver, std::uint64_t work, std::uint32_t threads = 1) {
  RunOptions run;
  run.solver = std::move(solver);
  run.work_limit = work;
  run.threads = threads;
  run.helpers = Helpers::kOff;
  SolveOutcome outcome = solve(problem, run);
  EXPECT_EQ(outcome.message, "") << describe(problem);
  return std::move(outcome.plan);
}

TEST(CompletionSearch, NeverWorseThanABaseline) {
  for (std::uint64_t seed = 0; seed < 25; ++seed) {
    const Problem problem = randomModels(seed, 2 + seed % 4, 8);
    const Plan plan = planBy(problem, "", 200);
    ASSERT_TRUE(plan.hasPlan()) << seed;
    for (const Solver& solver : solvers()) {
      if (solver.name == "packing") break;  // baselines come first
      if (!solver.accepts(problem)) continue;
      EXPECT_LE(plan.value, planBy(problem, std::string(solver.name), 200).value * (1 + 1e-12))
          << seed << ' ' << solver.name;
    }
  }
}

TEST(CompletionSearch, BetterThanBaselinesOnAverage) {
  double found = 0, baselines = 0;
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    const Problem problem = randomModels(seed, 4, 12);
    found += planBy(problem, "completion-search", 4000).value;
    double best = kCannotRun;
    for (const char* solver : {"heft", "peft", "etf"})
      best = std::min(best, planBy(problem, solver, 200).value);
    baselines += best;
  }
  EXPECT_LT(found, 0.95 * baselines);
}

TEST(CompletionSearch, SamePlanForAnyNumberOfThreads) {
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    const Problem problem = randomModels(seed, 4, 10);
    const Plan one = planBy(problem, "completion-search", 1000, 1);
    const Plan four = planBy(problem, "completion-search", 1000, 4);
    EXPECT_EQ(one.value, four.value);
    EXPECT_EQ(one.bound, four.bound);
    EXPECT_EQ(one.start, four.start);
    EXPECT_EQ(one.assignment, four.assignment);
  }
}

TEST(CompletionSearch, OpsWithoutTime) {
  Problem problem = randomModels(1, 3, 4);
  std::fill(problem.op_seconds.begin(), problem.op_seconds.end(), 0.0);
  std::fill(problem.model_release.begin(), problem.model_release.end(), 0.0);
  ASSERT_TRUE(problem.finish().has_value());
  for (const char* solver : {"completion-search", "completion-exact", ""}) {
    const Plan plan = planBy(problem, solver, 100'000);
    EXPECT_TRUE(plan.hasPlan()) << solver;
    EXPECT_EQ(plan.value, 0) << solver;
  }
}

TEST(CompletionSearch, StopsAtOnce) {
  const Problem problem = randomModels(2, 6, 200);
  for (const char* solver : {"completion-bound", "completion-search"}) expectStopsSoon(problem, solver);
}

}  // namespace
}  // namespace allot
