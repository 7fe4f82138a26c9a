// The rules people use today, on hand-checked cases.
#include "baselines_support.h"

namespace allot::baselines_test {
namespace {

TEST(Baselines, SingleReportsEveryKindOfDeviceThatCanHoldAll) {
  Maker m(Goal::kThroughput);
  m.device().device(DeviceKind::kAccelerator, 5).cpu(6).device().chain({3, 3});
  m.problem.constraints.forbid.emplace_back(OpId(1), DeviceId(3));
  const std::vector<Plan> plans = run(m.done(), "single");
  ASSERT_EQ(plans.size(), 2u);  // d1 is too small, d3 is forbidden
  EXPECT_EQ(devicesOf(plans[0]), (Devices{0, 0}));
  EXPECT_EQ(devicesOf(plans[1]), (Devices{2, 2}));
}

TEST(Baselines, SingleReportsDevicesThatAreAlikeOnce) {
  Maker m(Goal::kThroughput);
  m.device();
  for (int i = 0; i < 3; ++i)
    m.problem.cluster.devices.push_back({"x" + std::to_string(i), ClassId(0), {}, HostId()});
  m.chain({1, 1});
  EXPECT_EQ(run(m.done(), "single").size(), 1u);
}

TEST(Baselines, EvenSplitGivesTheRemainderToStagesBeforeTheLast) {
  Maker seven(Goal::kThroughput);
  seven.cpu().device().device().device().chain(std::vector<std::int64_t>(7, 0));
  EXPECT_EQ(place(seven.done(), "even-split"), (Devices{1, 1, 2, 2, 2, 3, 3}));
  Maker eight(Goal::kThroughput);
  eight.device().device().device().chain(std::vector<std::int64_t>(8, 0));
  EXPECT_EQ(place(eight.done(), "even-split"), (Devices{0, 0, 0, 1, 1, 1, 2, 2}));
}

TEST(Baselines, EvenSplitKeepsToTheStageLimitAndFewOps) {
  Maker m(Goal::kThroughput);
  m.device().device().device().chain(std::vector<std::int64_t>(4, 0));
  m.problem.modes.max_stages = 2;
  EXPECT_EQ(place(m.done(), "even-split"), (Devices{0, 0, 1, 1}));
  Maker one(Goal::kThroughput);
  one.device().device().device().chain({0});
  EXPECT_EQ(place(one.done(), "even-split"), (Devices{1}));
}

TEST(Baselines, CpusJoinWhenAcceleratorsCannotHoldTheParts) {
  Maker m(Goal::kThroughput);
  m.device(DeviceKind::kAccelerator, 2).cpu().chain({1, 1, 1, 1});
  EXPECT_EQ(place(m.done(), "even-split"), (Devices{0, 0, 1, 1}));
  Maker full(Goal::kThroughput);
  full.device(DeviceKind::kAccelerator, 1).cpu(1).chain({1, 1, 1, 1});
  EXPECT_EQ(place(full.done(), "even-split"), Devices{});
}

TEST(Baselines, DeepspeedMinimisesTheLargestPart) {
  Maker m(Goal::kThroughput);
  m.device().device().chain({0, 0, 0, 0, 0}, {1, 2, 3, 4, 5});
  EXPECT_EQ(place(m.done(), "deepspeed-parameters"), (Devices{0, 0, 0, 1, 1}));
  Maker no_weights(Goal::kThroughput);
  no_weights.device().device().chain({9, 0, 0, 0});
  EXPECT_EQ(place(no_weights.done(), "deepspeed-parameters"), (Devices{0, 0, 1, 1}));
}

TEST(Baselines, MemoryProportionalUsesLargestRemainders) {
  Maker m(Goal::kThroughput);  // shares of 7: 4.2, 2.1, 0.7
  m.device(DeviceKind::kAccelerator, 60)
      .device(DeviceKind::kAccelerator, 30)
      .device(DeviceKind::kAccelerator, 10);
  m.chain(std::vector<std::int64_t>(7, 1));
  EXPECT_EQ(place(m.done(), "memory-proportional"), (Devices{0, 0, 0, 0, 1, 1, 2}));
  Maker unlimited(Goal::kThroughput);
  unlimited.device().device().chain({1, 1, 1});
  EXPECT_EQ(place(unlimited.done(), "memory-proportional"), (Devices{0, 0, 1}));
}

TEST(Baselines, AccelerateSequentialKeepsRoomForTheLargestRemaining) {
  Maker m(Goal::kThroughput);  // d0: 10 - 3 kept free holds two; d1 holds three; the cpu is last and keeps
                               // nothing free
  m.device(DeviceKind::kAccelerator, 10).device(DeviceKind::kAccelerator, 10).cpu(9);
  m.chain(std::vector<std::int64_t>(8, 3));
  EXPECT_EQ(place(m.done(), "accelerate-sequential"), (Devices{0, 0, 1, 1, 1, 2, 2, 2}));
}

TEST(Baselines, AccelerateBalancedCapsAllAcceleratorsButTheLast) {
  Maker m(Goal::kThroughput);  // 24 / 2 + 1.25 x 3 = 15.75, less 3 kept free: four of three bytes
  m.device(DeviceKind::kAccelerator, 100).device(DeviceKind::kAccelerator, 100).cpu();
  m.chain(std::vector<std::int64_t>(8, 3));
  EXPECT_EQ(place(m.done(), "accelerate-balanced"), (Devices{0, 0, 0, 0, 1, 1, 1, 1}));
  EXPECT_EQ(place(m.problem, "accelerate-sequential"), Devices(8, 0));
}

TEST(Baselines, AccelerateSkipsDevicesThatMayNotRunAModule) {
  Maker m(Goal::kThroughput);
  m.device().device().chain({1, 1, 1});
  m.problem.constraints.forbid.emplace_back(OpId(1), DeviceId(0));
  EXPECT_EQ(place(m.done(), "accelerate-sequential"), (Devices{0, 1, 1}));
}

TEST(Baselines, OrtBudgetStopsAtTheFirstThatDoesNotFit) {
  Maker m(Goal::kThroughput);  // 1.5 x (3 + 3) = 9 fits in 10, one more does not; the last would, but is not
                               // looked at
  m.cpu().device(DeviceKind::kAccelerator, 10).device().chain({3, 3, 3, 0});
  EXPECT_EQ(place(m.done(), "ort-budget"), (Devices{1, 1, 0, 0}));
  Maker no_cpu(Goal::kThroughput);
  no_cpu.device(DeviceKind::kAccelerator, 10).device().chain({3, 3, 3});
  EXPECT_EQ(place(no_cpu.done(), "ort-budget"), (Devices{0, 0, 1}));
  Maker cpus(Goal::kThroughput);
  cpus.cpu().chain({1});
  EXPECT_FALSE(solver("ort-budget").accepts(cpus.done()));
}

TEST(ModuleOrder, MergesUnitsThatContainEachOthersPaths) {
  Maker m(Goal::kThroughput);
  m.device().device().chain({1, 2, 4, 8, 16});
  m.problem.constraints.together = {{OpId(1), OpId(3)}};
  const ModuleOrder order = moduleOrder(m.done());
  const std::vector<Block>& blocks = order.blocks;
  ASSERT_EQ(blocks.size(), 3u);
  EXPECT_EQ(blocks[1].ops, 3u);
  EXPECT_EQ(blocks[1].resident_bytes, 14);
  EXPECT_EQ(place(m.problem, "even-split"), (Devices{0, 0, 0, 0, 1}));
}

TEST(ModuleOrder, OrphanBackwardUnitsFollowReversedEdges) {
  Maker m(Goal::kThroughput);
  m.device().device();
  const OpId orphan = m.phased(Phase::kBackward);
  const OpId f0 = m.phased(Phase::kForward), f1 = m.phased(Phase::kForward);
  const OpId b1 = m.phased(Phase::kBackward), b0 = m.phased(Phase::kBackward);
  m.edge(f0, f1);
  m.edge(f1, b1);
  m.edge(b1, b0);
  m.edge(b1, orphan);  // reversed: the orphan's unit precedes b1's
  m.problem.constraints.together = {{f0, b0}, {f1, b1}};
  const ModuleOrder order = moduleOrder(m.done());
  const std::vector<Block>& blocks = order.blocks;
  ASSERT_EQ(blocks.size(), 3u);
  EXPECT_EQ(blocks[2].units.front(), m.problem.unit(f1));
}

}  // namespace
}  // namespace allot::baselines_test
