// Random tiny problems over all goals, modes and constraints: evaluator, checker, bounds, solvers and plain
// enumeration agree.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

#include "allot/allot.h"
#include "support/brute_force.h"
#include "support/random_problem.h"
#include "support/scale.h"

namespace allot {
namespace {

constexpr double kTolerance = 1e-9;

// 10,000 problems by default: 3 goals x 10 shards, each with its own seeds.
std::uint64_t problemsPerShard() {
  return scaled(334);
}

struct Shard {
  Goal goal;
  std::uint64_t number;
};

class Property : public testing::TestWithParam<Shard> {
 protected:
  template <class Test>
  void forEachProblem(RandomLimits limits, Test&& test) {
    limits.memory_terms = true;
    for (std::uint64_t i = 0; i < problemsPerShard(); ++i) {
      const std::uint64_t seed = GetParam().number * 1'000'003 + i;
      const Problem problem = randomProblem(seed, GetParam().goal, limits);
      SCOPED_TRACE("seed " + std::to_string(seed) + ", " + describe(problem));
      test(problem, seed);
      if (HasFailure()) return;
    }
  }
};

bool near(double a, double b) {
  return std::fabs(a - b) <= kTolerance * std::max({1e-30, std::fabs(a), std::fabs(b)});
}

// Whatever the evaluator says of a random assignment, the checker says too.
TEST_P(Property, EvaluatorAgreesWithChecker) {
  forEachProblem({7, 4}, [](const Problem& problem, std::uint64_t seed) {
    Random random(seed, 5);
    Plan decisions;
    decisions.assignment.resize(problem.opCount());
    for (std::size_t u = 0; u < problem.unitCount(); ++u) {
      const DeviceId on(random.below(static_cast<std::uint32_t>(problem.deviceCount())));
      for (const OpId op : problem.unitOps(UnitId(u))) {
        // Mostly valid places, so that deeper checks are reached.
        decisions.assignment[op.index()] = on;
      }
    }
    for (std::size_t i = 0; i < problem.opCount(); ++i) {
      if (problem.opSeconds(OpId(i), decisions.assignment[i]) == kCannotRun) return;  // has no value
    }
    Evaluation evaluated = evaluate(problem, decisions);
    evaluated.plan.status = Status::kFeasible;
    evaluated.plan.bound = 0;
    const CheckReport report = check(problem, evaluated.plan);
    EXPECT_EQ(evaluated.valid(), report.ok()) << (evaluated.valid() ? "" : evaluated.violations.front())
                                              << " / " << (report.ok() ? "" : report.violations.front());
    if (evaluated.valid()) {
      EXPECT_TRUE(near(evaluated.plan.value, report.value)) << evaluated.plan.value << " / " << report.value;
    }
  });
}

// The portfolio proves what enumeration finds, and no bound is above it.
TEST_P(Property, PortfolioFindsTheOptimumOfEnumeration) {
  const RandomLimits limits = GetParam().goal == Goal::kThroughput ? RandomLimits{7, 3} : RandomLimits{4, 3};
  forEachProblem(limits, [](const Problem& problem, std::uint64_t seed) {
    if (problem.modes.memory == MemoryModel::kLive) return;  // see LiveMemory
    const std::optional<double> best = bruteForce(problem);
    RunOptions run;
    run.seed = seed;
    run.threads = 1;
    const SolveOutcome outcome = solve(problem, run);
    ASSERT_TRUE(outcome.message.empty()) << outcome.message;
    if (!best) {
      EXPECT_EQ(outcome.plan.status, Status::kInfeasible) << outcome.plan.value;
      EXPECT_FALSE(outcome.conflict.facts.empty());
      return;
    }
    EXPECT_EQ(outcome.plan.status, Status::kOptimal);
    EXPECT_TRUE(near(outcome.plan.value, *best)) << outcome.plan.value << " / " << *best;
    EXPECT_LE(lowerBound(problem), *best * (1 + kTolerance));
  });
}

// The same where waiting can save memory, on still smaller problems.
TEST_P(Property, LiveMemory) {
  if (GetParam().goal == Goal::kThroughput) return;
  forEachProblem({3, 2}, [](const Problem& problem, std::uint64_t seed) {
    if (problem.modes.memory != MemoryModel::kLive || seed % 4 != 0) return;  // the grid is slow
    const std::optional<double> best = bruteForce(problem);
    const SolveOutcome outcome = solve(problem, {});
    ASSERT_TRUE(outcome.message.empty()) << outcome.message;
    ASSERT_EQ(outcome.plan.hasPlan(), best.has_value());
    if (!best) return;
    EXPECT_EQ(outcome.plan.status, Status::kOptimal);
    EXPECT_TRUE(near(outcome.plan.value, *best)) << outcome.plan.value << " / " << *best;
  });
}

// Every solver that takes the problem reports only plans that are valid and no better than the optimum.
TEST_P(Property, EverySolverKeepsItsPromises) {
  forEachProblem({4, 3}, [](const Problem& problem, std::uint64_t seed) {
    if (seed % 10 != 0) return;  // all solvers at once are slower than the portfolio
    RunOptions run;
    const SolveOutcome best = solve(problem, run);
    ASSERT_TRUE(best.message.empty()) << best.message;
    if (best.plan.status == Status::kFeasible) return;  // not proven: nothing to compare with
    run.work_limit = 20'000;
    for (const Solver& solver : solvers()) {
      if (!solver.accepts(problem)) continue;
      run.solver = solver.name;
      const SolveOutcome outcome = solve(problem, run);
      ASSERT_TRUE(outcome.message.empty()) << solver.name << ": " << outcome.message;
      if (!outcome.plan.hasPlan()) continue;
      EXPECT_TRUE(best.plan.hasPlan()) << solver.name;
      EXPECT_GE(outcome.plan.value, best.plan.value * (1 - kTolerance)) << solver.name;
      EXPECT_LE(outcome.plan.bound, best.plan.value * (1 + kTolerance)) << solver.name;
    }
  });
}

// Same input, seed and options: the same plan for any number of threads.
TEST_P(Property, ThreadsDoNotChangeThePlan) {
  forEachProblem({7, 4}, [](const Problem& problem, std::uint64_t seed) {
    if (seed % 10 != 0) return;
    std::string first;
    for (const std::uint32_t threads : {1u, 2u, 3u}) {
      RunOptions run;
      run.threads = threads;
      run.work_limit = 2000;
      run.solver = "local-search";
      SolveOutcome outcome = solve(problem, run);
      outcome.plan.seconds = 0;
      outcome.plan.curve.clear();
      const std::string text = writePlan(problem, outcome.plan);
      if (first.empty()) first = text;
      EXPECT_EQ(first, text);
    }
  });
}

std::vector<Shard> shards() {
  std::vector<Shard> list;
  for (const Goal goal : {Goal::kThroughput, Goal::kLatency, Goal::kCompletion}) {
    for (std::uint64_t number = 0; number < 10; ++number) list.push_back({goal, number});
  }
  return list;
}

INSTANTIATE_TEST_SUITE_P(All, Property, testing::ValuesIn(shards()),
                         [](const testing::TestParamInfo<Shard>& info) {
                           return std::string(name(info.param.goal)) + "_" +
                                  std::to_string(info.param.number);
                         });

}  // namespace
}  // namespace allot
