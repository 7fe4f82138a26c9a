// The bound from what must cross between stages, and the maximum flow under it.
#include <gtest/gtest.h>

#include <array>

#include "allot/allot.h"
#include "solve/throughput/boundary_bound.h"
#include "solve/throughput/max_flow.h"
#include "solve/throughput/position_bound.h"
#include "support/random_pipeline.h"
#include "support/random_problem.h"
#include "support/wide_graphs.h"

namespace allot {
namespace {

// Against every way to split the nodes of small random graphs.
TEST(MaxFlow, IsTheLeastCut) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Random random(seed);
    const std::uint32_t n = 2 + random.below(7);
    std::vector<double> capacity(n * n, 0);
    MaxFlow flow(n);
    for (std::uint32_t arc = 0; arc < 3 * n; ++arc) {
      const std::uint32_t a = random.below(n), b = random.below(n);
      const double c = random.below(8) * 0.25;
      if (a == b) continue;
      capacity[a * n + b] += c;
      flow.addArc(a, b, c);
    }
    double least = 1e9;
    for (std::uint32_t set = 0; set < (1u << n); ++set) {
      if ((set & 1) == 0 || (set & 2) != 0) continue;  // node 0 is the source, node 1 the sink
      double cut = 0;
      for (std::uint32_t a = 0; a < n; ++a) {
        for (std::uint32_t b = 0; b < n; ++b) {
          if ((set >> a & 1) != 0 && (set >> b & 1) == 0) cut += capacity[a * n + b];
        }
      }
      least = std::min(least, cut);
    }
    EXPECT_NEAR(flow.run(0, 1), least, 1e-12) << "seed " << seed;
  }
}

TEST(BoundaryBound, IsNeverAboveTheBestChain) {
  int raised = 0, taken = 0;
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    Random random(seed, 21);
    Modes modes = randomPipelineModes(random, Contiguity::kChain);
    modes.overlap = Overlap::kSum;
    modes.training_load = TrainingLoad::kSum;
    modes.replicate = false;
    modes.max_stages = 0;
    PipelineShape shape;
    shape.classes = 1 + random.below(2);
    shape.count = 4;
    shape.memory_limits = random.chance(0.3);
    shape.constraints = random.chance(0.3);
    const Problem problem = finished(draftPipeline(random, modes, shape));
    if (!boundaryBoundAccepts(problem)) continue;
    SCOPED_TRACE("seed " + std::to_string(seed) + ", " + describe(problem));
    const std::optional<double> best = bruteForceChain(problem);
    if (!best) continue;
    // Any plan serves as the upper end.
    RunOptions run;
    run.solver = "single";
    SolveOutcome start = solve(problem, run);
    if (!start.plan.hasPlan()) continue;
    run.solver = "boundary-bound";
    const SolveOutcome outcome = solve(problem, run, &start.plan);
    ASSERT_TRUE(outcome.message.empty()) << outcome.message;
    EXPECT_LE(outcome.plan.bound, *best * (1 + 1e-9));
    raised += outcome.plan.bound > lowerBound(problem) * (1 + 1e-6) ? 1 : 0;
    ++taken;
  }
  EXPECT_GT(taken, 300);
  EXPECT_GT(raised, 20);
}

// The same for the bound by positions, without and with other bounds beside it.
TEST(PositionBound, IsNeverAboveTheBestChain) {
  int raised = 0, taken = 0;
  for (std::uint64_t seed = 0; seed < 1500; ++seed) {
    Random random(seed, 23);
    Modes modes = randomPipelineModes(random, Contiguity::kChain);
    modes.overlap = Overlap::kSum;
    modes.training_load = TrainingLoad::kSum;
    modes.replicate = modes.in_flight = false;
    modes.max_stages = 0;
    PipelineShape shape;
    shape.least_ops = 4;
    shape.most_ops = 8;
    shape.classes = 1;
    shape.count = 4;
    shape.memory_limits = random.chance(0.2);
    shape.constraints = random.chance(0.2);
    const Problem problem = finished(draftPipeline(random, modes, shape));
    PipelineModel model(problem, PipelineModel::Items::kBlocks);
    if (random.chance(0.5)) model.joinFreeItems(true);
    if (!PositionBound::accepts(model)) continue;
    SCOPED_TRACE("seed " + std::to_string(seed) + ", " + describe(problem));
    const std::optional<double> best = bruteForceChain(problem);
    if (!best || *best <= 0) continue;
    RunOptions run;
    const Budget budget(run, nullptr);
    // Lengths chosen for the best value, and for others.
    const double around = *best * std::array{1.0, 1.4, 0.6}[seed % 3];
    const PositionBound bound(model, model.pools[0].devices.size(), around, budget);
    ASSERT_FALSE(bound.refutes(*best * (1 + 1e-6)));
    raised += bound.refutes(std::max(lowerBound(problem) * 1.02, *best * 0.8)) ? 1 : 0;
    ++taken;
  }
  EXPECT_GT(taken, 200);
  EXPECT_GT(raised, 40);
}

// On a grid of like devices every cut is wide: the bound must see it.
TEST(BoundaryBound, SeesTheCutsOfAGrid) {
  WideOptions options;
  options.devices = 4;
  options.transfer = 1;
  const auto problem = gridGraph(20, 20, options);
  ASSERT_TRUE(problem);
  const SolveOutcome outcome = solveFromLinearDp(*problem, "boundary-bound");
  EXPECT_GT(outcome.plan.bound, 1.05 * lowerBound(*problem));
  EXPECT_LE(outcome.plan.bound, outcome.plan.value);
}

}  // namespace
}  // namespace allot
