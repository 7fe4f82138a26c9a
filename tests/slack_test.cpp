#include "report/slack.h"

#include <gtest/gtest.h>

#include "allot/evaluate.h"
#include "allot/solve.h"
#include "support/random_problem.h"

namespace allot {
namespace {

// The largest delay of a model when one op takes longer and all else stays.
double delayWithLongerOp(const Problem& problem, const Plan& plan, std::size_t op, double extra) {
  Problem longer = problem;
  const std::size_t cls = problem.cluster.devices[plan.assignment[op].index()].cls.index();
  longer.op_seconds[op * problem.cluster.classCount() + cls] += extra;
  const Plan late = evaluate(longer, plan).plan;
  if (problem.goal() == Goal::kLatency) return late.value - plan.value;
  double delay = 0;
  for (std::size_t m = 0; m < plan.completion.size(); ++m)
    delay = std::max(delay, late.completion[m] - plan.completion[m]);
  return delay;
}

void expectTightSlack(const Problem& problem, const Plan& plan) {
  const std::vector<double> slack = opSlack(problem, plan);
  for (std::size_t op = 0; op < problem.opCount(); ++op) {
    if (plan.end[op] == plan.start[op]) continue;  // with time it would hold its device
    EXPECT_LE(delayWithLongerOp(problem, plan, op, slack[op]), 1e-9) << describe(problem);
    EXPECT_GT(delayWithLongerOp(problem, plan, op, slack[op] + 0.125), 0.1) << describe(problem);
  }
}

TEST(Slack, IsWhatAnOpMayTakeLongerAndNoMore) {
  int plans = 0;
  for (std::uint64_t seed = 0; seed < 600; ++seed) {
    const Problem problem = randomProblem(seed, seed % 2 == 0 ? Goal::kLatency : Goal::kCompletion, {8, 3});
    // Under live memory a plan may wait on purpose, which only it knows.
    if (problem.modes.model != LatencyModel::kEvents || problem.modes.memory == MemoryModel::kLive) continue;
    RunOptions run;
    run.solver = "heft";
    const Plan plan = solve(problem, run).plan;
    if (!plan.hasPlan()) continue;
    expectTightSlack(problem, plan);
    if (HasFailure()) return;
    ++plans;
  }
  EXPECT_GT(plans, 100);
}

}  // namespace
}  // namespace allot
