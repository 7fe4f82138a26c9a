// The third promise on problems too large to enumerate: no rule in use today beats the portfolio.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <limits>

#include "allot/solve.h"
#include "base/random.h"
#include "solve/baselines/baselines.h"
#include "support/random_problem.h"
#include "support/scale.h"

namespace allot {
namespace {

// False where no rule has a plan.
bool comparesWithRules(const Problem& problem, const std::string& label) {
  RunOptions run;
  run.threads = 1;
  run.time_limit_seconds = 0.1;
  double best = std::numeric_limits<double>::infinity();
  std::string by;
  for (const auto rules : {baselineSolvers(), slowBaselineSolvers()}) {
    for (const Solver& rule : rules) {
      if (!rule.accepts(problem)) continue;
      run.solver = rule.name;
      const SolveOutcome outcome = solve(problem, run);
      EXPECT_EQ(outcome.message, "") << label << ' ' << rule.name;
      if (!outcome.plan.hasPlan() || outcome.plan.value >= best) continue;
      best = outcome.plan.value;
      by = rule.name;
    }
  }
  // Longer than any rule had: on a busy machine a run may wait for its turn.
  run.solver.clear();
  run.time_limit_seconds = 0.4;
  const SolveOutcome outcome = solve(problem, run);
  EXPECT_EQ(outcome.message, "") << label;
  if (by.empty()) return false;
  EXPECT_LE(outcome.plan.value, best * (1 + 1e-12)) << label << ": " << by << ", " << describe(problem);
  return true;
}

class NeverWorse : public testing::TestWithParam<Goal> {};

TEST_P(NeverWorse, ThanAnyRule) {
  std::uint64_t compared = 0;
  for (std::uint64_t seed = 0; seed < scaled(10); ++seed) {
    compared += comparesWithRules(randomProblem(seed, GetParam(), {30, 4, true}), std::to_string(seed));
  }
  RecordProperty("compared", fmt::format("{}", compared));
  EXPECT_GT(compared, 0u);
}

// Weights that all devices hold with ease, and tensors that tell which plans fit.
Problem tightlyLive(std::uint64_t seed, Goal goal) {
  Random random(seed, 41);
  Problem problem;
  problem.cluster.classes = {{.name = "fast"}, {.name = "slow", .kind = DeviceKind::kCpu}};
  const std::uint32_t ops = 12 + random.below(20);
  for (std::uint32_t i = 0; i < ops; ++i) {
    problem.graph.addOp(fmt::format("o{}", i));
    problem.graph.op_weight_bytes[i] = random.below(8);
    const double seconds = 1 + random.below(9);
    problem.op_seconds.insert(problem.op_seconds.end(), {seconds, 8 * seconds});
  }
  std::int64_t all = 0;
  for (std::uint32_t i = 0; i + 1 < ops; ++i) {
    std::vector<OpId> to{OpId(i + 1)};
    if (i + 3 < ops && random.below(3) == 0) to.emplace_back(i + 3);
    const std::int64_t bytes = 5 + random.below(40);
    all += bytes;
    problem.addTensor(OpId(i), to, bytes, 0.25 * random.below(4));
  }
  const std::int64_t memory = 60 + all / (2 + random.below(10));
  for (std::uint32_t d = 0; d < 3; ++d)
    problem.cluster.devices.push_back({fmt::format("d{}", d), ClassId(d / 2), memory << (d / 2), {}});
  problem.modes.goal = goal;
  problem.modes.memory = MemoryModel::kLive;
  EXPECT_TRUE(problem.finish());
  return problem;
}

TEST_P(NeverWorse, ThanAnyRuleUnderTightLiveMemory) {
  std::uint64_t compared = 0;
  for (std::uint64_t seed = 0; seed < scaled(8); ++seed)
    compared += comparesWithRules(tightlyLive(seed, GetParam()), std::to_string(seed));
  EXPECT_GT(compared, 0u);
}

INSTANTIATE_TEST_SUITE_P(All, NeverWorse,
                         testing::Values(Goal::kThroughput, Goal::kLatency, Goal::kCompletion),
                         [](const auto& info) { return std::string(name(info.param)); });

}  // namespace
}  // namespace allot
