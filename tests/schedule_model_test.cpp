#include "solve/latency/schedule_model.h"

#include <gtest/gtest.h>

#include "allot/evaluate.h"
#include "allot/solve.h"
#include "solve/latency/device_paths.h"
#include "support/random_problem.h"

namespace allot {
namespace {

TEST(ScheduleModel, APlanSurvivesTheWayThereAndBack) {
  int plans = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    const Problem problem = randomProblem(seed, Goal::kLatency, {8, 3});
    if (problem.modes.model != LatencyModel::kEvents) continue;
    RunOptions run;
    run.solver = "heft";
    const SolveOutcome outcome = solve(problem, run);
    if (!outcome.plan.hasPlan()) continue;
    const ScheduleModel model(problem);
    const Evaluation again = evaluate(problem, planOf(model, scheduleOf(model, outcome.plan)));
    EXPECT_EQ(again.plan.value, outcome.plan.value) << describe(problem);
    EXPECT_TRUE(again.valid()) << describe(problem);
    ++plans;
  }
  EXPECT_GT(plans, 100);
}

TEST(ScheduleModel, TransfersTakeWhatTheProblemSays) {
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    const Problem problem = randomProblem(seed, Goal::kLatency, {8, 3});
    if (problem.modes.model != LatencyModel::kEvents) continue;
    const ScheduleModel model(problem);
    for (std::size_t net = 0; net < model.netCount(); ++net) {
      EXPECT_EQ(model.net_consumers[net].size() > 1 && problem.modes.send == Send::kPerEdge, false);
      for (std::size_t from = 0; from < model.devices; ++from) {
        for (std::size_t to = 0; to < model.devices; ++to)
          EXPECT_EQ(model.transfer(net, from, to),
                    problem.transferSeconds(model.net_tensor[net], DeviceId(from), DeviceId(to)));
      }
    }
  }
}

TEST(DevicePaths, HoldForEveryPlan) {
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    const Problem problem = randomProblem(seed, Goal::kLatency, {8, 3});
    if (problem.modes.model != LatencyModel::kEvents) continue;
    const ScheduleModel model(problem);
    const Budget budget({}, nullptr);
    const std::vector<double> head = deviceHeads(model, budget), tail = deviceTails(model, budget);
    for (const char* solver : {"heft", "peft", "etf", "single"}) {
      RunOptions run;
      run.solver = solver;
      const Plan plan = solve(problem, run).plan;
      if (!plan.hasPlan()) continue;
      for (std::size_t i = 0; i < model.opCount(); ++i) {
        const std::size_t op = model.op_id[i].index(), at = i * model.devices + plan.assignment[op].index();
        EXPECT_LE(head[at], plan.start[op] + 1e-9) << describe(problem);
        EXPECT_LE(plan.end[op] + tail[at], plan.value + 1e-9) << describe(problem);
      }
    }
  }
}

}  // namespace
}  // namespace allot
