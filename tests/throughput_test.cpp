// What every throughput engine must keep to, asked of the portfolio: the optimum of plain enumeration in
// every combination of modes, and how optima of related problems compare.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <limits>

#include "allot/allot.h"
#include "support/brute_force.h"
#include "support/proven_optimum.h"
#include "support/random_pipeline.h"
#include "support/random_problem.h"
#include "support/scale.h"

namespace allot {
namespace {

constexpr double kTolerance = 1e-9;
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::uint64_t kShards = 20;

bool near(double a, double b) {
  return a == b || std::fabs(a - b) <= kTolerance * std::max({1e-30, std::fabs(a), std::fabs(b)});
}

class Throughput : public testing::TestWithParam<std::uint64_t> {
 protected:
  // Calls test(random) with a fresh generator for each problem of this shard.
  template <class Test>
  void repeat(std::uint64_t problems, std::uint64_t stream, Test&& test) {
    for (std::uint64_t i = 0; i < scaled(problems); ++i) {
      const std::uint64_t seed = GetParam() * 1'000'003 + i;
      SCOPED_TRACE("seed " + std::to_string(seed));
      Random random(seed, stream);
      test(random);
      if (HasFailure()) return;
    }
  }
};

// 5,000 problems with up to three classes, replicas and samples in flight among them.
TEST_P(Throughput, ChainOptimumIsThatOfEnumeration) {
  repeat(250, 1, [](Random& random) {
    const Modes modes = randomPipelineModes(random, Contiguity::kChain);
    const Problem problem = finished(draftPipeline(random, modes, {}));
    SCOPED_TRACE(describe(problem));
    const std::optional<double> best = bruteForceChain(problem);
    const double found = provenOptimum(problem);
    EXPECT_TRUE(near(found, best.value_or(kInfinity))) << found << " / " << best.value_or(kInfinity);
    if (best) {
      EXPECT_LE(lowerBound(problem), *best * (1 + kTolerance));
    }
  });
}

// The enumeration of chains against the one that knows nothing of classes or ideals.
TEST_P(Throughput, EnumerationsAgree) {
  repeat(15, 2, [](Random& random) {
    const Modes modes = randomPipelineModes(random, Contiguity::kChain);
    PipelineShape shape;
    shape.most_ops = 4;
    shape.devices = 3;
    const Problem problem = finished(draftPipeline(random, modes, shape));
    SCOPED_TRACE(describe(problem));
    const double chains = bruteForceChain(problem).value_or(kInfinity);
    const double all = bruteForce(problem).value_or(kInfinity);
    EXPECT_TRUE(near(chains, all)) << chains << " / " << all;
  });
}

std::vector<Modes> allModes() {
  std::vector<Modes> list;
  for (const Contiguity contiguity : {Contiguity::kChain, Contiguity::kConvex, Contiguity::kNone}) {
    for (const std::uint32_t bits : {0u, 1u, 2u, 3u, 4u, 5u, 6u, 7u}) {
      for (const bool replicate : {false, true}) {
        for (const bool in_flight : {false, true}) {
          for (const std::uint32_t max_stages : {0u, 1u, 2u}) {
            if (in_flight && contiguity != Contiguity::kChain) continue;
            Modes modes;
            modes.contiguity = contiguity;
            modes.transfers = (bits & 1) != 0 ? Transfers::kByLink : Transfers::kViaHost;
            modes.overlap = (bits & 2) != 0 ? Overlap::kMax : Overlap::kSum;
            modes.training_load = (bits & 4) != 0 ? TrainingLoad::kMaxParts : TrainingLoad::kSum;
            modes.replicate = replicate;
            modes.in_flight = in_flight;
            modes.max_stages = max_stages;
            list.push_back(modes);
          }
        }
      }
    }
  }
  return list;
}

// Every combination of modes, in each shard with other problems.
TEST_P(Throughput, EveryCombinationOfModesIsThatOfEnumeration) {
  std::uint64_t stream = 100;
  for (const Modes& modes : allModes()) {
    Random random(GetParam(), ++stream);
    PipelineShape shape;
    shape.most_ops = 4;
    shape.devices = 3;
    const Problem problem = finished(draftPipeline(random, modes, shape));
    SCOPED_TRACE("shard " + std::to_string(GetParam()) + ", " + describe(problem));
    const double best = bruteForce(problem).value_or(kInfinity);
    const double found = provenOptimum(problem);
    EXPECT_TRUE(near(found, best)) << found << " / " << best;
    if (HasFailure()) return;
  }
}

// Modes of any contiguity and a problem of a size that is proven at once.
Problem anyDraft(Random& random) {
  const Modes modes = randomPipelineModes(random, static_cast<Contiguity>(random.below(3)));
  return draftPipeline(random, modes, {});
}

TEST_P(Throughput, ThreeTimesTheTimesAreThreeTimesTheValue) {
  repeat(10, 3, [](Random& random) {
    Problem draft = anyDraft(random);
    const double before = provenOptimum(finished(draft));
    for (double& seconds : draft.op_seconds) seconds *= 3;
    for (double& seconds : draft.tensor_seconds) seconds *= 3;
    for (DeviceClass& cls : draft.cluster.classes) cls.launch_seconds *= 3;
    for (Link& link : draft.cluster.links) {
      link.latency_seconds *= 3;
      link.bandwidth_bytes_per_second /= 3;
    }
    const double after = provenOptimum(finished(draft));
    EXPECT_TRUE(near(after, 3 * before)) << before << " -> " << after;
  });
}

TEST_P(Throughput, AnotherDeviceNeverHurts) {
  repeat(10, 4, [](Random& random) {
    PipelineShape shape;
    shape.devices = 4;
    shape.constraints = false;
    const Modes modes = randomPipelineModes(random, static_cast<Contiguity>(random.below(3)));
    Problem draft = draftPipeline(random, modes, shape);
    const double before = provenOptimum(finished(draft));
    const std::uint32_t twin = random.below(static_cast<std::uint32_t>(draft.cluster.deviceCount()));
    draft.cluster.devices.push_back(draft.cluster.devices[twin]);
    draft.cluster.devices.back().name = "more";
    const double after = provenOptimum(finished(draft));
    EXPECT_LE(after, before * (1 + kTolerance)) << before << " -> " << after;
  });
}

TEST_P(Throughput, LessContiguityNeverHurts) {
  repeat(10, 5, [](Random& random) {
    Modes modes = randomPipelineModes(random, Contiguity::kChain);
    modes.in_flight = false;
    Problem problem = finished(draftPipeline(random, modes, {}));
    double last = kInfinity;
    for (const Contiguity contiguity : {Contiguity::kChain, Contiguity::kConvex, Contiguity::kNone}) {
      modes.contiguity = contiguity;
      ASSERT_TRUE(problem.setModes(modes));
      const double value = provenOptimum(problem);
      EXPECT_LE(value, last * (1 + kTolerance)) << name(contiguity);
      last = value;
    }
  });
}

TEST_P(Throughput, OtherNamesAndOrdersChangeNothing) {
  repeat(10, 6, [](Random& random) {
    const Problem draft = anyDraft(random);
    const double before = provenOptimum(finished(draft));
    const double after = provenOptimum(finished(shuffled(draft, random)));
    EXPECT_TRUE(near(before, after)) << before << " -> " << after;
  });
}

// An edge that is there already, once more: as an order constraint and as a tensor that costs nothing.
TEST_P(Throughput, DoubledEdgesChangeNothing) {
  repeat(10, 7, [](Random& random) {
    Problem draft = anyDraft(random);
    const double before = provenOptimum(finished(draft));
    for (std::size_t t = draft.graph.tensorCount(); t-- > 0;) {
      const OpId from = draft.graph.tensor_producer[t];
      const OpId to = draft.graph.tensor_consumers[t].front();
      draft.constraints.order.emplace_back(from, to);
      const OpId consumer[] = {to};
      if (t % 2 == 0) draft.addTensor(from, consumer, 0, 0);
    }
    const double after = provenOptimum(finished(draft));
    EXPECT_TRUE(near(before, after)) << before << " -> " << after;
  });
}

// On problems too large to be looked at whole: no bound of anybody is above a plan of anybody.
TEST_P(Throughput, NoBoundIsAboveAnyPlan) {
  repeat(2, 8, [](Random& random) {
    const Modes modes = randomPipelineModes(random, static_cast<Contiguity>(random.below(3)));
    PipelineShape shape;
    shape.least_ops = 12;
    shape.most_ops = 24;
    const Problem problem = finished(draftPipeline(random, modes, shape));
    SCOPED_TRACE(describe(problem));
    double value = kInfinity, bound = lowerBound(problem);
    std::string by = "bounds", of;
    const auto take = [&](const SolveOutcome& outcome, std::string_view who) {
      ASSERT_TRUE(outcome.message.empty()) << who << ": " << outcome.message;
      if (!outcome.plan.hasPlan()) return;
      if (outcome.plan.value < value) {
        value = outcome.plan.value;
        of = who;
      }
      if (outcome.plan.bound > bound) {
        bound = outcome.plan.bound;
        by = who;
      }
    };
    RunOptions run = oneThread();
    run.work_limit = 5000;
    take(solve(problem, run), "portfolio");
    for (const Solver& solver : solvers()) {
      if (!solver.accepts(problem)) continue;
      run.solver = solver.name;
      take(solve(problem, run), solver.name);
    }
    EXPECT_LE(bound, value * (1 + kTolerance)) << "bound of " << by << ", plan of " << of;
  });
}

// Same input, seed and options: the same plan for any number of threads, proven or not.
TEST_P(Throughput, ThreadsDoNotChangeThePlan) {
  repeat(4, 9, [](Random& random) {
    const bool large = random.below(2) == 0;
    PipelineShape shape;
    if (large) {
      shape.least_ops = 10;
      shape.most_ops = 20;
    }
    const Modes modes = randomPipelineModes(random, static_cast<Contiguity>(random.below(3)));
    const Problem problem = finished(draftPipeline(random, modes, shape));
    SCOPED_TRACE(describe(problem));
    std::string first;
    for (const std::uint32_t threads : {1u, 2u, 3u}) {
      RunOptions run;
      run.threads = threads;
      run.work_limit = large ? 3000 : 0;
      SolveOutcome outcome = solve(problem, run);
      outcome.plan.seconds = 0;
      outcome.plan.curve.clear();
      const std::string text = writePlan(problem, outcome.plan);
      if (first.empty()) first = text;
      EXPECT_EQ(first, text) << threads << " threads";
    }
  });
}

// With all limits at the largest need of a best plan nothing changes; a byte less is still answered right.
TEST_P(Throughput, MemoryLimitsHoldToTheByte) {
  repeat(10, 10, [](Random& random) {
    Modes modes = randomPipelineModes(random, Contiguity::kChain);
    PipelineShape shape;
    shape.memory_limits = false;
    shape.constraints = false;
    Problem draft = draftPipeline(random, modes, shape);
    const Problem unlimited = finished(draft);
    const SolveOutcome outcome = solve(unlimited, oneThread());
    if (outcome.plan.status == Status::kInfeasible) return;  // no class runs all ops of a unit
    ASSERT_EQ(outcome.plan.status, Status::kOptimal);
    double need = 0;
    for (const DeviceUse& use : outcome.plan.devices) need = std::max(need, use.memory_bytes);
    for (const std::int64_t less : {0, 1}) {
      const auto limit = static_cast<std::int64_t>(need) - less;
      if (limit < 0) continue;
      for (Device& device : draft.cluster.devices) device.memory_bytes = limit;
      const Problem problem = finished(draft);
      SCOPED_TRACE(describe(problem) + ", limit " + std::to_string(limit));
      const double found = provenOptimum(problem);
      const double best = bruteForceChain(problem).value_or(kInfinity);
      EXPECT_TRUE(near(found, best)) << found << " / " << best;
      if (less == 0) {
        EXPECT_TRUE(near(found, outcome.plan.value)) << found << " / " << outcome.plan.value;
      }
    }
  });
}

INSTANTIATE_TEST_SUITE_P(All, Throughput, testing::Range<std::uint64_t>(0, kShards));

}  // namespace
}  // namespace allot
