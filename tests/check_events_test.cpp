// The checker on schedules: latency and completion by events, ports, live memory.
#include "check_maker.h"

namespace allot {
namespace {

// Two devices; u (2 s) feeds v (1 s) and w (3 s) by one tensor of 0.5 s and 10 bytes; w feeds x (1 s) by one
// of 1 s.
//   a: u 0..2, v 2..3, x 6.5..7.5        b: w 2.5..5.5        transfers: u's 2..2.5 a to b, w's 5.5..6.5 b to
//   a
class Events : public testing::Test {
 protected:
  Maker m;
  DeviceId a, b;
  OpId u, v, w, x;
  TensorId ut, wt;
  Plan good;

  void make(double launch = 0) {
    m.cls("acc", DeviceKind::kAccelerator, launch);
    a = m.device("a", 0, 1000);
    b = m.device("b", 0, 1000);
    u = m.op("u", {2});
    v = m.op("v", {1});
    w = m.op("w", {3});
    x = m.op("x", {1});
    ut = m.tensor(u, {v, w}, 0.5, 10);
    wt = m.tensor(w, {x}, 1, 20);
    m.finish(Goal::kLatency);
    good = planFor(m.problem, {a, a, b, a}, 7.5);
    good.start = {0, 2, 2.5, 6.5};
    good.end = {2, 3, 5.5, 7.5};
    good.transfers = {{ut, {w}, a, b, 2, 2.5}, {wt, {x}, b, a, 5.5, 6.5}};
  }
};

TEST_F(Events, ValueAndDevices) {
  make();
  good.devices = {{4, 1.5, 4, 0}, {3, 1.5, 3, 0}};
  for (const LinkMode mode : {LinkMode::kFree, LinkMode::kFullDuplex, LinkMode::kHalfDuplex}) {
    for (const Send send : {Send::kPerEdge, Send::kOnce}) {
      good.modes.link_mode = mode;
      good.modes.send = send;
      expectValid(m.problem, good);
    }
  }
  good.devices[1].communication_seconds = 1;
  expectOnly(m.problem, good, {"\"b\"", "communication 1", "1.5"});
  good.devices[1] = {2, kNan, kNan, kNan};
  expectOnly(m.problem, good, {"\"b\"", "compute 2", "3"});
  good.devices.clear();
  good.value = 7.4;
  expectOnly(m.problem, good, {"claims value 7.4", "worth 7.5"});
}

TEST_F(Events, OpTimes) {
  make();
  Plan plan = good;
  plan.start[v.index()] = plan.end[v.index()] = kNan;
  expectOnly(m.problem, plan, {"\"v\" is not in the schedule"});
  plan.start.clear();
  plan.end.clear();
  expectOnly(m.problem, plan, {"no schedule"});
  plan.start = {0, 1};
  expectOnly(m.problem, plan, {"2 starts and 0 ends for 4 ops"});
  plan = good;
  plan.end[v.index()] = 3.25;
  expectOnly(m.problem, plan, {"\"v\" takes 1.25 s", "1 s", "\"a\""});
  plan = good;
  plan.start[u.index()] = -1;
  plan.end[u.index()] = 1;
  expectOnly(m.problem, plan, {"\"u\" starts at -1"});
}

TEST_F(Events, DevicesAreExclusive) {
  make();
  Plan plan = good;
  plan.start[v.index()] = 6;
  plan.end[v.index()] = 7;
  expectOnly(m.problem, plan, {"device \"a\" runs op \"v\" until 7", "\"x\" at 6.5"});
}

TEST_F(Events, LaunchKeepsTheDeviceBusy) {
  make(0.25);
  expectOnly(m.problem, good, {"device \"a\" runs op \"u\" until 2.25", "\"v\" at 2"});
  good.start[v.index()] = 2.25;
  good.end[v.index()] = 3.25;
  expectValid(m.problem, good);  // outputs do not wait for the launch
}

TEST_F(Events, InputsMustBeThere) {
  make();
  Plan plan = good;
  plan.start[w.index()] = 2.25;
  plan.end[w.index()] = 5.25;
  expectOnly(m.problem, plan, {"\"w\" starts at 2.25", "of op \"u\"", "\"b\" at 2.5"});
  plan = good;
  plan.transfers.pop_back();
  expectOnly(m.problem, plan, {"of op \"w\" is not sent", "\"b\"", "\"x\"", "\"a\""});
  plan.modes.link_mode = LinkMode::kFree;  // need not be listed where no port is held
  expectValid(m.problem, plan);
  plan.start[x.index()] = 6;
  plan.end[x.index()] = 7;
  plan.value = 7;
  expectOnly(m.problem, plan, {"\"x\" starts at 6", "before 6.5"});
}

TEST_F(Events, SameDeviceOrder) {
  make();
  good.start[v.index()] = 0;
  good.end[v.index()] = 1;
  good.start[u.index()] = 1;
  good.end[u.index()] = 3;
  good.transfers[0].start = 3;
  good.transfers[0].end = 3.5;
  for (double* t : {&good.start[w.index()], &good.end[w.index()], &good.start[x.index()],
                    &good.end[x.index()], &good.transfers[1].start, &good.transfers[1].end}) {
    *t += 1;
  }
  good.value = 8.5;
  expectOnly(m.problem, good, {"\"v\" starts at 0", "\"u\"", "ends at 3"});
}

TEST_F(Events, TransferEnds) {
  make();
  Plan plan = good;
  plan.transfers[0].start = 1.5;
  plan.transfers[0].end = 2;
  expectOnly(m.problem, plan, {"of op \"u\"", "\"b\" at 1.5", "ready at 2"});
  plan = good;
  plan.transfers[0].end = 2.25;
  expectOnly(m.problem, plan, {"of op \"u\"", "\"a\" to \"b\"", "0.25 s", "0.5 s"});
  plan = good;
  plan.transfers[1].from = a;
  plan.transfers[1].to = b;
  EXPECT_NE(check(m.problem, plan).violations.at(0).find("sent from device \"a\" but lies on \"b\""),
            std::string::npos);
  plan = good;
  plan.transfers[0].consumers = {w, x};
  expectOnly(m.problem, plan, {"of op \"u\"", "op \"x\"", "does not read it"});
  plan.transfers[0].consumers = {w, v};
  expectOnly(m.problem, plan, {"of op \"u\"", "\"v\"", "is on \"a\""});
  plan.transfers[0].consumers = {w, OpId(99)};
  expectOnly(m.problem, plan, {"unknown op"});
  plan = good;
  plan.transfers.push_back({TensorId(50), {w}, a, b, 0, 0});
  expectOnly(m.problem, plan, {"tensor number 50"});
  plan.transfers.back() = {ut, {w}, DeviceId(8), b, 0, 0};
  expectOnly(m.problem, plan, {"unknown device"});
  plan.transfers.back() = {ut, {w}, a, b, kNan, 3};
  expectOnly(m.problem, plan, {"no start or end"});
}

TEST_F(Events, FilesMayLeaveValuesOut) {
  make();
  good.devices.assign(2, {kNan, kNan, kNan, kNan});
  good.bound = kNan;
  good.completion = {kNan};
  expectValid(m.problem, good);
  good.completion = {7};
  expectOnly(m.problem, good, {"completion 7", "7.5"});
}

// u on a feeds v and w on b by one tensor of 1 s.
class Fan : public testing::Test {
 protected:
  Maker m;
  DeviceId a, b;
  OpId u, v, w;
  TensorId t;
  Plan once, per_edge;

  void make() {
    m.cls("acc");
    a = m.device("a", 0, 100);
    b = m.device("b", 0, 100);
    u = m.op("u", {1});
    v = m.op("v", {1});
    w = m.op("w", {1});
    t = m.tensor(u, {v, w}, 1, 10);
    m.problem.graph.op_workspace_bytes[w.index()] = 5;
    m.problem.graph.op_memory_bytes[v.index()] = 3;
    m.finish(Goal::kLatency);
    once = planFor(m.problem, {a, b, b}, 4);
    once.start = {0, 2, 3};
    once.end = {1, 3, 4};
    once.transfers = {{t, {v, w}, a, b, 1, 2}};
    per_edge = once;
    per_edge.modes.send = Send::kPerEdge;
    per_edge.transfers = {{t, {v}, a, b, 1, 2}, {t, {w}, a, b, 2, 3}};
  }
};

TEST_F(Fan, SendModes) {
  make();
  expectValid(m.problem, once);
  expectValid(m.problem, per_edge);
  Plan plan = once;
  plan.modes.send = Send::kPerEdge;
  expectOnly(m.problem, plan, {"of op \"u\"", "\"b\" serves 2 consumers"});
  plan = once;
  plan.transfers[0].consumers = {v};
  plan.modes.link_mode = LinkMode::kFree;
  expectOnly(m.problem, plan, {"of op \"u\"", "serves 1 of its 2"});
  plan = per_edge;
  plan.transfers.push_back({t, {w}, a, b, 3, 4});
  expectOnly(m.problem, plan, {"sent twice to op \"w\"", "\"b\""});
  plan = once;
  plan.transfers.push_back({t, {v, w}, a, b, 2, 3});
  const auto violations = check(m.problem, plan).violations;
  ASSERT_FALSE(violations.empty());
  EXPECT_NE(violations.back().find("\"b\" more than once"), std::string::npos);
}

TEST_F(Fan, Ports) {
  make();
  per_edge.transfers[1].start = 1.5;
  per_edge.transfers[1].end = 2.5;
  const auto violations = check(m.problem, per_edge).violations;
  ASSERT_EQ(violations.size(), 2u);
  EXPECT_NE(violations[0].find("the send port of device \"a\""), std::string::npos);
  EXPECT_NE(violations[1].find("the receive port of device \"b\""), std::string::npos);
  EXPECT_NE(violations[1].find("until 2 "), std::string::npos);
  per_edge.modes.link_mode = LinkMode::kFree;
  expectValid(m.problem, per_edge);
}

TEST_F(Fan, LiveMemory) {
  make();
  once.modes.memory = MemoryModel::kLive;
  once.devices = {{1, 1, 1, 10}, {2, 1, 2, 18}};  // b: 3 resident, 10 from 1 to 4, 5 while w runs
  expectValid(m.problem, once);
  once.modes.headroom = 0.83;
  expectOnly(m.problem, once, {"\"b\" holds 18 bytes", "17"});
  once.modes.headroom = 0;
  once.devices[0].memory_bytes = 20;
  expectOnly(m.problem, once, {"\"a\"", "memory 20", "10"});
  per_edge.modes.memory = MemoryModel::kLive;
  per_edge.devices = {{kNan, kNan, kNan, 10}, {kNan, kNan, kNan, 18}};  // the tensor lies on b once
  expectValid(m.problem, per_edge);
}

TEST(CheckEvents, LiveFreesBeforeItTakes) {
  Maker m;
  m.cls("acc");
  const DeviceId a = m.device("a", 0, 30);
  const OpId u = m.op("u", {1}), v = m.op("v", {1}), zero = m.op("zero", {0}), w = m.op("w", {1});
  m.tensor(u, {v}, 0, 10);
  m.tensor(v, {zero}, 0, 20);                               // dies at 2, when zero ends
  m.tensor(zero, {w}, 0, 25);                               // lives from 2
  m.tensor(w, {}, 0, 5);                                    // stays
  m.problem.graph.op_workspace_bytes[zero.index()] = 1000;  // of no length
  m.problem.modes.memory = MemoryModel::kLive;
  m.finish(Goal::kLatency);
  Plan plan = planFor(m.problem, {a, a, a, a}, 3);
  plan.start = {0, 1, 2, 2};
  plan.end = {1, 2, 2, 3};
  plan.devices = {{3, 0, 3, 30}};
  expectValid(m.problem, plan);
  plan.modes.headroom = 0.1;
  expectOnly(m.problem, plan, {"\"a\" holds 30 bytes", "27"});
}

TEST(CheckEvents, HalfDuplexHasOnePort) {
  Maker m;
  m.cls("acc");
  const DeviceId a = m.device("a", 0), b = m.device("b", 0);
  const OpId u = m.op("u", {1}), v = m.op("v", {1}), x = m.op("x", {1}), y = m.op("y", {1});
  const TensorId s = m.tensor(u, {v}, 1), t = m.tensor(x, {y}, 1);
  m.finish(Goal::kLatency);
  Plan plan = planFor(m.problem, {a, b, b, a}, 3);
  plan.start = {0, 2, 0, 2};
  plan.end = {1, 3, 1, 3};
  plan.transfers = {{s, {v}, a, b, 1, 2}, {t, {y}, b, a, 1, 2}};
  expectValid(m.problem, plan);
  plan.modes.link_mode = LinkMode::kHalfDuplex;
  const auto violations = check(m.problem, plan).violations;
  ASSERT_EQ(violations.size(), 2u);
  EXPECT_NE(violations[0].find("the port of device \"a\""), std::string::npos);
}

TEST(CheckEvents, ZeroTimesHoldNothing) {
  Maker m;
  m.cls("acc");
  const DeviceId a = m.device("a", 0), b = m.device("b", 0);
  m.op("u", {2});
  const OpId v = m.op("v", {0}), w = m.op("w", {1});
  m.tensor(v, {w}, 0);
  m.finish(Goal::kLatency);
  Plan plan = planFor(m.problem, {a, a, b}, 2);
  plan.start = {0, 1, 1};  // v in the middle of u, its tensor moved in no time
  plan.end = {2, 1, 2};
  expectValid(m.problem, plan);
  plan.start[w.index()] = 0.5;
  plan.end[w.index()] = 1.5;
  expectOnly(m.problem, plan, {"\"w\" starts at 0.5", "before 1"});
}

TEST(CheckEvents, OrderAcrossDevices) {
  Maker m;
  m.cls("acc");
  const DeviceId a = m.device("a", 0), b = m.device("b", 0);
  const OpId u = m.op("u", {2}), v = m.op("v", {1});
  m.problem.constraints.order = {{u, v}};
  m.finish(Goal::kLatency);
  Plan plan = planFor(m.problem, {a, b}, 3);
  plan.start = {0, 2};
  plan.end = {2, 3};
  expectValid(m.problem, plan);
  Plan sent = plan;
  sent.transfers = {{TensorId(0), {v}, a, b, 2, 2}};
  expectOnly(m.problem, sent, {"order constraint"});
  plan.start[1] = 1;
  plan.end[1] = 2;
  plan.value = 2;
  expectOnly(m.problem, plan, {"\"v\" starts at 1", "\"u\"", "ends at 2"});
}

TEST(CheckCompletion, WeightsAndReleases) {
  Maker m;
  m.cls("acc");
  const DeviceId a = m.device("a", 0);
  m.model("first", 2, 0);
  const ModelId second = m.model("second", 3, 1.5);
  const OpId u = m.op("u", {1}), v = m.op("v", {1});
  m.problem.graph.op_model[v.index()] = second;
  m.finish(Goal::kCompletion);
  Plan plan = planFor(m.problem, {a, a}, 2 * 1 + 3 * 2.5);
  plan.start = {0, 1.5};
  plan.end = {1, 2.5};
  plan.completion = {1, 2.5};
  expectValid(m.problem, plan);
  plan.completion[u.index()] = 2;
  expectOnly(m.problem, plan, {"\"first\"", "completion 2", "1"});
  plan.completion = {1};
  expectOnly(m.problem, plan, {"1 completions for 2 models"});
  plan.completion.clear();
  plan.start[1] = 1;
  plan.end[1] = 2;
  plan.value = 8;
  expectOnly(m.problem, plan, {"\"v\" starts at 1", "release 1.5"});
}

}  // namespace
}  // namespace allot
