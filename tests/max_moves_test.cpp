// Plans with few moves away from a start plan: against brute force, the checker, and the curve of gains; and
// idle time between plans of equal value.
#include "allot/moves.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "allot/check.h"
#include "allot/evaluate.h"
#include "base/random.h"
#include "problem/idle.h"
#include "support/brute_force.h"
#include "support/online_problem.h"
#include "support/random_problem.h"

namespace allot {
namespace {

RunOptions withMoves(std::uint32_t moves, std::uint64_t work = 2000) {
  RunOptions run;
  run.max_moves = moves;
  run.work_limit = work;
  run.threads = 1;
  run.helpers = Helpers::kOff;
  return run;
}

// Some placement that keeps the constraints, memory aside.
Plan randomStart(const Problem& problem, std::uint64_t seed) {
  Random random(seed, 5);
  Plan plan;
  plan.modes = problem.modes;
  plan.assignment.resize(problem.opCount());
  for (std::size_t u = 0; u < problem.unitCount(); ++u) {
    std::vector<DeviceId> allowed;
    for (std::size_t d = 0; d < problem.deviceCount(); ++d) {
      if (problem.allowed(UnitId(u), DeviceId(d))) allowed.push_back(DeviceId(d));
    }
    if (allowed.empty()) return {};
    const DeviceId device = allowed[random.below(static_cast<std::uint32_t>(allowed.size()))];
    for (const OpId op : problem.unitOps(UnitId(u))) plan.assignment[op.index()] = device;
  }
  return plan;
}

// Least value over all placements within the limit, by plain enumeration.
std::optional<double> bruteForceLimited(const Problem& problem, const std::vector<DeviceId>& base,
                                        std::uint32_t most) {
  std::optional<double> best;
  std::vector<DeviceId> assignment(problem.opCount(), DeviceId(0));
  for (;;) {
    std::uint32_t moves = 0;
    bool allowed = true;
    for (std::size_t i = 0; i < assignment.size(); ++i) {
      moves += assignment[i] != base[i];
      allowed = allowed && problem.allowed(problem.unit(OpId(i)), assignment[i]);
    }
    if (allowed && moves <= most) {
      Problem pinned = problem;
      Constraints constraints = problem.constraints;
      constraints.pin.clear();
      constraints.forbid.clear();
      for (std::size_t i = 0; i < assignment.size(); ++i)
        constraints.pin.emplace_back(OpId(i), assignment[i]);
      pinned.replacePlacement(std::move(constraints));
      const auto value = bruteForce(pinned);
      if (value && (!best || *value < *best)) best = value;
    }
    std::size_t i = 0;
    for (; i < assignment.size(); ++i) {
      assignment[i] = DeviceId(assignment[i].index() + 1);
      if (assignment[i].index() < problem.deviceCount()) break;
      assignment[i] = DeviceId(0);
    }
    if (i == assignment.size()) return best;
  }
}

TEST(MaxMoves, EqualsBruteForce) {
  std::size_t solved = 0;
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    const Problem problem = randomProblem(seed, Goal::kCompletion, {4, 3, true});
    if (problem.modes.memory != MemoryModel::kStatic) continue;
    const Plan start = randomStart(problem, seed);
    if (start.assignment.empty()) continue;
    const auto most = static_cast<std::uint32_t>(seed % 4);
    const auto expected = bruteForceLimited(problem, start.assignment, most);
    std::vector<MovePoint> curve;
    const SolveOutcome outcome = solveLimited(problem, withMoves(most), &start, nullptr, {}, &curve);
    ASSERT_EQ(outcome.message, "") << seed << ' ' << describe(problem);
    ASSERT_EQ(outcome.plan.hasPlan(), expected.has_value()) << seed << ' ' << describe(problem);
    if (!expected) continue;
    ++solved;
    EXPECT_NEAR(outcome.plan.value, *expected, 1e-9 * (1 + *expected)) << seed << ' ' << describe(problem);
    EXPECT_EQ(outcome.plan.status, Status::kOptimal) << seed;
    EXPECT_TRUE(checkMoves(problem, outcome.plan, start.assignment, most).empty()) << seed;
  }
  EXPECT_GT(solved, 50u);
}

TEST(MaxMoves, BoundsHoldUnderLiveMemory) {
  for (std::uint64_t seed = 0; seed < 120; ++seed) {
    const Problem problem = randomProblem(seed, Goal::kCompletion, {3, 2, true});
    if (problem.modes.memory != MemoryModel::kLive) continue;
    const Plan start = randomStart(problem, seed);
    if (start.assignment.empty()) continue;
    const SolveOutcome outcome = solveLimited(problem, withMoves(1, 200), &start, nullptr, {}, nullptr);
    ASSERT_EQ(outcome.message, "") << seed;
    if (!outcome.plan.hasPlan()) continue;
    const auto expected = bruteForceLimited(problem, start.assignment, 1);
    ASSERT_TRUE(expected) << seed;
    EXPECT_GE(outcome.plan.value, *expected * (1 - 1e-9)) << seed;
    EXPECT_LE(outcome.plan.bound, *expected * (1 + 1e-9)) << seed;
  }
}

// Too large for enumeration: the limit is kept, the curve falls, and the start plan is never undercut.
TEST(MaxMoves, LargerProblems) {
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    OnlineShape shape = randomShape(seed);
    shape.models = 4;
    shape.ops = 10;
    shape.devices = 3;
    shape.memory = false;
    const Problem problem = onlineProblem(seed, shape);
    const Plan start = randomStart(problem, seed);
    const double before = evaluate(problem, start).plan.value;
    std::vector<MovePoint> curve;
    const SolveOutcome outcome = solveLimited(problem, withMoves(20), &start, nullptr, {}, &curve);
    ASSERT_EQ(outcome.message, "");
    ASSERT_TRUE(outcome.plan.hasPlan());
    EXPECT_LE(countMoves(start.assignment, outcome.plan.assignment), 20u);
    EXPECT_LE(outcome.plan.value, before * (1 + 1e-12));
    EXPECT_EQ(curve.front().moves, 0u);
    EXPECT_EQ(curve.back().moves, 20u);
    EXPECT_LE(curve.front().value, before * (1 + 1e-12));
    for (std::size_t k = 1; k < curve.size(); ++k) EXPECT_LE(curve[k].value, curve[k - 1].value) << k;
    EXPECT_EQ(curve.back().value, outcome.plan.value);
    EXPECT_GE(outcome.plan.value, outcome.plan.bound);
    // Without a limit in effect the plan is as good as any.
    const SolveOutcome all = solveLimited(problem, withMoves(1000), &start, nullptr, {}, nullptr);
    EXPECT_LE(all.plan.value, outcome.plan.value * (1 + 1e-12));
  }
}

TEST(MaxMoves, TheSameForAnyNumberOfThreads) {
  OnlineShape shape;
  shape.ops = 12;
  const Problem problem = onlineProblem(3, shape);
  const Plan start = randomStart(problem, 3);
  RunOptions run = withMoves(5, 500);
  const Plan one = solveLimited(problem, run, &start, nullptr, {}, nullptr).plan;
  run.threads = 4;
  const Plan four = solveLimited(problem, run, &start, nullptr, {}, nullptr).plan;
  EXPECT_EQ(one.assignment, four.assignment);
  EXPECT_EQ(one.start, four.start);
}

TEST(MaxMoves, SolveTakesTheLimit) {
  const Problem problem = onlineProblem(4, {});
  const Plan start = randomStart(problem, 4);
  const SolveOutcome outcome = solve(problem, withMoves(2, 200), &start);
  ASSERT_TRUE(outcome.plan.hasPlan());
  EXPECT_LE(countMoves(start.assignment, outcome.plan.assignment), 2u);
  EXPECT_EQ(solve(problem, withMoves(2, 200)).plan.status, Status::kBadInput);
}

TEST(MaxMoves, TheCheckerCounts) {
  const Problem problem = onlineProblem(4, {});
  Plan start = randomStart(problem, 4);
  Plan plan = evaluate(problem, start).plan;
  EXPECT_TRUE(checkMoves(problem, plan, start.assignment, 0).empty());
  for (std::size_t i = 0; i < 3; ++i)
    start.assignment[i] = DeviceId(start.assignment[i].index() == 0 ? 1 : 0);
  EXPECT_TRUE(checkMoves(problem, plan, start.assignment, 3).empty());
  EXPECT_EQ(checkMoves(problem, plan, start.assignment, 2).size(), 1u);
  start.assignment.pop_back();
  EXPECT_EQ(checkMoves(problem, plan, start.assignment, 9).size(), 1u);
}

// One model of one long op; two short ops of another can share its device or use one of their own for ever.
TEST(IdleTime, BreaksTies) {
  OnlineShape shape;
  shape.models = 2;
  shape.ops = 1;
  shape.devices = 2;
  Problem problem = onlineProblem(1, shape);
  problem.op_seconds = {9, 4, 4, 4};  // [op][cpu, gpu]
  problem.model_weight = {1, 0};      // the second may end whenever it likes
  ASSERT_TRUE(problem.finish());
  RunOptions run;
  run.work_limit = 500;
  run.threads = 1;
  const Plan plan = solve(problem, run).plan;
  EXPECT_EQ(plan.value, 4);
  // On the gpu first, then the other behind it or beside it: both devices busy all the time, or one is.
  EXPECT_EQ(idleSeconds(problem, plan), 0);
}

TEST(IdleTime, IsLatestEndsLessBusyTime) {
  OnlineShape shape;
  shape.models = 2;
  shape.ops = 1;
  shape.devices = 2;
  Problem problem = onlineProblem(1, shape);
  problem.op_seconds = {3, 1, 3, 1};
  ASSERT_TRUE(problem.finish());
  Plan plan;
  plan.modes = problem.modes;
  plan.assignment = {DeviceId(0), DeviceId(1)};
  plan = evaluate(problem, plan).plan;
  EXPECT_EQ(idleSeconds(problem, plan), 2);  // the gpu from 1 to 3
  plan.assignment = {DeviceId(1), DeviceId(1)};
  plan.start.clear();
  plan = evaluate(problem, plan).plan;
  EXPECT_EQ(idleSeconds(problem, plan), 0);
}

}  // namespace
}  // namespace allot
