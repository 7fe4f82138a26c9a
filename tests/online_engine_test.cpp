// The online engine: jobs arrive and leave, devices fail, slow down and return; what it decides is verified
// from its decisions alone.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "allot/check.h"
#include "allot/evaluate.h"
#include "allot/online.h"
#include "support/online_events.h"
#include "support/online_log.h"
#include "support/online_offline.h"
#include "support/online_problem.h"

namespace allot {
namespace {

TEST(OnlineEngine, RunsOneJobWhereItEndsFirst) {
  const Problem problem = twoChains();
  FollowedEngine engine(problem);
  ASSERT_TRUE(engine.apply(arrival(1, "a", 0)));
  engine.replan();
  engine.finish();
  EXPECT_EQ(engine.job(JobId(0)).completion, 3);
  EXPECT_EQ(engine.value(), 3);
  EXPECT_EQ(engine.wrong(), "");
}

TEST(OnlineEngine, AShorterJobGoesFirstButWhatRunsStays) {
  Problem problem = twoChains();
  problem.op_seconds = {40, 1, 40, 1, 80, 3, 80, 3};
  ASSERT_TRUE(problem.finish());
  FollowedEngine engine(problem);
  ASSERT_TRUE(engine.apply(arrival(0, "long", 1)));
  engine.replan();
  ASSERT_TRUE(engine.apply(arrival(0.5, "short", 0)));
  engine.replan();
  engine.finish();
  // The first op of "long" runs until 3, then both ops of "short", then the rest.
  EXPECT_EQ(engine.job(JobId(1)).completion, 5);
  EXPECT_EQ(engine.job(JobId(0)).completion, 8);
  EXPECT_EQ(engine.wrong(), "");
}

TEST(OnlineEngine, AFailedDeviceLosesWhatItRanAndHeld) {
  const Problem problem = twoChains();
  FollowedEngine engine(problem);
  ASSERT_TRUE(engine.apply(arrival(0, "a", 0)));
  engine.replan();
  // The first op has ended on the fast device, the second runs there; its input is nowhere else.
  ASSERT_TRUE(engine.apply(onDevice(EventKind::kFail, 1.5, 1)));
  engine.replan();
  engine.finish();
  EXPECT_EQ(engine.job(JobId(0)).completion, 1.5 + 8);
  EXPECT_EQ(engine.count(DecisionKind::kRepeat), 2u);
  EXPECT_EQ(engine.wrong(), "");
}

TEST(OnlineEngine, WaitsForTheOnlyDeviceToReturn) {
  OnlineShape shape;
  shape.models = 1;
  shape.ops = 2;
  shape.devices = 1;
  Problem problem = onlineProblem(1, shape);
  problem.op_seconds = {9, 1, 9, 1};
  ASSERT_TRUE(problem.finish());
  OnlineEngine engine = engineFor(problem);
  ASSERT_TRUE(engine.apply(onDevice(EventKind::kFail, 0, 0)));
  ASSERT_TRUE(engine.apply(arrival(1, "a", 0)));
  engine.replan();
  EXPECT_FALSE(engine.planned(JobId(0), OpId(0)).device.valid());
  ASSERT_TRUE(engine.apply(onDevice(EventKind::kReturn, 5, 0)));
  engine.replan();
  engine.finish();
  EXPECT_EQ(engine.job(JobId(0)).completion, 7);
}

TEST(OnlineEngine, SlowDevicesStretchWhatRuns) {
  const Problem problem = twoChains();
  OnlineEngine engine = engineFor(problem);
  ASSERT_TRUE(engine.apply(arrival(0, "a", 0)));
  engine.replan();
  ASSERT_TRUE(engine.apply(onDevice(EventKind::kSlow, 0.5, 1, 3)));
  engine.replan();
  engine.finish();
  // Half of the first op is left and takes 1.5; the second takes 3 there and 4 on the other.
  EXPECT_DOUBLE_EQ(engine.job(JobId(0)).completion, 0.5 + 1.5 + 3);
}

TEST(OnlineEngine, MeasuredTimesCountFromTheNextStart) {
  const Problem problem = twoChains();
  OnlineEngine engine = engineFor(problem);
  ASSERT_TRUE(engine.apply(arrival(0, "a", 0)));
  engine.replan();
  OnlineEvent event;
  event.kind = EventKind::kTime;
  event.time = 0.5;
  event.op = OpId(1);
  event.cls = ClassId(1);
  event.seconds = 2;
  ASSERT_TRUE(engine.apply(event));
  engine.replan();
  engine.finish();
  EXPECT_EQ(engine.job(JobId(0)).completion, 3);
}

TEST(OnlineEngine, ReportedEndsDecide) {
  const Problem problem = twoChains();
  OnlineOptions options;
  options.ends_reported = true;
  FollowedEngine engine(problem, options);
  ASSERT_TRUE(engine.apply(arrival(0, "a", 0)));
  engine.replan();
  OnlineEvent event = ofJob(EventKind::kEnd, 2.5, "a");  // predicted: 1
  event.op = OpId(0);
  ASSERT_TRUE(engine.apply(event));
  engine.replan();
  EXPECT_EQ(engine.planned(JobId(0), OpId(1)).start, 2.5);
  event.time = 3;  // early
  event.op = OpId(1);
  ASSERT_TRUE(engine.apply(event));
  EXPECT_EQ(engine.job(JobId(0)).completion, 3);
  EXPECT_EQ(engine.wrong(), "");
}

// One producer, two consumers on the other device: each has the tensor sent, one after the other.
TEST(OnlineEngine, SendsPerEdge) {
  Problem problem;
  problem.modes.goal = Goal::kCompletion;
  problem.modes.link_mode = LinkMode::kFullDuplex;
  problem.modes.send = Send::kPerEdge;
  for (const char* name : {"cpu", "gpu"}) {
    DeviceClass cls;
    cls.name = name;
    problem.cluster.classes.push_back(cls);
    Device device;
    device.name = std::string(name) + "0";
    device.cls = ClassId(problem.cluster.devices.size());
    problem.cluster.devices.push_back(device);
  }
  problem.graph.model_name = {"m"};
  problem.model_weight = {1};
  problem.model_release = {0};
  std::vector<OpId> ops;
  for (const char* name : {"a", "b", "c"}) ops.push_back(problem.graph.addOp(name));
  problem.op_seconds = {1, kCannotRun, kCannotRun, 1, kCannotRun, 1};
  problem.addTensor(ops[0], std::vector<OpId>{ops[1], ops[2]}, 0, 2);
  ASSERT_TRUE(problem.finish());
  FollowedEngine engine(problem);
  ASSERT_TRUE(engine.apply(arrival(0, "j", 0)));
  engine.replan();
  engine.finish();
  // a until 1, sends until 3 and 5, the second consumer until 6.
  EXPECT_EQ(engine.job(JobId(0)).completion, 6);
  EXPECT_EQ(engine.count(DecisionKind::kSend), 2u);
  EXPECT_EQ(engine.wrong(), "");
}

TEST(OnlineEngine, HoldsJobsUntilMemoryIsFree) {
  Problem problem = twoChains();
  for (std::int64_t& bytes : problem.graph.op_memory_bytes) bytes = 60;
  for (Device& device : problem.cluster.devices) device.memory_bytes = 100;
  ASSERT_TRUE(problem.finish());
  FollowedEngine engine(problem);
  for (int i = 0; i < 6; ++i) ASSERT_TRUE(engine.apply(arrival(0, "j" + std::to_string(i), i % 2)));
  engine.replan();
  engine.finish();
  for (int i = 0; i < 6; ++i) EXPECT_FALSE(std::isnan(engine.job(JobId(i)).completion)) << i;
  EXPECT_EQ(engine.wrong(), "");
}

// Random lives: nothing is lost or done twice, no device runs two ops, inputs are there, memory suffices.
TEST(OnlineEngine, RandomLivesLoseNothing) {
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    const Problem problem = onlineProblem(seed, randomShape(seed));
    OnlineOptions options;
    if (seed % 3 == 1) options.max_moves = static_cast<std::uint32_t>(seed % 5);
    if (seed % 4 == 2) options.move_cost = 1e-6;
    if (seed % 5 == 3) options.work = 40;
    OnlineEngine engine = engineFor(problem, options);
    EventLog log;
    for (const OnlineEvent& event : randomEvents(problem, seed, 60)) log.lines.push_back({1, event});
    const Replay result = replay(engine, log, "events");
    EXPECT_TRUE(result.errors.empty()) << seed << ' ' << result.errors.front().text();
    EXPECT_TRUE(result.verified) << seed << ' ' << result.verified.error().text();
    EXPECT_EQ(verifyLog(problem, result.taken, result.decisions, engine), "") << seed;
    for (std::size_t j = 0; j < engine.jobCount(); ++j) {
      const JobReport job = engine.job(JobId(j));
      EXPECT_TRUE(job.left || !std::isnan(job.completion)) << seed << ' ' << job.name;
    }
    for (const ReplanReport& report : engine.replans()) {
      EXPECT_LE(report.moves, options.max_moves) << seed;
      EXPECT_LE(report.value, report.kept_value * (1 + 1e-9)) << seed;
    }
  }
}

// Where jobs only arrive, what was executed is a plan of the problem that has every job as a model.
TEST(OnlineEngine, TheCheckerAcceptsWhatWasExecuted) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    OnlineShape shape = randomShape(seed);
    shape.memory = false;
    const Problem problem = onlineProblem(seed, shape);
    OnlineEngine engine = engineFor(problem);
    EventLog log;
    for (const OnlineEvent& event : randomEvents(problem, seed, 12, 1, true)) log.lines.push_back({1, event});
    const Replay result = replay(engine, log, "events");
    const Problem offline = offlineProblem(problem, engine);
    const Plan plan = executedPlan(offline, problem, engine, result.decisions);
    const CheckReport report = check(offline, plan);
    EXPECT_TRUE(report.ok()) << seed << ' ' << report.violations.front();
    EXPECT_NEAR(report.value, engine.value(), 1e-9 * engine.value());
  }
}

TEST(OnlineEngine, TheSameEventsGiveTheSameDecisions) {
  const Problem problem = onlineProblem(5, randomShape(5));
  const auto run = [&] {
    OnlineEngine engine = engineFor(problem);
    EventLog log;
    for (const OnlineEvent& event : randomEvents(problem, 5, 80)) log.lines.push_back({1, event});
    std::string text;
    for (const Decision& decision : replay(engine, log, "events").decisions)
      text += decisionText(problem, engine, decision);
    return text;
  };
  EXPECT_EQ(run(), run());
}

}  // namespace
}  // namespace allot
