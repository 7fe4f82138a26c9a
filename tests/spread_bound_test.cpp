// Bounds by flows are never above the optimum, and see what borders cost.
#include "solve/throughput/spread_bound.h"

#include <gtest/gtest.h>

#include "allot/allot.h"
#include "solve/throughput/packing_bound.h"
#include "solve/throughput/spread_flow.h"
#include "support/brute_force.h"
#include "support/random_problem.h"
#include "support/wide_graphs.h"

namespace allot {
namespace {

Budget budgetOf(std::uint32_t threads) {
  RunOptions run;
  run.time_limit_seconds = 60;
  run.threads = threads;
  return Budget(run, nullptr);
}

const auto kGoOn = [](double) { return true; };

TEST(SpreadBound, NeverAboveTheOptimum) {
  std::size_t tried = 0, flows = 0;
  for (std::uint64_t seed = 0; tried < 2000; ++seed) {
    const Problem problem = randomProblem(seed, Goal::kThroughput, {7, 4});
    if (!packingBoundAccepts(problem)) continue;
    const auto best = bruteForce(problem);
    if (!best) continue;
    SCOPED_TRACE("seed " + std::to_string(seed) + ", " + describe(problem));
    ++tried;
    const PipelineModel model(problem,
                              seed % 2 == 0 ? PipelineModel::Items::kUnits : PipelineModel::Items::kBlocks);
    // Sets of any weight may be asked for: a poor choice gives a weak bound, not a wrong one.
    const double lower = *best * (0.1 + 0.15 * static_cast<double>(seed % 7));
    const SpreadBoundReport report = spreadBound(model, lower, *best * 1.2, budgetOf(1), kGoOn);
    ASSERT_LE(report.bound, *best * (1 + 1e-9)) << "lower " << lower;
    flows += report.rounds > 0;
  }
  EXPECT_GT(flows, tried / 4);
}

// What a set pays for the nets it cuts is at least what flows out of it and into it.
TEST(SpreadBound, FlowsAreNeverMoreThanWhatSetsPay) {
  std::size_t tried = 0, forced = 0;
  for (std::uint64_t seed = 0; tried < 300; ++seed) {
    const Problem problem = randomProblem(seed, Goal::kThroughput, {9, 2});
    const PipelineModel model(problem, PipelineModel::Items::kUnits);
    const std::size_t n = model.itemCount();
    if (n < 4 || model.netCount() < 3) continue;
    Random random(seed, 3);
    std::vector<double> weight(n), capacity(model.netCount());
    double total = 0;
    for (double& w : weight) total += w = random.below(5) == 0 ? 0 : 0.1 + random.unit();
    for (double& c : capacity) c = random.below(6) == 0 ? 0 : 0.1 + random.unit();
    const Budget budget = budgetOf(1);
    SpreadFlow flow(model, weight, capacity, total * (0.1 + 0.4 * random.unit()), budget);
    if (!flow.round()) continue;
    flow.round();
    ++tried;
    SCOPED_TRACE("seed " + std::to_string(seed));
    const std::vector<double> ends = flow.ends(), density = flow.density();
    double most = 0;
    for (std::uint32_t mask = 0; mask < (1u << n); ++mask) {
      double inside = 0, pays = 0, must = 0;
      for (std::size_t v = 0; v < n; ++v) inside += (mask >> v & 1) != 0 ? weight[v] : 0;
      for (std::size_t v = 0; v < n; ++v)
        must += (mask >> v & 1) != 0 ? ends[v] - 2 * density[v] * inside : 0;
      for (std::size_t e = 0; e < model.netCount(); ++e) {
        std::size_t held = 0;
        for (const std::uint32_t v : model.net_items[e]) held += mask >> v & 1;
        pays += held > 0 && held < model.net_items[e].size() ? capacity[e] : 0;
      }
      ASSERT_LE(must, pays + 1e-9) << "set " << mask;
      most = std::max(most, must);
    }
    forced += most > 0;
  }
  EXPECT_GT(forced, tried / 2);
}

TEST(SpreadBound, SeesBordersOfWideGraphs) {
  for (const bool unlike : {false, true}) {
    const auto problem = gridGraph(24, 24, {.devices = 8, .unlike = unlike, .transfer = 1, .seed = 2});
    ASSERT_TRUE(problem);
    const SolveOutcome outcome = solveFromLinearDp(*problem, "spread-bound");
    EXPECT_GT(outcome.plan.bound, 1.05 * lowerBound(*problem)) << "unlike " << unlike;
    EXPECT_LE(outcome.plan.bound, outcome.plan.value);
  }
}

TEST(SpreadBound, IsTheSameForAnyNumberOfThreads) {
  const auto problem = gridGraph(20, 20, {.devices = 6, .transfer = 0.7, .seed = 5});
  ASSERT_TRUE(problem);
  const PipelineModel model(*problem, PipelineModel::Items::kUnits);
  const double lower = lowerBound(*problem);
  const double one = spreadBound(model, lower, 2 * lower, budgetOf(1), kGoOn).bound;
  EXPECT_GT(one, lower);
  EXPECT_EQ(one, spreadBound(model, lower, 2 * lower, budgetOf(3), kGoOn).bound);
}

}  // namespace
}  // namespace allot
