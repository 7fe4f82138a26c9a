// Parts of a plan for several models planned anew: exact where the part is the whole, better in any case.
#include <gtest/gtest.h>

#include "allot/check.h"
#include "allot/evaluate.h"
#include "allot/solve.h"
#include "evaluate/sweep.h"
#include "solve/collector.h"
#include "solve/completion/window_moves.h"
#include "support/brute_force.h"
#include "support/random_models.h"
#include "support/random_problem.h"

namespace allot {
namespace {

// Of the first rule that has one.
Plan somePlan(const Problem& problem, const Budget& budget) {
  Collector collector(problem, budget, {});
  for (const Solver& solver : solvers()) {
    if (!solver.accepts(problem)) continue;
    solver.solve(problem, budget, collector);
    if (collector.bestPlan() != nullptr) return *collector.bestPlan();
    if (solver.name == "packing") break;
  }
  return {};
}

TEST(CompletionWindows, TheWholeOfATinyProblemIsSolvedExactly) {
  RunOptions run;
  run.threads = 1;

  std::size_t compared = 0, improved = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Problem problem = randomProblem(seed, Goal::kCompletion, {5, 3});
    if (problem.modes.memory == MemoryModel::kLive || problem.modes.model == LatencyModel::kSubgraphCalls)
      continue;
    problem.modes.link_mode = LinkMode::kFree;
    const Budget budget(run, nullptr);
    const Plan start = somePlan(problem, budget);
    if (start.assignment.empty()) continue;
    const WalkResult found = improveWindows(problem, start, 10'000, 1, budget);
    const double value = std::min(start.value, found.value);
    const std::optional<double> best = bruteForce(problem);
    ASSERT_TRUE(best.has_value()) << describe(problem);
    EXPECT_NEAR(value, *best, 1e-9 * *best) << describe(problem);
    ++compared;
    improved += found.value < start.value ? 1 : 0;
  }
  EXPECT_GT(compared, 100u);
  EXPECT_GT(improved, 10u);
}

TEST(CompletionWindows, PlansAreBetterAndCheck) {
  RunOptions run;
  run.threads = 1;
  std::size_t improved = 0;
  for (std::uint64_t seed = 0; seed < 24; ++seed) {
    const Problem problem = randomModels(seed, 2 + seed % 4, 10);
    const Budget budget(run, nullptr);
    const Plan start = somePlan(problem, budget);
    ASSERT_FALSE(start.assignment.empty());
    const WalkResult found = improveWindows(problem, start, 30'000, seed, budget);
    if (!std::isfinite(found.value)) continue;
    ++improved;
    EXPECT_LT(found.value, start.value);
    const Evaluation evaluation = evaluate(problem, found.decisions);
    EXPECT_EQ(evaluation.violations.size(), 0u) << seed;
    EXPECT_NEAR(evaluation.plan.value, found.value, 1e-12 * found.value);
  }
  EXPECT_GT(improved, 12u);
}

TEST(CompletionWindows, AppendedOpsCanBeTakenBack) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const Problem problem = randomModels(seed, 3, 8);
    RunOptions run;
    const Plan start = somePlan(problem, Budget(run, nullptr));
    const auto order = problem.graph.topologicalOrder();
    Sweep sweep(problem);
    const double value = sweep.run(order, start.assignment);
    // There and back again from every place, by another way on the last device.
    const std::vector<DeviceId> other(problem.opCount(), DeviceId(problem.deviceCount() - 1));
    sweep.begin();
    Sweep::Mark mark;
    std::vector<double> end(problem.opCount()), completion;
    for (std::size_t p = 0; p < order.size(); ++p) {
      sweep.mark(mark);
      std::vector<DeviceId> mixed = other;
      for (std::size_t q = 0; q < p; ++q) mixed[order[q].index()] = start.assignment[order[q].index()];
      for (std::size_t q = p; q < order.size(); ++q) sweep.append(order[q], mixed);
      sweep.undo(mark);
      end[order[p].index()] = sweep.append(order[p], start.assignment);
    }
    EXPECT_EQ(scheduleValue(problem, end, completion), value) << seed;
  }
}

}  // namespace
}  // namespace allot
