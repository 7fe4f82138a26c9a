// Memory terms that do not add up op by op (shared weights, model inputs, live memory under throughput), by
// hand and at random: the evaluator, the relaxed problem that engines get, and what the portfolio makes of
// it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "allot/allot.h"
#include "support/random_problem.h"
#include "support/scale.h"

namespace allot {
namespace {

// Ops of 1 s in a row on `devices` like devices of `memory` bytes each; `bytes` are those of the tensors
// between.
Problem chainOf(const std::vector<std::int64_t>& bytes, std::size_t devices,
                std::optional<std::int64_t> memory) {
  Problem p;
  p.name = "chain";
  p.cluster.classes.push_back({.name = "gpu"});
  for (std::size_t d = 0; d < devices; ++d)
    p.cluster.devices.push_back({fmt::format("d{}", d), ClassId(0), memory, {}});
  p.cluster.links.push_back({LinkEnd::kAny, LinkEnd::kAny, 0, 0, 0.25, 100});
  for (std::size_t i = 0; i <= bytes.size(); ++i) {
    p.graph.addOp(std::string(1, static_cast<char>('a' + i)));
    p.op_seconds.push_back(1);
  }
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const OpId to[] = {OpId(i + 1)};
    p.addTensor(OpId(i), to, bytes[i], 0.0);
  }
  p.modes.goal = Goal::kThroughput;
  p.modes.transfers = Transfers::kViaHost;
  p.modes.memory = MemoryModel::kLive;
  return p;
}

Plan on(const std::vector<std::uint32_t>& devices) {
  Plan plan;
  for (const std::uint32_t d : devices) plan.assignment.emplace_back(d);
  return plan;
}

double bytesOf(const Problem& problem, const std::vector<std::uint32_t>& devices, std::size_t device) {
  return evaluate(problem, on(devices)).plan.devices[device].memory_bytes;
}

TEST(LiveThroughput, IsWorthWhatThePageSays) {
  Problem p = chainOf({10, 20}, 2, std::nullopt);
  p.graph.op_workspace_bytes[1] = 3;
  p.addTensor(OpId(2), {}, 5, 0.0);
  ASSERT_TRUE(p.finish());
  EXPECT_EQ(bytesOf(p, {0, 0, 0}, 0), 33);
  EXPECT_EQ(bytesOf(p, {0, 1, 1}, 0), 10);
  EXPECT_EQ(bytesOf(p, {0, 1, 1}, 1), 43);
  // What b makes is sent: it stays to the device's last op. What c receives is there once more for the next.
  EXPECT_EQ(bytesOf(p, {0, 0, 1}, 0), 33);
  EXPECT_EQ(bytesOf(p, {0, 0, 1}, 1), 45);
}

TEST(LiveThroughput, InputsLieFromTheFirstOpToTheirLastReader) {
  Problem p = chainOf({1, 1, 1}, 2, std::nullopt);
  const OpId readers[] = {OpId(2)};
  p.graph.addInput(100, readers);
  ASSERT_TRUE(p.finish());
  EXPECT_EQ(bytesOf(p, {0, 0, 0, 0}, 0), 102);  // while b or c runs: the input and two tensors
  EXPECT_EQ(bytesOf(p, {0, 0, 1, 1}, 1), 103);  // no device sends it, so it is there once
}

TEST(LiveThroughput, TheOrderHintDecides) {
  Problem p = chainOf({}, 1, std::nullopt);
  for (const char* name : {"b", "c", "d"}) {
    p.graph.addOp(name);
    p.op_seconds.push_back(1);
  }
  const OpId c[] = {OpId(2)}, d[] = {OpId(3)};
  p.addTensor(OpId(0), c, 10, 0.0);  // a feeds c, b feeds d
  p.addTensor(OpId(1), d, 10, 0.0);
  Problem hinted = p;
  hinted.graph.order_hint = {OpId(0), OpId(2), OpId(1), OpId(3)};
  ASSERT_TRUE(p.finish());
  ASSERT_TRUE(hinted.finish());
  EXPECT_EQ(bytesOf(p, {0, 0, 0, 0}, 0), 20);
  EXPECT_EQ(bytesOf(hinted, {0, 0, 0, 0}, 0), 10);
  Problem wrong = chainOf({1}, 1, std::nullopt);
  wrong.graph.order_hint = {OpId(1), OpId(0)};
  EXPECT_FALSE(wrong.finish());
}

TEST(LiveThroughput, AnOpThatFitsNowhereIsInfeasible) {
  Problem p = chainOf({30, 30}, 2, 50);
  ASSERT_TRUE(p.finish());
  RunOptions run;
  run.time_limit_seconds = 5;
  const SolveOutcome outcome = solve(p, run);
  EXPECT_EQ(outcome.plan.status, Status::kInfeasible);
  ASSERT_FALSE(outcome.conflict.facts.empty());
  EXPECT_NE(outcome.conflict.facts[0].find("\"b\""), std::string::npos) << outcome.conflict.facts[0];
}

TEST(LiveThroughput, PlansFitWhereResidentBytesAloneWouldMislead) {
  // Twelve ops with 8 bytes of weights each, tensors of 20. A stage of n ops that is fed holds 8 n + 60 bytes
  // (what it receives twice), the first one 8 n + 40.
  for (const auto& [memory, value] : {std::pair{92, 4}, std::pair{90, 6}}) {
    Problem p = chainOf(std::vector<std::int64_t>(11, 20), 3, memory);
    for (std::int64_t& weights : p.graph.op_weight_bytes) weights = 8;
    ASSERT_TRUE(p.finish());
    RunOptions run;
    run.time_limit_seconds = 10;
    const SolveOutcome outcome = solve(p, run);
    ASSERT_TRUE(outcome.plan.hasPlan()) << outcome.message;
    EXPECT_EQ(outcome.plan.value, value);
  }
}

TEST(SharedWeights, ADeviceHoldsABlockOnce) {
  Problem p = chainOf({0, 0}, 2, std::nullopt);
  p.modes.memory = MemoryModel::kStatic;
  p.modes.optimizer_factor = 2;
  const OpId readers[] = {OpId(0), OpId(2)};
  p.graph.addBlock("embedding", 100, readers);
  p.graph.op_weight_bytes[1] = 7;
  ASSERT_TRUE(p.finish());
  EXPECT_EQ(bytesOf(p, {0, 0, 0}, 0), 214);
  EXPECT_EQ(bytesOf(p, {0, 0, 1}, 0), 214);
  EXPECT_EQ(bytesOf(p, {0, 0, 1}, 1), 200);
}

TEST(SharedWeights, CopiesInTrainingAgreeAfterEachStep) {
  Problem p = chainOf({0, 0}, 2, std::nullopt);
  p.modes.memory = MemoryModel::kStatic;
  p.graph.op_phase[2] = Phase::kBackward;
  const OpId readers[] = {OpId(0), OpId(2)};
  p.graph.addBlock("embedding", 100, readers);
  ASSERT_TRUE(p.finish());
  // 1 s and 2 s of work, and 2 x 1/2 x 100/100 + 2 x 0.25 s on both devices.
  EXPECT_DOUBLE_EQ(evaluate(p, on({0, 0, 1})).plan.value, 3.5);
  EXPECT_DOUBLE_EQ(evaluate(p, on({0, 0, 0})).plan.value, 3);
}

class MemoryTerms : public testing::TestWithParam<Goal> {};

// What holds here holds in the relaxed problem, and is worth no less here.
TEST_P(MemoryTerms, EveryPlanIsAPlanOfTheRelaxedProblem) {
  std::size_t valid = 0, terms = 0;
  for (std::uint64_t seed = 0; seed < scaled(1500); ++seed) {
    const Problem problem = randomProblem(seed, GetParam(), {6, 3, true});
    const Problem relaxed = problem.relaxed();
    SCOPED_TRACE("seed " + std::to_string(seed) + ", " + describe(problem));
    Random random(seed, 9);
    for (int draw = 0; draw < 8; ++draw) {
      Plan decisions;
      decisions.assignment.resize(problem.opCount());
      bool runs = true;
      for (std::size_t u = 0; u < problem.unitCount(); ++u) {
        const DeviceId device(random.below(static_cast<std::uint32_t>(problem.deviceCount())));
        for (const OpId op : problem.unitOps(UnitId(u))) {
          decisions.assignment[op.index()] = device;
          runs = runs && problem.opSeconds(op, device) != kCannotRun;
        }
      }
      if (!runs) continue;
      const Evaluation here = evaluate(problem, decisions);
      if (!here.valid()) continue;
      const Evaluation there = evaluate(relaxed, decisions);
      EXPECT_TRUE(there.valid()) << there.violations.front();
      EXPECT_LE(there.plan.value, here.plan.value * (1 + 1e-12));
      if (problem.relaxedIsExact()) {
        EXPECT_EQ(there.plan.value, here.plan.value);
      }
      ++valid;
      terms += problem.relaxedIsExact() ? 0 : 1;
    }
    if (HasFailure()) return;
  }
  EXPECT_GT(valid, scaled(500));
  EXPECT_GT(terms, scaled(100));
}

// Engines work on the relaxed problem, the exhaustive search on the true one.
TEST_P(MemoryTerms, BoundsAndValuesKeepToTheOptimum) {
  std::size_t compared = 0;
  for (std::uint64_t seed = 5000; seed < 5000 + scaled(150); ++seed) {
    const Problem problem = randomProblem(seed, GetParam(), {4, 3, true});
    if (problem.relaxedIsExact()) continue;
    SCOPED_TRACE("seed " + std::to_string(seed) + ", " + describe(problem));
    RunOptions run;
    run.threads = 1;
    run.time_limit_seconds = 2;
    run.solver = "exhaustive";
    const SolveOutcome best = solve(problem, run);
    ASSERT_TRUE(best.message.empty()) << best.message;
    if (best.plan.status != Status::kOptimal && best.plan.status != Status::kInfeasible) continue;
    ++compared;
    for (const Solver& solver : solvers()) {
      if (solver.name == "exhaustive" || !solver.accepts(problem)) continue;
      RunOptions one = run;
      one.work_limit = 2'000;
      one.solver = solver.name;
      const SolveOutcome outcome = solve(problem, one);
      ASSERT_TRUE(outcome.message.empty()) << solver.name << ": " << outcome.message;
      if (best.plan.status == Status::kInfeasible) {
        EXPECT_FALSE(outcome.plan.hasPlan()) << solver.name;
        continue;
      }
      EXPECT_NE(outcome.plan.status, Status::kInfeasible) << solver.name;
      EXPECT_LE(outcome.plan.bound, best.plan.value * (1 + 1e-9)) << solver.name;
      if (outcome.plan.hasPlan()) EXPECT_GE(outcome.plan.value, best.plan.value * (1 - 1e-9)) << solver.name;
    }
    if (HasFailure()) return;
  }
  EXPECT_GT(compared, scaled(15));
}

INSTANTIATE_TEST_SUITE_P(AllGoals, MemoryTerms,
                         testing::Values(Goal::kThroughput, Goal::kLatency, Goal::kCompletion),
                         [](const auto& info) { return std::string(name(info.param)); });

}  // namespace
}  // namespace allot
