// The third promise on problems too large to enumerate: no rule in use today beats the portfolio.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <limits>

#include "allot/solve.h"
#include "solve/baselines/baselines.h"
#include "support/random_problem.h"
#include "support/scale.h"

namespace allot {
namespace {

class NeverWorse : public testing::TestWithParam<Goal> {};

TEST_P(NeverWorse, ThanAnyRule) {
  std::uint64_t compared = 0;
  for (std::uint64_t seed = 0; seed < scaled(10); ++seed) {
    const Problem problem = randomProblem(seed, GetParam(), {30, 4, true});
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
        EXPECT_EQ(outcome.message, "") << seed << ' ' << rule.name;
        if (!outcome.plan.hasPlan() || outcome.plan.value >= best) continue;
        best = outcome.plan.value;
        by = rule.name;
      }
    }
    // Longer than any rule had: on a busy machine a run may wait for its turn.
    run.solver.clear();
    run.time_limit_seconds = 0.4;
    const SolveOutcome outcome = solve(problem, run);
    EXPECT_EQ(outcome.message, "") << seed;
    if (by.empty()) continue;
    ++compared;
    EXPECT_LE(outcome.plan.value, best * (1 + 1e-12)) << seed << ": " << by << ", " << describe(problem);
  }
  RecordProperty("compared", fmt::format("{}", compared));
  EXPECT_GT(compared, 0u);
}

INSTANTIATE_TEST_SUITE_P(All, NeverWorse,
                         testing::Values(Goal::kThroughput, Goal::kLatency, Goal::kCompletion),
                         [](const auto& info) { return std::string(name(info.param)); });

}  // namespace
}  // namespace allot
