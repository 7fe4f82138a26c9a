// The exact engine for contiguous stages alone: optima of enumeration, barriers, tables, proofs, threads.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

#include "allot/allot.h"
#include "allot/prove.h"
#include "allot/table.h"
#include "base/random.h"
#include "support/random_pipeline.h"
#include "support/random_problem.h"
#include "support/scale.h"
#include "support/stop_time.h"
#include "support/wide_graphs.h"

namespace allot {
namespace {

bool near(double a, double b) {
  return std::fabs(a - b) <= 1e-9 * std::max({1e-30, std::fabs(a), std::fabs(b)});
}

RunOptions chainOnly(std::uint32_t threads = 1) {
  RunOptions run;
  run.threads = threads;
  run.solver = "chain";
  return run;
}

// Without any other solver's plan as a cut-off: what it finds is its own.
TEST(ChainEngine, FindsTheOptimumOfEnumerationAlone) {
  for (std::uint64_t seed = 0; seed < scaled(1500); ++seed) {
    Random random(seed, 11);
    const Modes modes = randomPipelineModes(random, Contiguity::kChain);
    const Problem problem = finished(draftPipeline(random, modes, {}));
    if (problem.transfers() != Transfers::kViaHost) continue;
    SCOPED_TRACE("seed " + std::to_string(seed) + ", " + describe(problem));
    const SolveOutcome outcome = solve(problem, chainOnly());
    ASSERT_TRUE(outcome.message.empty()) << outcome.message;
    const std::optional<double> best = bruteForceChain(problem);
    if (!best) {
      EXPECT_EQ(outcome.plan.status, Status::kInfeasible);
      continue;
    }
    ASSERT_EQ(outcome.plan.status, Status::kOptimal) << outcome.plan.value << " / " << outcome.plan.bound;
    EXPECT_TRUE(near(outcome.plan.value, *best)) << outcome.plan.value << " / " << *best;
  }
}

// Under by-link transfers it bounds.
TEST(ChainEngine, BoundsLoadsByLink) {
  for (std::uint64_t seed = 0; seed < scaled(1500); ++seed) {
    Random random(seed, 12);
    Modes modes = randomPipelineModes(random, Contiguity::kChain);
    modes.transfers = Transfers::kByLink;
    const Problem problem = finished(draftPipeline(random, modes, {}));
    SCOPED_TRACE("seed " + std::to_string(seed) + ", " + describe(problem));
    const SolveOutcome outcome = solve(problem, chainOnly());
    ASSERT_TRUE(outcome.message.empty()) << outcome.message;
    const std::optional<double> best = bruteForceChain(problem);
    if (!best || !outcome.plan.hasPlan()) continue;
    EXPECT_GE(outcome.plan.value, *best * (1 - 1e-9));
    EXPECT_LE(outcome.plan.bound, *best * (1 + 1e-9));
  }
}

// Modules of parallel branches between single ops: walks end at barriers.
Problem modules(std::uint32_t count, std::uint32_t branches, std::uint32_t length, std::uint32_t devices,
                std::uint64_t seed) {
  Random random(seed, 13);
  Problem problem;
  problem.name = "modules";
  problem.graph.model_name = {"m"};
  problem.cluster.classes = {{"acc", DeviceKind::kAccelerator}, {"cpu", DeviceKind::kCpu}};
  for (std::uint32_t d = 0; d < devices; ++d)
    problem.cluster.devices.push_back({"acc" + std::to_string(d), ClassId(0u), std::nullopt, HostId()});
  problem.cluster.devices.push_back({"cpu0", ClassId(1u), std::nullopt, HostId()});
  const auto add = [&] {
    const OpId op = problem.graph.addOp("op" + std::to_string(problem.graph.opCount()));
    const double seconds = 1 + random.unit() * 4;
    problem.op_seconds.insert(problem.op_seconds.end(), {seconds, 8 * seconds});
    return op;
  };
  const auto link = [&](OpId from, std::vector<OpId> to) {
    problem.addTensor(from, to, 0, 0.1 + random.unit());
  };
  OpId last = add();
  for (std::uint32_t m = 0; m < count; ++m) {
    std::vector<OpId> heads, tails;
    for (std::uint32_t b = 0; b < branches; ++b) {
      OpId op = add();
      heads.push_back(op);
      for (std::uint32_t i = 1; i < length; ++i) {
        const OpId next = add();
        link(op, {next});
        op = next;
      }
      tails.push_back(op);
    }
    link(last, heads);
    last = add();
    for (const OpId tail : tails) link(tail, {last});
  }
  problem.model_weight = {1};
  problem.model_release = {0};
  problem.modes.goal = Goal::kThroughput;
  EXPECT_TRUE(problem.finish());
  return problem;
}

TEST(ChainEngine, BarriersDoNotChangeTheValue) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const Problem problem = modules(2, 2, 1, 2, seed);
    const SolveOutcome outcome = solve(problem, chainOnly());
    ASSERT_EQ(outcome.plan.status, Status::kOptimal) << outcome.message;
    EXPECT_TRUE(near(outcome.plan.value, bruteForceChain(problem).value())) << "seed " << seed;
  }
}

TEST(ChainEngine, ThreadsDoNotChangeThePlan) {
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    const Problem problem = modules(5, 4, 3, 5, seed);
    std::string first;
    for (const std::uint32_t threads : {1u, 2u, 3u}) {
      SolveOutcome outcome = solve(problem, chainOnly(threads));
      ASSERT_EQ(outcome.plan.status, Status::kOptimal);
      outcome.plan.seconds = 0;
      outcome.plan.curve.clear();
      const std::string text = writePlan(problem, outcome.plan);
      if (first.empty()) first = text;
      EXPECT_EQ(first, text);
    }
  }
}

// Walks long enough that threads hand parts of them to each other, with one kind of devices and with three.
TEST(ChainEngine, ThreadsShareLongWalksAlike) {
  for (const bool unlike : {false, true}) {
    WideOptions options;
    options.devices = 4;
    options.unlike = unlike;
    const auto problem = branchGraph(4, 6, options);
    ASSERT_TRUE(problem);
    const SolveOutcome alone = solve(*problem, chainOnly(1));
    ASSERT_EQ(alone.plan.status, Status::kOptimal);
    for (const std::uint32_t threads : {2u, 3u}) {
      for (int again = 0; again < 3; ++again) {
        const SolveOutcome shared = solve(*problem, chainOnly(threads));
        EXPECT_EQ(shared.plan.value, alone.plan.value);
        EXPECT_EQ(shared.plan.assignment, alone.plan.assignment);
        EXPECT_EQ(shared.plan.proof, alone.plan.proof);
      }
    }
  }
}

TEST(ChainEngine, StopsInTime) {
  const Problem problem = modules(6, 9, 6, 6, 1);
  RunOptions run = chainOnly();
  run.time_limit_seconds = 0.2;
  const SolveOutcome outcome = solve(problem, run);
  EXPECT_LT(outcome.plan.seconds, 1.5);  // far more than the 50 ms of the contract: other tests run beside
}

// Every row is the optimum of the cluster it names.
TEST(ChainTable, RowsAreOptimaOfSmallerClusters) {
  int compared = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    Random random(seed, 14);
    Modes modes = randomPipelineModes(random, Contiguity::kChain);
    modes.transfers = Transfers::kViaHost;
    PipelineShape shape;
    shape.most_ops = 5;
    shape.devices = 4;
    shape.constraints = false;
    const Problem draft = draftPipeline(random, modes, shape);
    const Problem problem = finished(draft);
    SCOPED_TRACE("seed " + std::to_string(seed) + ", " + describe(problem));
    RunOptions run;
    run.threads = 1;
    const auto table = compositionTable(problem, run);
    ASSERT_TRUE(table) << table.error().message;
    if (table->kinds.size() != problem.cluster.classCount()) continue;  // kinds are classes here, or skip
    for (const CompositionRow& row : table->rows) {
      ASSERT_NE(row.status, Status::kNoPlan);
      Problem part = draft;
      std::vector<std::uint32_t> left = row.counts;
      // Rows count kinds in the order of their first devices.
      std::vector<std::uint32_t> kind_of_class(problem.cluster.classCount(), UINT32_MAX);
      std::uint32_t kinds = 0;
      for (std::size_t d = 0; d < problem.deviceCount(); ++d) {
        std::uint32_t& kind = kind_of_class[problem.cluster.devices[d].cls.index()];
        if (kind == UINT32_MAX) kind = kinds++;
        if (left[kind] > 0) {
          --left[kind];
          continue;
        }
        for (std::size_t op = 0; op < problem.opCount(); ++op)
          part.constraints.forbid.emplace_back(OpId(op), DeviceId(d));
      }
      const std::optional<double> best = bruteForceChain(finished(part));
      ASSERT_EQ(row.status == Status::kOptimal, best.has_value());
      if (best) EXPECT_TRUE(near(row.value, *best)) << row.value << " / " << *best;
      ++compared;
    }
  }
  EXPECT_GT(compared, 100);
}

TEST(ChainTable, NeedsChains) {
  Problem problem = modules(1, 2, 1, 2, 1);
  Modes modes = problem.modes;
  modes.contiguity = Contiguity::kNone;
  ASSERT_TRUE(problem.setModes(modes));
  EXPECT_FALSE(compositionTable(problem, {}));
}

// Nearly every op of a long chain is a barrier, with many arrivals and short walks between them.
TEST(ChainEngine, StopsOnLongChains) {
  Problem problem;
  Random random(5);
  problem.cluster.classes = {{.name = "fast"}, {.name = "slow"}, {.name = "cpu", .kind = DeviceKind::kCpu}};
  for (std::uint32_t d = 0; d < 9; ++d)
    problem.cluster.devices.push_back(
        {.name = "d" + std::to_string(d), .cls = ClassId(d / 4), .memory_bytes = {}, .host = {}});
  constexpr std::size_t kOps = 5000;
  for (std::size_t i = 0; i < kOps; ++i) {
    problem.graph.addOp("o" + std::to_string(i));
    for (const std::uint32_t most : {100, 200, 1000}) problem.op_seconds.push_back(1 + random.below(most));
  }
  for (std::size_t i = 0; i + 1 < kOps; ++i) {
    const OpId next(i + 1);
    problem.addTensor(OpId(i), {&next, 1}, 1, 1 + random.below(10));
  }
  problem.modes.goal = Goal::kThroughput;
  ASSERT_TRUE(problem.finish());
  RunOptions run = chainOnly();
  run.time_limit_seconds = 60;
  EXPECT_LT(stopAfter(problem, run, 0.5).seconds, kStopAllowance);
}

TEST(Prove, ProvesASmallOptimumByAnotherRoute) {
  const Problem problem = modules(1, 2, 1, 2, 3);
  const SolveOutcome outcome = solve(problem, chainOnly());
  ASSERT_EQ(outcome.plan.status, Status::kOptimal);
  EXPECT_TRUE(outcome.plan.proof.starts_with("chain: ")) << outcome.plan.proof;
  const ProofAgain again = proveAgain(problem, outcome.plan, {});
  EXPECT_TRUE(again.proved);
  EXPECT_NE(again.by, "chain");
}

TEST(Prove, FindsThatAPlanIsNotOptimal) {
  const Problem problem = modules(1, 2, 1, 2, 3);
  Plan plan;
  plan.modes = problem.modes;
  plan.assignment.assign(problem.opCount(), DeviceId(0u));
  plan = evaluate(problem, plan).plan;
  plan.status = Status::kOptimal;
  const ProofAgain again = proveAgain(problem, plan, {});
  EXPECT_FALSE(again.proved);
  EXPECT_LT(again.better, plan.value);
}

}  // namespace
}  // namespace allot
