#include <gtest/gtest.h>

#include "allot/evaluate.h"
#include "allot/solve.h"
#include "evaluate/noise.h"
#include "solve/robust_choice.h"
#include "support/random_problem.h"

namespace allot {
namespace {

TEST(Robust, NoiseIsReportedForEverySchedule) {
  int plans = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const Problem problem =
        randomProblem(seed, seed % 2 == 0 ? Goal::kLatency : Goal::kCompletion, {6, 3, true});
    RunOptions run;
    run.work_limit = 200;
    const Plan plan = solve(problem, run).plan;
    EXPECT_EQ(plan.noise.has_value(), plan.hasPlan());
    if (!plan.hasPlan()) continue;
    EXPECT_EQ(plan.noise->share, kUsualNoise);
    EXPECT_LE(plan.noise->mean, plan.noise->p95);
    ++plans;
  }
  EXPECT_GT(plans, 10);
}

TEST(Robust, TakesThePlanThatNoiseHarmsLeast) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const Problem problem = randomProblem(seed, Goal::kLatency, {7, 3, true});
    RunOptions run;
    run.work_limit = 500;
    const Plan plain = solve(problem, run).plan;
    if (!plain.hasPlan()) continue;
    run.robust = true;
    const Plan robust = solve(problem, run).plan;
    EXPECT_LE(robust.noise->mean, plain.noise->mean) << describe(problem);
    EXPECT_LE(robust.value, plain.value * 1.03 + 1e-12) << describe(problem);
    EXPECT_GE(robust.value, plain.value) << describe(problem);
  }
}

TEST(Robust, PrefersTheSteadierOfTwoPlans) {
  // Six branches of one unit each that meet: in a row on one device they take 6 and their noise averages out;
  // on six devices, with the transfers, about as long, and the slowest decides.
  Problem problem;
  problem.graph.model_name = {"m"};
  for (int d = 0; d < 6; ++d) problem.cluster.classes.push_back({"c" + std::to_string(d)});
  for (std::uint32_t d = 0; d < 6; ++d) {
    Device device;
    device.name = "d" + std::to_string(d);
    device.cls = ClassId(d);
    problem.cluster.devices.push_back(device);
  }
  problem.model_weight = {1};
  problem.model_release = {0};
  for (int op = 0; op < 6; ++op) problem.graph.addOp("op" + std::to_string(op));
  for (int op = 0; op < 6; ++op) {
    for (int d = 0; d < 6; ++d) problem.op_seconds.push_back(d == 0 ? 1 : 5.9);
  }
  problem.modes.goal = Goal::kLatency;
  ASSERT_TRUE(problem.finish());
  RobustChoice choice;
  for (const bool spread : {true, false}) {
    Plan plan;
    plan.modes = problem.modes;
    for (std::uint32_t op = 0; op < 6; ++op) plan.assignment.push_back(DeviceId(spread ? op : 0));
    Evaluation evaluation = evaluate(problem, std::move(plan));
    ASSERT_TRUE(evaluation.valid());
    choice.offer(evaluation.plan);
  }
  EXPECT_EQ(choice.take(problem, 1).value, 6);
}

}  // namespace
}  // namespace allot
