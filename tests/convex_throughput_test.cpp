// Branch and bound over convex sets: right on tiny problems, and ahead of the bound without contiguity.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "allot/allot.h"
#include "solve/throughput/convex_search.h"
#include "solve/throughput/packing_bound.h"
#include "support/brute_force.h"
#include "support/random_pipeline.h"
#include "support/random_problem.h"

namespace allot {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Budget budgetOf(double seconds) {
  RunOptions run;
  run.time_limit_seconds = seconds;
  return Budget(run, nullptr);
}

// Values every plan as the portfolio would, and keeps the best.
class Listener : public Progress {
 public:
  explicit Listener(const Problem& problem) : problem_(problem) {}
  bool plan(Plan decisions, std::string_view) override {
    const Evaluation evaluated = evaluate(problem_, decisions);
    EXPECT_TRUE(evaluated.valid());
    if (!evaluated.valid() || !(evaluated.plan.value < value_)) return false;
    value_ = evaluated.plan.value;
    plan_ = evaluated.plan;
    return true;
  }
  void bound(double bound, std::string_view) override { bound_ = std::max(bound_, bound); }
  double bestValue() const override { return value_; }
  double bestBound() const override { return bound_; }
  const Plan* bestPlan() const override { return value_ < kInfinity ? &plan_ : nullptr; }
  bool done() const override { return bound_ >= value_ * (1 - kOptimalGap); }

 private:
  const Problem& problem_;
  Plan plan_;
  double value_ = kInfinity, bound_ = 0;
};

Problem randomConvex(std::uint64_t seed, const PipelineShape& shape) {
  Random random(seed, 77);
  Modes modes = randomPipelineModes(random, Contiguity::kConvex);
  modes.training_load = TrainingLoad::kSum;
  modes.replicate = modes.in_flight = false;
  return finished(draftPipeline(random, modes, shape));
}

// The first cut-off lies above every plan, also where loads are so long that a second is less than rounding.
TEST(ConvexSearch, LongTimesAreNotRuledOut) {
  Problem problem;
  problem.graph.addOp("long");
  problem.op_seconds = {kMaxSeconds};
  problem.cluster.classes.push_back({.name = "k"});
  problem.cluster.devices.push_back({.name = "d", .cls = ClassId(0)});
  problem.modes.goal = Goal::kThroughput;
  problem.modes.contiguity = Contiguity::kConvex;
  ASSERT_TRUE(problem.finish());
  RunOptions run;
  run.solver = "convex";
  const Plan plan = solve(problem, run).plan;
  EXPECT_EQ(plan.status, Status::kOptimal);
  EXPECT_EQ(plan.value, kMaxSeconds);
}

TEST(ConvexSearch, FindsTheBestOfTinyProblems) {
  PipelineShape shape;
  shape.most_ops = 6;
  shape.devices = 3;
  std::size_t proven = 0, infeasible = 0;
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    const Problem problem = randomConvex(seed, shape);
    SCOPED_TRACE("seed " + std::to_string(seed) + ", " + describe(problem));
    ASSERT_TRUE(convexSearchAccepts(problem));
    const double best = bruteForce(problem).value_or(kInfinity);
    Listener listener(problem);
    const SolveEnd end = solveConvex(problem, budgetOf(60), listener).end;
    ASSERT_NE(end, SolveEnd::kStopped);
    if (best == kInfinity) {
      ASSERT_EQ(end, SolveEnd::kExhausted);
      ++infeasible;
      continue;
    }
    ASSERT_EQ(end, SolveEnd::kFinished);
    ASSERT_LE(listener.bestBound(), best * (1 + 1e-9));
    if (problem.transfers() != Transfers::kViaHost) continue;
    ASSERT_NEAR(listener.bestValue(), best, 1e-9 * best);
    ASSERT_GE(listener.bestBound(), best * (1 - 1e-9));
    ++proven;
  }
  EXPECT_GT(proven, 1000u);
  EXPECT_GT(infeasible, 10u);
}

Problem likeDevices(std::uint64_t seed, std::uint32_t ops, std::uint32_t devices) {
  Random random(seed, 78);
  Modes modes;
  modes.contiguity = Contiguity::kConvex;
  PipelineShape shape;
  shape.least_ops = shape.most_ops = ops;
  shape.classes = 1;
  shape.count = shape.devices = devices;
  shape.memory_limits = shape.constraints = false;
  return finished(draftPipeline(random, modes, shape));
}

// Without contiguity a device may take ops here and there, so that bounds which hold for it must be lower.
TEST(ConvexSearch, BeatsTheBoundWithoutContiguity) {
  std::size_t better = 0, equal = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const Problem problem = likeDevices(seed, 14, 4);
    Listener listener(problem);
    solveConvex(problem, budgetOf(10), listener);
    const PipelineModel model(problem, PipelineModel::Items::kUnits);
    const double free =
        packingBound(model, {.upper = listener.bestValue()}, budgetOf(10), BoundBy::kPrices).bound;
    ASSERT_LE(listener.bestBound(), listener.bestValue() * (1 + 1e-9));
    (listener.bestBound() > free * (1 + 1e-6) ? better : equal) += 1;
  }
  EXPECT_GT(better, equal / 4);
}

}  // namespace
}  // namespace allot
