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
  int compared = 0;
  for (std::uint64_t seed = 0; seed < 9500; ++seed) {
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
  }
  EXPECT_GT(compared, 5000);
}

TEST(CompletionExact, EqualsTheExhaustiveSearch) {
  int compared = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    const Problem problem = randomProblem(seed, Goal::kCompletion, {8, 3});
    if (problem.modes.memory == MemoryModel::kLive || problem.opCount() < 6) continue;
    if (!problem.relaxedIsExact()) continue;  // an engine alone proves the relaxed problem
    const Plan exhaustive = planBy(problem, "exhaustive");
    if (exhaustive.status != Status::kOptimal) continue;
    const Plan plan = planBy(problem, "completion-exact");
    EXPECT_EQ(plan.status, Status::kOptimal) << seed << ' ' << describe(problem);
    EXPECT_NEAR(plan.value, exhaustive.value, 1e-9) << seed << ' ' << describe(problem);
    ++compared;
  }
  EXPECT_GT(compared, 50);
}

// Two models of three ops on a CPU and a GPU, the published example: serving the one of larger speedup first
// takes 12.5, any free device 11.5.
TEST(CompletionExact, ToyExample) {
  Problem problem;
  problem.modes.goal = Goal::kCompletion;
  problem.modes.link_mode = LinkMode::kFree;
  problem.cluster.classes.resize(2);
  problem.cluster.classes[0].name = "cpu";
  problem.cluster.classes[1].name = "gpu";
  for (const std::uint32_t c : {0u, 1u}) {
    Device device;
    device.name = c == 0 ? "c" : "g";
    device.cls = ClassId(c);
    problem.cluster.devices.push_back(device);
  }
  const double times[6][2] = {{5, 1}, {1, 3}, {3, 2}, {1.5, 1.5}, {3, 1}, {2, 4}};
  for (std::uint32_t m = 0; m < 2; ++m) {
    problem.graph.model_name.push_back(m == 0 ? "m1" : "m2");
    problem.model_weight.push_back(1);
    problem.model_release.push_back(0);
  }
  std::vector<OpId> ops;
  for (std::uint32_t i = 0; i < 6; ++i) {
    ops.push_back(problem.graph.addOp("op" + std::to_string(i + 1)));
    problem.graph.op_model[i] = ModelId(i / 3);
    problem.op_seconds.insert(problem.op_seconds.end(), {times[i][0], times[i][1]});
  }
  const int edges[4][2] = {{0, 1}, {1, 2}, {3, 5}, {4, 5}};
  for (const auto& edge : edges)
    problem.addTensor(ops[static_cast<std::size_t>(edge[0])],
                      std::vector<OpId>{ops[static_cast<std::size_t>(edge[1])]}, 0, 0);
  ASSERT_TRUE(problem.finish().has_value());
  const Plan plan = planBy(problem, "completion-exact");
  EXPECT_EQ(plan.status, Status::kOptimal);
  EXPECT_DOUBLE_EQ(plan.value, 9);
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
