// What a failure takes away is done again, once, and nothing else: the invariant of recovery.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "allot/online.h"
#include "base/random.h"
#include "formats_support.h"
#include "solve/online/engine_state.h"
#include "support/online_events.h"
#include "support/online_history.h"
#include "support/online_log.h"
#include "support/online_problem.h"
#include "support/scale.h"

namespace allot {
namespace {

OnlineEvent endOf(double time, std::string job, std::size_t op) {
  OnlineEvent event = ofJob(EventKind::kEnd, time, std::move(job));
  event.op = OpId(op);
  return event;
}

void apply(FollowedEngine& engine, const OnlineEvent& event) {
  const auto taken = engine.apply(event);
  EXPECT_TRUE(taken) << taken.error().text();
}

// Three devices of two classes; "a" and "b" go to "c" and "d", "c" goes to "d".
Problem diamond(const std::string& options) {
  return problemOf(R"({"schema": "allot.problem/1", "goal": "completion",
    "classes": [{"name": "slow", "kind": "accelerator"}, {"name": "fast", "kind": "accelerator"}],
    "devices": [{"name": "f0", "class": "fast"}, {"name": "f1", "class": "fast"}, {"name": "s0", "class": "slow"}],
    "models": [{"name": "m"}],
    "ops": [{"name": "a", "time": [2, 0.5], "model": "m"}, {"name": "b", "time": [2, 0.5], "model": "m"},
            {"name": "c", "time": [1, 0.5], "model": "m"}, {"name": "d", "time": [0.1, 1], "model": "m"}],
    "tensors": [{"from": "a", "to": ["c", "d"], "time": 0.3}, {"from": "b", "to": ["c", "d"], "time": 0.1},
                {"from": "c", "to": ["d"], "time": 0.1}],
    "options": {)" +
                   options + "}}");
}

// "a" and "b" have been sent to s0 for "d" when the devices they ran on fail, one after the other.
TEST(OnlineRecovery, ATensorSentBeforeTheFailureServesAllItsConsumers) {
  for (const char* send : {"per-edge", "once"}) {
    const Problem problem = diamond(std::string("\"send\": \"") + send + "\"");
    FollowedEngine engine(problem);
    apply(engine, arrival(0, "j", 0));
    engine.replan();
    const OnlineEvent events[] = {onDevice(EventKind::kFail, 1.033, 0), onDevice(EventKind::kFail, 2.033, 1),
                                  onDevice(EventKind::kReturn, 2.133, 0),
                                  onDevice(EventKind::kReturn, 2.233, 1)};
    for (const OnlineEvent& event : events) {
      apply(engine, event);
      engine.replan();
    }
    engine.finish();
    EXPECT_FALSE(std::isnan(engine.job(JobId(0)).completion)) << send;
    EXPECT_EQ(engine.wrong(), "") << send;
    // "c" ran on what failed; "a" and "b" are still on s0.
    for (const Decision& decision : engine.log()) {
      if (decision.kind == DecisionKind::kRepeat) EXPECT_EQ(decision.op, OpId(2)) << send;
    }
  }
}

// One producer on f, consumers on g: the send takes 2 seconds.
Problem fan(const std::string& more = "") {
  return problemOf(R"({"schema": "allot.problem/1", "goal": "completion",
    "classes": [{"name": "x", "kind": "accelerator"}, {"name": "y", "kind": "accelerator"}],
    "devices": [{"name": "f", "class": "x"}, {"name": "g", "class": "y"}, {"name": "h", "class": "y"}],
    "models": [{"name": "m"}],
    "ops": [{"name": "a", "time": [1, null], "model": "m"}, {"name": "b", "time": [null, 1], "model": "m"}],
    "tensors": [{"from": "a", "to": ["b"], "time": 2}]
    )" + more + "}");
}

TEST(OnlineRecovery, ASendThatBreaksOffIsMadeAgainAndFreesThePortAtTheOtherEnd) {
  const Problem problem = fan();
  FollowedEngine engine(problem);
  apply(engine, arrival(0, "j", 0));
  engine.replan();
  apply(engine, onDevice(EventKind::kFail, 2, 1));  // half way
  engine.replan();
  engine.finish();
  // From f to h at once.
  EXPECT_EQ(engine.job(JobId(0)).completion, 2 + 2 + 1);
  EXPECT_EQ(engine.count(DecisionKind::kRepeat), 0u);
  EXPECT_EQ(engine.count(DecisionKind::kSend), 2u);
  EXPECT_EQ(engine.wrong(), "");
}

TEST(OnlineRecovery, ASourceThatFailsHalfWayRunsItsOpAgainWhenItReturns) {
  const Problem problem = fan();
  FollowedEngine engine(problem);
  apply(engine, arrival(0, "j", 0));
  engine.replan();
  // Down and back in the same instant: what it held is lost all the same.
  apply(engine, onDevice(EventKind::kFail, 2, 0));
  apply(engine, onDevice(EventKind::kReturn, 2, 0));
  engine.replan();
  engine.finish();
  EXPECT_EQ(engine.job(JobId(0)).completion, 2 + 1 + 2 + 1);
  EXPECT_EQ(engine.count(DecisionKind::kRepeat), 1u);
  EXPECT_EQ(engine.wrong(), "");
}

TEST(OnlineRecovery, WhatArrivedBeforeTheFailureIsKept) {
  const Problem problem = fan();
  FollowedEngine engine(problem);
  apply(engine, arrival(0, "j", 0));
  engine.replan();
  apply(engine, onDevice(EventKind::kFail, 3, 0));  // the send has just ended
  engine.replan();
  engine.finish();
  EXPECT_EQ(engine.job(JobId(0)).completion, 4);
  EXPECT_EQ(engine.count(DecisionKind::kRepeat), 0u);
  EXPECT_EQ(engine.wrong(), "");
}

TEST(OnlineRecovery, AllDevicesFailAtOnce) {
  const Problem problem = diamond("\"send\": \"per-edge\", \"link-mode\": \"half-duplex\"");
  FollowedEngine engine(problem);
  apply(engine, arrival(0, "j", 0));
  engine.replan();
  for (std::size_t d = 0; d < 3; ++d) apply(engine, onDevice(EventKind::kFail, 0.7, d));
  engine.replan();
  EXPECT_NE(engine.waitsFor(JobId(0)).find("all that it may use are down"), std::string::npos);
  for (std::size_t d = 0; d < 3; ++d) apply(engine, onDevice(EventKind::kReturn, 1, d));
  engine.replan();
  EXPECT_EQ(engine.waitsFor(JobId(0)), "");
  engine.finish();
  EXPECT_EQ(engine.count(DecisionKind::kFinish), 1u);
  EXPECT_EQ(engine.wrong(), "");
}

// Taken where they end first, the first two ops fill the only device that has room for the third.
TEST(OnlineRecovery, AJobThatFitsOnlyWhenPackedIsNotHeldForEver) {
  const Problem problem = problemOf(R"({"schema": "allot.problem/1", "goal": "completion",
    "classes": [{"name": "x", "kind": "accelerator"}, {"name": "y", "kind": "accelerator"}],
    "devices": [{"name": "large", "class": "x", "memory": 100}, {"name": "small", "class": "y", "memory": 90}],
    "models": [{"name": "m"}],
    "ops": [{"name": "a", "time": [1, 9], "model": "m", "memory": 45},
            {"name": "b", "time": [1, 9], "model": "m", "memory": 45},
            {"name": "c", "time": [1, 9], "model": "m", "memory": 95}],
    "tensors": [{"from": "a", "to": ["b"], "time": 0}, {"from": "b", "to": ["c"], "time": 0}]})");
  FollowedEngine engine(problem);
  apply(engine, arrival(0, "j", 0));
  engine.replan();
  engine.finish();
  EXPECT_FALSE(std::isnan(engine.job(JobId(0)).completion));
  EXPECT_EQ(engine.wrong(), "");
}

// Blocks of weights count whole on each device that reads them, and once: sums of shares are too small.
TEST(OnlineRecovery, SharedWeightsCountOnceOnEachDevice) {
  const auto problemWith = [](std::int64_t memory) {
    Problem problem;
    problem.modes.goal = Goal::kCompletion;
    problem.cluster.classes.emplace_back().name = "x";
    for (const std::int64_t bytes : {std::int64_t{60}, memory}) {
      Device& device = problem.cluster.devices.emplace_back();
      device.name = "d" + std::to_string(problem.cluster.devices.size());
      device.cls = ClassId(0);
      device.memory_bytes = bytes;
    }
    problem.graph.model_name = {"m"};
    problem.model_weight = {1};
    problem.model_release = {0};
    std::vector<OpId> ops{problem.graph.addOp("a"), problem.graph.addOp("b")};
    problem.graph.op_memory_bytes = {15, 15};
    problem.graph.addBlock("w", 40, ops);
    problem.op_seconds = {1, 1};
    const auto done = problem.finish();
    EXPECT_TRUE(done) << done.error().text();
    return problem;
  };
  const Problem fits = problemWith(55);
  FollowedEngine engine(fits);
  apply(engine, arrival(0, "j", 0));
  engine.replan();
  engine.finish();
  EXPECT_EQ(engine.job(JobId(0)).completion, 1);  // both devices
  EXPECT_EQ(engine.wrong(), "");
  const Problem tight = problemWith(35);  // 70 on the first, or 55 on each
  OnlineEngine other = engineFor(tight);
  EXPECT_FALSE(other.apply(arrival(0, "j", 0)));
}

// The rest of the job has room only when its own op has ended.
TEST(OnlineRecovery, AJobHeldBackByItsOwnOpGoesOnWhenThatEnds) {
  const Problem problem = problemOf(R"({"schema": "allot.problem/1", "goal": "completion",
    "classes": [{"name": "x", "kind": "accelerator"}],
    "devices": [{"name": "d0", "class": "x", "memory": 100}, {"name": "d1", "class": "x", "memory": 100}],
    "models": [{"name": "m"}],
    "ops": [{"name": "a", "time": [5], "model": "m", "memory": 60},
            {"name": "b", "time": [1], "model": "m", "memory": 60}]})");
  FollowedEngine engine(problem);
  apply(engine, arrival(0, "j", 0));
  engine.replan();
  apply(engine, onDevice(EventKind::kFail, 0.5, 1));
  engine.replan();
  engine.finish();
  EXPECT_EQ(engine.job(JobId(0)).completion, 6);
  EXPECT_EQ(engine.wrong(), "");
}

// The plan has room for few jobs; those that wait for a device do not fill it.
TEST(OnlineRecovery, JobsThatWaitForADeviceDoNotKeepOthersOut) {
  const Problem problem = problemOf(R"({"schema": "allot.problem/1", "goal": "completion",
    "classes": [{"name": "x", "kind": "accelerator"}, {"name": "y", "kind": "accelerator"}],
    "devices": [{"name": "d0", "class": "x"}, {"name": "d1", "class": "y"}],
    "models": [{"name": "m"}, {"name": "n"}],
    "ops": [{"name": "a", "time": [1, null], "model": "m"}, {"name": "b", "time": [null, 5], "model": "n"}]})");
  OnlineOptions options;
  options.work = 1;
  FollowedEngine engine(problem, options);
  apply(engine, onDevice(EventKind::kFail, 0, 0));
  for (int j = 0; j < 3; ++j) apply(engine, arrival(0, "m" + std::to_string(j), 0));
  for (int j = 0; j < 3; ++j) apply(engine, arrival(0, "n" + std::to_string(j), 1));
  engine.replan();
  engine.finish();
  EXPECT_EQ(engine.count(DecisionKind::kFinish), 3u);
  EXPECT_EQ(engine.now(), 15);
  EXPECT_NE(engine.waitsFor(JobId(0)).find("all that it may use are down"), std::string::npos);
  apply(engine, onDevice(EventKind::kReturn, 15, 0));
  engine.replan();
  engine.finish();
  EXPECT_EQ(engine.count(DecisionKind::kFinish), 6u);
  EXPECT_EQ(engine.wrong(), "");
}

TEST(OnlineRecovery, WhatRunsOfAJobThatLeftIsReportedToo) {
  const Problem problem = twoChains();
  OnlineOptions options;
  options.ends_reported = true;
  FollowedEngine engine(problem, options);
  apply(engine, arrival(0, "a", 0));
  engine.replan();
  apply(engine, ofJob(EventKind::kLeave, 0.5, "a"));
  apply(engine, endOf(1.5, "a", 0));
  EXPECT_FALSE(engine.apply(endOf(1.5, "a", 1)));
  EXPECT_FALSE(engine.apply(endOf(1.5, "a", 0)));
  apply(engine, arrival(2, "a", 0));  // on the fast device again
  engine.replan();
  EXPECT_EQ(engine.planned(JobId(1), OpId(0)).device, DeviceId(1));
  EXPECT_EQ(engine.wrong(), "");
}

// Small problems and many failures.
TEST(OnlineRecovery, HostileHistoriesLoseNothing) {
  History all;
  const std::uint64_t count = scaled(3000);
  for (std::uint64_t seed = 0; seed < count; ++seed) {
    const Problem problem = hostileProblem(seed);
    const History history = liveThrough(problem, hostileOptions(seed), hostileEvents(problem, seed), seed);
    EXPECT_EQ(history.wrong, "") << seed;
    all.repeats += history.repeats;
    all.finished += history.finished;
    all.holds += history.holds;
  }
  // Enough happened.
  EXPECT_GT(all.finished, 7 * count);
  EXPECT_GT(all.repeats, 2 * count);
  EXPECT_GT(all.holds, 2 * count);
}

// One of a million histories in which a plan that placed nothing looked better than one that placed a job.
TEST(OnlineRecovery, NoPlanHoldsAJobThatAnotherHasRoomFor) {
  constexpr std::uint64_t kSeed = 599'835;
  const Problem problem = hostileProblem(kSeed);
  const History history = liveThrough(problem, hostileOptions(kSeed), hostileEvents(problem, kSeed), kSeed);
  EXPECT_EQ(history.wrong, "");
}

// The verifier of logs finds what is wrong with a log.
TEST(OnlineRecovery, TheVerifierRefusesDamagedLogs) {
  std::size_t found[8] = {}, made[8] = {};
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    const Problem problem = hostileProblem(seed);
    OnlineEngine engine = engineFor(problem);
    EventLog events;
    for (const OnlineEvent& event : hostileEvents(problem, seed)) events.lines.push_back({1, event});
    const Replay result = replay(engine, events, "events");
    ASSERT_EQ(verifyLog(problem, result.taken, result.decisions, engine), "") << seed;
    Random random(seed, 7);
    const auto damage = [&](std::size_t what, DecisionKind kind, auto&& change) {
      std::vector<std::size_t> places;
      for (std::size_t i = 0; i < result.decisions.size(); ++i) {
        // What ran of a job that left may be lost unsaid.
        const Decision& decision = result.decisions[i];
        if (decision.kind == kind && !engine.job(decision.job).left) places.push_back(i);
      }
      if (places.empty()) return;
      std::vector<Decision> log = result.decisions;
      change(log, places[random.below(static_cast<std::uint32_t>(places.size()))]);
      ++made[what];
      found[what] += verifyLog(problem, result.taken, log, engine) != "";
    };
    const auto at = [](std::size_t i) { return static_cast<std::ptrdiff_t>(i); };
    const auto drop = [&](std::vector<Decision>& log, std::size_t i) { log.erase(log.begin() + at(i)); };
    const auto twice = [&](std::vector<Decision>& log, std::size_t i) {
      const Decision decision = log[i];
      log.insert(log.begin() + at(i), decision);
    };
    damage(0, DecisionKind::kStart, drop);
    damage(1, DecisionKind::kEnd, drop);
    damage(2, DecisionKind::kRepeat, drop);
    damage(3, DecisionKind::kFinish, drop);
    damage(4, DecisionKind::kStart, twice);
    damage(5, DecisionKind::kSend, twice);
    damage(6, DecisionKind::kRepeat, twice);
    damage(7, DecisionKind::kStart, [](std::vector<Decision>& log, std::size_t i) { log[i].end += 0.01; });
  }
  for (std::size_t k = 0; k < 8; ++k) {
    EXPECT_GT(made[k], 20u) << k;
    EXPECT_EQ(found[k], made[k]) << k;
  }
}

// A state that was damaged on purpose: the first breach names job and op, and nothing is passed over.
TEST(OnlineRecovery, TheInvariantFindsLostWork) {
  const Problem problem = diamond("\"send\": \"per-edge\"");
  const auto state = [&] {
    auto made =
        std::make_unique<online::EngineState>(problem, OnlineOptions{}, *online::modelPlansOf(problem));
    EXPECT_TRUE(made->apply(arrival(0, "j", 0)));
    made->replan();
    made->advance(0.7);  // "a" and "b" have ended, a send is on its way
    EXPECT_EQ(made->breach(), "");
    return made;
  };
  const auto breach = [&](auto&& damage) {
    const auto damaged = state();
    damage(*damaged);
    return damaged->breach();
  };
  const std::size_t devices = problem.deviceCount();
  EXPECT_NE(breach([&](online::EngineState& s) {
              std::fill_n(s.world.jobs[0].there.begin(), 4 * devices, online::kNever);
              std::fill_n(s.world.jobs[0].source.begin(), 4, DeviceId());
            }).find("waits for an output that no device holds"),
            std::string::npos);
  EXPECT_NE(breach([](online::EngineState& s) { s.world.devices[0].up = false; }), "");
  EXPECT_NE(breach([](online::EngineState& s) { s.world.sending.clear(); }).find("never comes to"),
            std::string::npos);
  const std::string lost = breach([](online::EngineState& s) {
    s.activities.clear();
    s.next_activity = 0;
    s.world.running.clear();
    for (online::Run& run : s.world.jobs[0].runs) {
      if (run.state == online::RunState::kRunning) run.state = online::RunState::kWaiting;
    }
    s.world.jobs[0].waiting = s.world.jobs[0].report.open_ops;
  });
  EXPECT_NE(lost.find("job \"j\""), std::string::npos) << lost;
  EXPECT_NE(lost.find("op \"c\" waits for"), std::string::npos) << lost;
  EXPECT_NE(breach([](online::EngineState& s) { s.refused = true; }), "");
}

}  // namespace
}  // namespace allot
