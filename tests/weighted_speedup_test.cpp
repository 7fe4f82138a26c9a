// The weighted speed-up scheduler on the flow engine.
#include "solve/completion/weighted_speedup.h"

#include <gtest/gtest.h>

#include <cmath>

#include "allot/check.h"
#include "allot/evaluate.h"
#include "formats_support.h"
#include "support/online_problem.h"
#include "support/random_problem.h"

namespace allot {
namespace {

Budget anyBudget() {
  RunOptions run;
  run.threads = 1;
  return Budget(run, nullptr);
}

// Talos, ASAP 2021, Fig. 1: times on cpu and gpu.
Problem toy() {
  return problemOf(R"({"schema": "allot.problem/1", "goal": "completion", "options": {"link-mode": "free"},
    "classes": [{"name": "cpu", "kind": "cpu"}, {"name": "gpu", "kind": "accelerator"}],
    "devices": [{"name": "c", "class": "cpu"}, {"name": "g", "class": "gpu"}], "models": [{"name": "m1"}, {"name": "m2"}],
    "ops": [{"name": "op1", "model": "m1", "time": [5, 1]}, {"name": "op2", "model": "m1", "time": [1, 3]},
            {"name": "op3", "model": "m1", "time": [3, 2]}, {"name": "op4", "model": "m2", "time": [1.5, 1.5]},
            {"name": "op5", "model": "m2", "time": [3, 1]}, {"name": "op6", "model": "m2", "time": [2, 4]}],
    "tensors": [{"from": "op1", "to": ["op2"], "time": 0}, {"from": "op2", "to": ["op3"], "time": 0},
                {"from": "op4", "to": ["op6"], "time": 0}, {"from": "op5", "to": ["op6"], "time": 0}]})");
}

TEST(WeightedSpeedup, ToyExample) {
  const Problem problem = toy();
  RunOptions run;
  run.solver = "weighted-speedup";
  run.threads = 1;
  EXPECT_DOUBLE_EQ(solve(problem, run).plan.value, 9);
  // The costs of the arcs used sum to the total completion time.
  for (const double share : {0.0, 0.5, 1.0}) {
    const WeightedSpeedup found = scheduleByWeightedSpeedup(problem, share, anyBudget());
    ASSERT_FALSE(found.plan.assignment.empty());
    EXPECT_DOUBLE_EQ(found.arc_cost, evaluate(problem, found.plan).plan.value) << share;
  }
}

TEST(WeightedSpeedup, ArcCostsSumToCompletions) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    OnlineShape shape = randomShape(seed);
    shape.link_mode = LinkMode::kFree;
    shape.memory = false;
    const Problem problem = onlineProblem(seed, shape);
    const WeightedSpeedup found = scheduleByWeightedSpeedup(problem, 0.5, anyBudget());
    ASSERT_FALSE(found.plan.assignment.empty()) << seed;
    double value = 0;
    std::vector<double> completion(problem.graph.modelCount(), 0);
    for (std::size_t i = 0; i < problem.opCount(); ++i) {
      const double end = found.plan.start[i] + problem.opSeconds(OpId(i), found.plan.assignment[i]);
      double& latest = completion[problem.graph.op_model[i].index()];
      latest = std::max(latest, end);
    }
    for (const double end : completion) value += end;
    EXPECT_NEAR(found.arc_cost, value, 1e-9 * (1 + value)) << seed;
  }
}

// Every plan it reports is valid in every mode, memory kept; it finds about as many as a list scheduler.
TEST(WeightedSpeedup, PlansAreValid) {
  std::size_t found = 0, by_list = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    const Problem problem = randomProblem(seed, Goal::kCompletion, {6, 3});
    RunOptions run;
    run.solver = "weighted-speedup";
    run.threads = 1;
    const SolveOutcome outcome = solve(problem, run);
    EXPECT_EQ(outcome.message, "") << seed << ' ' << describe(problem);
    found += outcome.plan.hasPlan();
    run.solver = "eft";
    by_list += solve(problem, run).plan.hasPlan();
  }
  EXPECT_GT(found, 200u);
  EXPECT_GE(100 * found, 95 * by_list);
}

}  // namespace
}  // namespace allot
