// What the online engine refuses: it says why, and stays as it was.
#include <gtest/gtest.h>

#include <cmath>

#include "allot/online.h"
#include "support/online_events.h"
#include "support/online_problem.h"

namespace allot {
namespace {

TEST(OnlineRefusals, RefusesWhatMakesNoSenseAndStaysUnharmed) {
  const Problem problem = twoChains();
  OnlineEngine engine = engineFor(problem);
  ASSERT_TRUE(engine.apply(arrival(1, "a", 0)));
  engine.replan();
  const auto refused = [&](const OnlineEvent& event) {
    const auto result = engine.apply(event);
    EXPECT_FALSE(result);
    if (!result) {
      EXPECT_FALSE(result.error().message.empty());
      EXPECT_FALSE(result.error().remedy.empty());
    }
    EXPECT_EQ(engine.now(), 1);
  };
  refused(arrival(0.5, "b", 0));                  // backwards
  refused(arrival(std::nan(""), "b", 0));         // no time
  refused(arrival(2, "a", 0));                    // still here
  refused(arrival(2, "b", 9));                    // unknown model
  refused(ofJob(EventKind::kLeave, 2, "b"));      // unknown job
  refused(onDevice(EventKind::kFail, 2, 7));      // unknown device
  refused(onDevice(EventKind::kReturn, 2, 0));    // is up
  refused(onDevice(EventKind::kSlow, 2, 0, -1));  // negative
  refused(onDevice(EventKind::kSlow, 2, 0, std::nan("")));
  OnlineEvent event = ofJob(EventKind::kEnd, 1, "a");
  event.op = OpId(1);
  refused(event);  // has not started
  event = {};
  event.kind = EventKind::kTime;
  event.time = 2;
  event.op = OpId(0);
  event.cls = ClassId(0);
  event.seconds = -1;
  refused(event);
  ASSERT_TRUE(engine.apply(onDevice(EventKind::kFail, 1, 0)));
  refused(onDevice(EventKind::kFail, 2, 0));  // is down
  engine.replan();
  engine.finish();
  EXPECT_EQ(engine.job(JobId(0)).completion, 3);
}

TEST(OnlineRefusals, NoTimePassesForWhatIsRefused) {
  const Problem problem = twoChains();
  OnlineEngine engine = engineFor(problem);
  ASSERT_TRUE(engine.apply(arrival(0, "a", 0)));  // until 2
  engine.replan();
  engine.takeDecisions();
  OnlineEvent ended = ofJob(EventKind::kEnd, 5, "a");
  ended.op = OpId(1);
  for (const OnlineEvent& event : {ofJob(EventKind::kLeave, 5, "a"), ended}) {
    EXPECT_FALSE(engine.apply(event));
    EXPECT_EQ(engine.now(), 0);
    EXPECT_EQ(engine.value(), 0);
    EXPECT_EQ(engine.job(JobId(0)).open_ops, 2u);
    EXPECT_TRUE(engine.takeDecisions().empty());
  }
  ASSERT_TRUE(engine.apply(ofJob(EventKind::kLeave, 0.5, "a")));
  EXPECT_TRUE(engine.job(JobId(0)).left);
  // At 1, where "a" runs its last op, its name is taken; from then on it is free.
  EXPECT_FALSE(engine.apply(arrival(0.7, "a", 1)));
  EXPECT_TRUE(engine.apply(arrival(1, "a", 1)));
}

// What runs late makes an op miss its planned start, so that its end cannot be reported.
TEST(OnlineRefusals, NoTimePassesForReportsOfWhatHasNotStarted) {
  const Problem problem = twoChains();
  OnlineOptions options;
  options.ends_reported = true;
  OnlineEngine engine = engineFor(problem, options);
  ASSERT_TRUE(engine.apply(arrival(0, "a", 0)));
  engine.replan();
  OnlineEvent event = ofJob(EventKind::kEnd, 3, "a");  // its first op, predicted to end at 1, still runs
  event.op = OpId(1);
  EXPECT_FALSE(engine.apply(event));
  EXPECT_EQ(engine.now(), 0);
  EXPECT_TRUE(engine.takeDecisions().empty());
  event.op = OpId(0);
  event.time = 2;
  EXPECT_TRUE(engine.apply(event));
}

TEST(OnlineRefusals, RefusedEventsChangeNoDecision) {
  std::size_t refused = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const Problem problem = onlineProblem(seed, randomShape(seed));
    OnlineOptions options;
    if (seed % 3 == 1) options.work = 40;  // jobs wait outside the plan: re-plans as time passes
    const auto run = [&](bool disturbed) {
      OnlineEngine engine = engineFor(problem, options);
      std::string text;
      for (const OnlineEvent& event : randomEvents(problem, seed, 40)) {
        if (disturbed && engine.jobCount() > 0) {
          // By then every job has ended, unless no device is left for it.
          const JobReport job = engine.job(JobId(engine.jobCount() - 1));
          const double then = engine.now() + 1e9;
          if (job.open_ops > 0 && !job.left) {
            if (engine.apply(ofJob(EventKind::kLeave, then, job.name))) return std::string();
            ++refused;
          }
        }
        EXPECT_TRUE(engine.apply(event)) << seed;
        engine.replan();
        for (const Decision& decision : engine.takeDecisions())
          text += decisionText(problem, engine, decision) + "\n";
      }
      engine.finish();
      return text + std::to_string(engine.value());
    };
    const std::string disturbed = run(true);
    if (disturbed.empty()) continue;
    EXPECT_EQ(disturbed, run(false)) << seed;
  }
  EXPECT_GT(refused, 100u);
}

TEST(OnlineRefusals, RefusesDemandsLargerThanAnyDevice) {
  Problem problem = twoChains();
  problem.graph.op_memory_bytes[0] = 1000;
  for (Device& device : problem.cluster.devices) device.memory_bytes = 100;
  ASSERT_TRUE(problem.finish());
  OnlineEngine engine = engineFor(problem);
  const auto refused = engine.apply(arrival(0, "a", 0));
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("more than any device"), std::string::npos);
  EXPECT_TRUE(engine.apply(arrival(0, "b", 1)));
}

TEST(OnlineRefusals, RefusesProblemsItCannotRun) {
  Problem problem = twoChains();
  Modes modes = problem.modes;
  modes.memory = MemoryModel::kLive;
  ASSERT_TRUE(problem.setModes(modes));
  const auto live = OnlineEngine::create(problem);
  ASSERT_FALSE(live);
  EXPECT_EQ(live.error().remedy, "use --memory static");
  Constraints both;
  both.together = {{OpId(0), OpId(2)}};
  Problem joined = twoChains();
  ASSERT_TRUE(joined.addConstraints(both));
  EXPECT_FALSE(OnlineEngine::create(joined));
}

}  // namespace
}  // namespace allot
