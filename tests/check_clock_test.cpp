// The checker's own reading of times that are too short to move the clock.
#include "check/clock.h"
#include "check_maker.h"

namespace allot {
namespace {

// S = release 4 + 3 (u on the slower class) + 2 x 0.5 (a tensor with two readers) = 8 and a little, so that
// times below 2^-47 count as 0. Without any one of these terms the limit were 2^-48 or less.
class Short : public testing::Test {
 protected:
  static constexpr double kBelow = 0.9 * 0x1p-47, kAbove = 1.5 * 0x1p-47;
  Maker m;
  DeviceId a, b;
  OpId u, below, above;
  TensorId t;

  void make() {
    m.cls("fast");
    m.cls("slow");
    a = m.device("a", 0);
    b = m.device("b", 1);
    m.model("first", 1, 0);
    m.model("late", 1, 4);
    m.problem.cluster.links.push_back({LinkEnd::kAny, LinkEnd::kAny, 0, 0, 0x1p-60, 0x1p60});
    u = m.op("u", {1, 3});
    below = m.op("below", {kBelow, kCannotRun});
    above = m.op("above", {kAbove, 0});
    t = m.tensor(u, {below, above}, 0.5);
    m.tensor(below, {above}, kNan, 1);
    m.finish(Goal::kLatency);
  }
};

TEST_F(Short, CountAsZero) {
  make();
  const Clock clock(m.problem, false);
  EXPECT_EQ(clock.opSeconds(below, a), 0);
  EXPECT_EQ(clock.opSeconds(above, a), kAbove);
  EXPECT_EQ(clock.opSeconds(below, b), kCannotRun);
  EXPECT_EQ(clock.transferSeconds(t, a, b), 0.5);
  EXPECT_EQ(clock.transferSeconds(TensorId(1), a, b), 0);  // by link, 2^-59
  Findings findings;
  clock.compareTables(findings);
  EXPECT_EQ(findings.count(), 0u);
}

TEST_F(Short, EveryTermOfSCounts) {
  for (int without = 0; without < 3; ++without) {
    m = {};
    make();
    Problem less = m.problem;
    if (without == 0) less.model_release[1] = 0;
    if (without == 1) less.op_seconds[1] = kCannotRun;
    if (without == 2) less.tensor_seconds[t.index()] = 0;
    // 4, 6 and 7 s: the limit falls below 0.9 x 2^-47.
    EXPECT_EQ(Clock(less, false).opSeconds(below, a), kBelow) << without;
  }
}

TEST_F(Short, TheProblemMustAgree) {
  make();
  Plan plan = planFor(m.problem, {a, a, a}, 1 + kAbove);
  plan.start = {0, 1, 1};
  plan.end = {1, 1, 1 + kAbove};
  expectValid(m.problem, plan);
  m.problem.op_seconds[2] = kBelow;  // not dropped
  expectOnly(m.problem, plan, {"\"below\"", "\"fast\"", "as 0 s by the clock's rule"});
}

// A short op at 3, in the middle of one that takes 6 s.
TEST(CheckClock, ShortOpsHoldNoDevice) {
  for (const double seconds : {1e-17, 1e-6}) {
    Maker m;
    m.cls("acc");
    const DeviceId a = m.device("a", 0);
    m.op("u", {6});
    m.op("tiny", {seconds});
    m.finish(Goal::kLatency);
    Plan plan = planFor(m.problem, {a, a}, 6);
    plan.start = {0, 3};
    plan.end = {6, 3 + seconds};
    if (seconds < 1e-15)
      expectValid(m.problem, plan);
    else
      expectOnly(m.problem, plan, {"\"u\" until 6", "\"tiny\" at 3"});
  }
}

TEST(CheckClock, ViaHostTakesTheLinksOfAccelerators) {
  Maker m;
  m.cls("acc");
  m.cls("cpu", DeviceKind::kCpu);
  const DeviceId a = m.device("a", 0);
  m.device("c", 1);
  m.problem.cluster.devices[0].host = m.problem.cluster.devices[1].host = m.problem.cluster.internHost("h");
  auto& links = m.problem.cluster.links;
  links.push_back({LinkEnd::kDevice, LinkEnd::kHost, 0, 0, 0, 8});
  links.push_back({LinkEnd::kHost, LinkEnd::kDevice, 0, 0, 0, 16});
  links.push_back({LinkEnd::kDevice, LinkEnd::kDevice, 1, 0, 1e6, 1});
  links.push_back({LinkEnd::kDevice, LinkEnd::kDevice, 0, 1, 1e6, 1});
  const OpId u = m.op("u", {1.5 * 0x1p-50, 0}), v = m.op("v", {0.75 * 0x1p-50, 0});
  const TensorId t = m.tensor(u, {v}, kNan, 8);  // 1 s to the host, 0.5 s from it
  m.finish(Goal::kThroughput);
  ASSERT_EQ(m.problem.transfers(), Transfers::kViaHost);
  const Clock clock(m.problem, true);
  EXPECT_EQ(clock.toHostSeconds(t, a), 1);
  EXPECT_EQ(clock.fromHostSeconds(t, a), 0.5);
  EXPECT_EQ(clock.opSeconds(u, a), 1.5 * 0x1p-50);
  EXPECT_EQ(clock.opSeconds(v, a), 0);
  EXPECT_EQ(Clock(m.problem, false).opSeconds(u, a), 0);  // a million seconds between the pair
}

}  // namespace
}  // namespace allot
