// The exact search for subgraph calls, against enumeration.
#include <gtest/gtest.h>

#include <cmath>

#include "allot/solve.h"
#include "base/random.h"
#include "check_maker.h"
#include "solve/latency/calls_items.h"
#include "support/brute_force.h"
#include "support/random_problem.h"

namespace allot {
namespace {

// Absent where the problem's transfers do not suit the model (matrices).
std::optional<Problem> callsProblem(std::uint64_t seed, std::uint32_t calls, const RandomLimits& limits) {
  Problem problem = randomProblem(seed, Goal::kLatency, limits);
  Modes modes = problem.modes;
  modes.model = LatencyModel::kSubgraphCalls;
  modes.calls = calls;
  modes.memory = MemoryModel::kStatic;
  if (!problem.setModes(modes)) return std::nullopt;
  return problem;
}

SolveOutcome solveBy(const Problem& problem, const char* solver) {
  RunOptions run;
  run.solver = solver;
  run.threads = 1;
  return solve(problem, run);
}

struct Counts {
  int plans = 0, proven = 0, none = 0;
};

void compare(const Problem& problem, std::optional<double> best, std::uint64_t seed, Counts& counts) {
  const SolveOutcome outcome = solveBy(problem, "calls");
  ASSERT_EQ(outcome.message, "") << describe(problem) << " seed " << seed;
  const Plan& plan = outcome.plan;
  if (!best) {
    EXPECT_FALSE(plan.hasPlan()) << describe(problem) << " seed " << seed;
    counts.none += plan.status == Status::kInfeasible;
    return;
  }
  ASSERT_NE(plan.status, Status::kInfeasible) << describe(problem) << " seed " << seed << plan.proof;
  ++counts.plans;
  if (plan.hasPlan()) {
    EXPECT_LE(plan.bound, *best + 1e-9) << describe(problem) << " seed " << seed;
    EXPECT_GE(plan.value, *best - 1e-9) << describe(problem) << " seed " << seed;
  }
  if (plan.status != Status::kOptimal) return;
  ++counts.proven;
  EXPECT_NEAR(plan.value, *best, 1e-9) << describe(problem) << " seed " << seed;
}

TEST(CallsSolver, AgreeWithEnumerationOnTinyProblems) {
  for (const std::uint32_t calls : {1u, 2u, 3u}) {
    Counts counts;
    for (std::uint64_t seed = 0; seed < 1500; ++seed) {
      const auto problem = callsProblem(seed, calls, {calls == 3 ? 4u : 5u, 3});
      if (problem) compare(*problem, bruteForce(*problem), seed, counts);
    }
    if (calls == 1)
      EXPECT_GT(counts.proven, counts.plans * 9 / 10);
    else
      EXPECT_GT(counts.proven, counts.plans / 2);
    EXPECT_GT(counts.none, 0);
  }
}

TEST(CallsSolver, AgreeWithTheExhaustiveSearchOnLargerOnes) {
  Counts counts;
  for (std::uint64_t seed = 10'000; seed < 11'000; ++seed) {
    const auto problem = callsProblem(seed, 1, {8, 3});
    if (!problem) continue;
    const Plan all = solveBy(*problem, "exhaustive").plan;
    if (all.status == Status::kNoPlan || all.status == Status::kBadInput) continue;
    compare(*problem, all.hasPlan() ? std::optional(all.value) : std::nullopt, seed, counts);
  }
  EXPECT_GT(counts.proven, 200);
}

// in (cpu, 4 s) -> p -> q -> out (cpu, 8 s), q also reads in; accelerator 1 s and 2 s. One call of p and q
// starts at 4 and takes 0.5 (in) + 3 + 0.125 (q's output): out ends at 15.625. Nothing else is as early:
// either op on the cpu takes 9 s.
TEST(CallsSolver, FindTheOneCall) {
  Maker m;
  m.cls("acc", DeviceKind::kAccelerator);
  m.cls("cpu", DeviceKind::kCpu);
  m.device("acc0", 0, 10);
  m.device("cpu0", 1);
  const OpId in = m.op("in", {kCannotRun, 4}), p = m.op("p", {1, 9}), q = m.op("q", {2, 9});
  const OpId out = m.op("out", {9, 8});
  m.tensor(in, {p, q}, 0.5);
  m.tensor(p, {q}, 0.25);
  m.tensor(q, {out}, 0.125);
  m.problem.modes.model = LatencyModel::kSubgraphCalls;
  m.finish(Goal::kLatency);
  const SolveOutcome outcome = solveBy(m.problem, "calls");
  EXPECT_EQ(outcome.plan.status, Status::kOptimal);
  EXPECT_DOUBLE_EQ(outcome.plan.value, 15.625);
}

// A wide graph has far too many ideals: the search ends with the time, with a plan and a sound bound.
Problem wideProblem() {
  Maker m;
  m.cls("acc", DeviceKind::kAccelerator);
  m.cls("cpu", DeviceKind::kCpu);
  for (int d = 0; d < 4; ++d) m.device("acc" + std::to_string(d), 0, 40);
  m.device("cpu0", 1);
  Random random(7, 0);
  std::vector<OpId> ops;
  std::vector<std::vector<OpId>> readers(120);
  for (std::uint32_t i = 0; i < 120; ++i) {
    ops.push_back(m.op("op" + std::to_string(i), {1 + 0.25 * random.below(4), 4 + 0.25 * random.below(16)}));
    m.problem.graph.op_memory_bytes[i] = 1 + random.below(4);
    if (i >= 12) readers[i - 12 + random.below(10)].push_back(ops[i]);
  }
  for (std::uint32_t i = 0; i < 120; ++i) {
    if (!readers[i].empty()) m.tensor(ops[i], readers[i], 0.25 * random.below(8));
  }
  m.problem.modes.model = LatencyModel::kSubgraphCalls;
  m.finish(Goal::kLatency);
  return std::move(m.problem);
}

TEST(CallsSolver, EndWithTheTime) {
  const Problem problem = wideProblem();
  RunOptions run;
  run.solver = "calls";
  run.threads = 1;
  run.time_limit_seconds = 0.5;
  const SolveOutcome outcome = solve(problem, run);
  EXPECT_EQ(outcome.message, "");
  EXPECT_LT(outcome.plan.seconds, 2);
  EXPECT_TRUE(outcome.plan.time_limited);
}

TEST(CallsSolver, RepeatUnderAWorkLimit) {
  const Problem problem = wideProblem();
  RunOptions run;
  run.solver = "calls";
  run.work_limit = 20;
  const Plan once = solve(problem, run).plan;
  run.threads = 2;
  const Plan again = solve(problem, run).plan;
  EXPECT_EQ(once.value, again.value);
  EXPECT_EQ(once.bound, again.bound);
  EXPECT_EQ(once.assignment, again.assignment);
}

// A unit of weights, op and output acts as one op; its ops are one item when there is one call per
// accelerator and apart when there may be more.
TEST(CallsSolver, JoinUnitsThatActAsOne) {
  Maker m;
  m.cls("acc", DeviceKind::kAccelerator);
  m.cls("cpu", DeviceKind::kCpu);
  m.device("acc0", 0);
  m.device("cpu0", 1);
  const OpId in = m.op("in", {1, 2}), weights = m.op("weights", {0, 0}), op = m.op("op", {1, 5});
  const OpId result = m.op("result", {0, 0}), next = m.op("next", {1, 3});
  m.tensor(in, {op}, 1);
  m.tensor(weights, {op}, 1);
  m.tensor(op, {result}, 0.125);
  m.tensor(result, {next}, 1);
  m.problem.constraints.together = {{weights, op, result}};
  m.problem.modes.model = LatencyModel::kSubgraphCalls;
  m.finish(Goal::kLatency);
  EXPECT_EQ(CallItems(m.problem, true).itemCount(), 3u);
  const CallItems apart(m.problem, false);
  EXPECT_EQ(apart.itemCount(), 4u);  // the weights go with the op, the result may go elsewhere
  EXPECT_EQ(apart.tie_count, 1u);
}

}  // namespace
}  // namespace allot
