// The checker on throughput plans of tiny problems whose values are worked out by hand, and on plans that
// each break one rule.
#include "check_maker.h"

namespace allot {
namespace {

// Two accelerators and a cpu; x (2 s) -> y (3 s) -> z (4 s), ten times as long on the cpu; x's tensor takes
// 0.5 s, y's 1 s.
class Chain : public testing::Test {
 protected:
  Maker m;
  DeviceId a0, a1, c0;
  OpId x, y, z;
  TensorId xy, yz;

  void make(Goal goal = Goal::kThroughput) {
    m.cls("acc");
    m.cls("cpu", DeviceKind::kCpu);
    a0 = m.device("a0", 0, 100);
    a1 = m.device("a1", 0, 100);
    c0 = m.device("c0", 1);
    x = m.op("x", {2, 20});
    y = m.op("y", {3, 30});
    z = m.op("z", {4, 40});
    xy = m.tensor(x, {y}, 0.5, 10);
    yz = m.tensor(y, {z}, 1, 20);
    m.finish(goal);
  }
};

TEST_F(Chain, ViaHostLoads) {
  make();
  Plan plan = planFor(m.problem, {a0, a0, a1}, 6);  // a0: 2 + 3 + 1, a1: 4 + 1
  plan.devices = {{5, 1, 6, 0}, {4, 1, 5, 0}, {0, 0, 0, 0}};
  expectValid(m.problem, plan);
  plan.modes.overlap = Overlap::kMax;
  plan.devices = {{5, 1, 5, 0}, {4, 1, 4, 0}, {kNan, kNan, kNan, kNan}};
  plan.value = 5;
  expectValid(m.problem, plan);
  expectValid(m.problem, planFor(m.problem, {a0, a0, c0}, 40));  // the cpu pays no transfer
  expectValid(m.problem, planFor(m.problem, {a0, a0, a0}, 9));
}

TEST_F(Chain, DeviceClaims) {
  make();
  Plan good = planFor(m.problem, {a0, a0, a1}, 6);
  good.devices = {{5, 1, 6, 0}, {4, 1, 5, 0}, {0, 0, 0, 0}};
  Plan plan = good;
  plan.devices[0].compute_seconds = 5.1;
  expectOnly(m.problem, plan, {"\"a0\"", "compute 5.1", "5"});
  plan = good;
  plan.devices[1].communication_seconds = 0.5;
  expectOnly(m.problem, plan, {"\"a1\"", "communication 0.5", "is 1"});
  plan = good;
  plan.devices[2].load_seconds = 1;
  expectOnly(m.problem, plan, {"\"c0\"", "load 1", "is 0"});
  plan = good;
  plan.devices[1].memory_bytes = 7;
  expectOnly(m.problem, plan, {"\"a1\"", "memory 7"});
  plan.devices.resize(2);
  expectOnly(m.problem, plan, {"describes 2 devices", "3"});
}

TEST_F(Chain, Claims) {
  make();
  const Plan good = planFor(m.problem, {a0, a0, a1}, 6);
  Plan plan = good;
  plan.value = 5.9;
  expectOnly(m.problem, plan, {"claims value 5.9", "worth 6"});
  plan.value = std::numeric_limits<double>::infinity();
  expectOnly(m.problem, plan, {"claims value inf", "worth 6"});
  plan = good;
  plan.value = kNan;
  expectOnly(m.problem, plan, {"claims no value"});
  plan = good;
  plan.bound = 6.5;
  expectOnly(m.problem, plan, {"bound 6.5", "value 6"});
  plan = good;
  plan.bound = kNan;
  expectValid(m.problem, plan);
  plan.status = Status::kOptimal;
  expectOnly(m.problem, plan, {"optimal without a bound"});
  plan.bound = 5;
  expectOnly(m.problem, plan, {"optimal", "gap"});
  plan.bound = 6;
  expectValid(m.problem, plan);
  plan.status = Status::kNoPlan;
  expectOnly(m.problem, plan, {"no-plan"});
  plan = good;
  plan.modes.goal = Goal::kLatency;
  expectOnly(m.problem, plan, {"goal is latency", "throughput"});
  plan.modes.goal.reset();
  expectOnly(m.problem, plan, {"names no goal"});
}

TEST_F(Chain, OddAssignments) {
  make();
  expectOnly(m.problem, planFor(m.problem, {a0, a0}, 6), {"assigns 2 ops", "3"});
  expectOnly(m.problem, planFor(m.problem, {a0, DeviceId(), a1}, 6), {"\"y\"", "no device"});
  expectOnly(m.problem, planFor(m.problem, {a0, DeviceId(9), a1}, 6), {"\"y\"", "number 9"});
}

TEST_F(Chain, ChainOfStages) {
  make();
  Plan plan = planFor(m.problem, {a0, a1, a0}, 7.5);  // a0: 2 + 4 + 0.5 + 1
  expectOnly(m.problem, plan, {"no chain", "\"a0\"", "\"a1\""});
  plan.modes.contiguity = Contiguity::kConvex;
  expectOnly(m.problem, plan, {"\"a0\" is not convex", "\"z\"", "\"y\"", "\"a1\""});
  plan.modes.contiguity = Contiguity::kNone;
  expectValid(m.problem, plan);

  plan = planFor(m.problem, {a0, a0, a1}, 6);
  plan.stages = {{{a0}, {x, y}}, {{a1}, {z}}};
  expectValid(m.problem, plan);
  std::swap(plan.stages[0], plan.stages[1]);
  expectOnly(m.problem, plan, {"no chain", "\"y\"", "\"z\""});
}

TEST_F(Chain, OddStages) {
  make();
  Plan good = planFor(m.problem, {a0, a0, a1}, 6);
  good.stages = {{{a0}, {x, y}}, {{a1}, {z}}};
  Plan plan = good;
  plan.stages[0].ops = {x};
  expectOnly(m.problem, plan, {"\"y\" is in no stage"});
  plan = good;
  plan.stages[0].ops = {x, y, x};
  expectOnly(m.problem, plan, {"\"x\" is in stage 0 and again"});
  plan = good;
  plan.stages[0].ops.push_back(OpId(77));
  expectOnly(m.problem, plan, {"op number 77"});
  plan = good;
  plan.stages[1].devices = {a0};
  expectOnly(m.problem, plan, {"\"a0\" is in stage 0 and in stage 1"});
  plan = good;
  plan.stages[1].devices = {c0};
  expectOnly(m.problem, plan, {"\"z\"", "\"a1\"", "\"c0\""});
  plan = good;
  plan.stages[1].devices = {};
  expectOnly(m.problem, plan, {"stage 1 has no device"});
  plan = good;
  plan.stages[1].devices = {DeviceId(12)};
  expectOnly(m.problem, plan, {"stage 1", "device number 12"});
  plan = good;
  plan.stages.push_back({{c0}, {}});
  expectOnly(m.problem, plan, {"stage 2", "no ops"});
  plan = good;
  plan.modes.max_stages = 1;
  expectOnly(m.problem, plan, {"2 stages", "may have 1"});
  plan = good;
  plan.modes.max_stages = 2;
  expectValid(m.problem, plan);
}

TEST_F(Chain, Replicas) {
  make();
  Plan plan = planFor(m.problem, {a0, a0, c0}, 40);
  plan.stages = {{{a0, a1}, {x, y}}, {{c0}, {z}}};
  expectOnly(m.problem, plan, {"stage 0 has 2 devices", "without replication"});
  plan.modes.replicate = true;
  plan.devices = {{2.5, 0.5, 3, 0}, {2.5, 0.5, 3, 0}, {40, 0, 40, 0}};
  expectValid(m.problem, plan);
  plan = planFor(m.problem, {a0, a0, a0}, 4.5);
  plan.modes.replicate = true;
  plan.stages = {{{a0, a1}, {x, y, z}}};
  expectValid(m.problem, plan);
  plan.stages = {{{a0, c0}, {x, y, z}}};
  expectOnly(m.problem, plan, {"two classes", "\"acc\"", "\"cpu\""});
}

TEST(CheckPlacement, ConstraintsAreNamed) {
  Maker m;
  m.cls("acc");
  m.cls("cpu", DeviceKind::kCpu);
  const DeviceId a = m.device("a", 0), b = m.device("b", 0), c = m.device("c", 1);
  const OpId u = m.op("u", {1, kCannotRun}), v = m.op("v", {1, 1}), w = m.op("w", {1, 1}),
             s = m.op("s", {1, 1});
  m.group({u, v});
  m.problem.constraints.pin = {{w, b}};
  m.problem.constraints.forbid = {{v, b}};
  m.problem.constraints.together = {{w, s}};
  m.problem.modes.contiguity = Contiguity::kNone;
  m.finish(Goal::kThroughput);
  expectValid(m.problem, planFor(m.problem, {a, a, b, b}, 2));
  expectOnly(m.problem, planFor(m.problem, {c, c, b, b}, 2), {"\"u\" cannot run", "\"c\"", "\"cpu\""});
  expectOnly(m.problem, planFor(m.problem, {a, c, b, b}, 2), {"\"v\" is on device \"c\"", "\"u\"", "\"a\""});
  expectOnly(m.problem, planFor(m.problem, {a, a, a, a}, 4), {"\"w\" is pinned to device \"b\"", "\"a\""});
  expectOnly(m.problem, planFor(m.problem, {b, b, b, b}, 4), {"\"v\" is forbidden on device \"b\""});
  expectOnly(m.problem, planFor(m.problem, {a, a, b, a}, 3), {"\"s\" is on device \"a\"", "\"w\"", "\"b\""});
}

TEST(CheckPlacement, ReplicasObeyConstraintsToo) {
  Maker m;
  m.cls("acc");
  const DeviceId a = m.device("a", 0), b = m.device("b", 0);
  const OpId u = m.op("u", {1});
  m.problem.constraints.forbid = {{u, b}};
  m.problem.modes.replicate = true;
  m.finish(Goal::kThroughput);
  Plan plan = planFor(m.problem, {a}, 0.5);
  plan.stages = {{{a, b}, {u}}};
  expectOnly(m.problem, plan, {"\"u\" may not run on device \"b\"", "replica of stage 0"});
}

TEST(CheckThroughput, TensorIsPaidOncePerDevice) {
  Maker m;
  m.cls("acc");
  m.cls("cpu", DeviceKind::kCpu);
  const DeviceId a = m.device("a", 0), b = m.device("b", 0), c = m.device("c", 1);
  const OpId u = m.op("u", {1, 1}), v = m.op("v", {1, 1}), w = m.op("w", {1, 1}), s = m.op("s", {1, 1});
  m.tensor(u, {v, w, s}, 0.25);
  m.finish(Goal::kThroughput);
  Plan plan = planFor(m.problem, {a, b, b, c}, 2.25);
  plan.devices = {{1, 0.25, 1.25, 0}, {2, 0.25, 2.25, 0}, {1, 0, 1, 0}};
  expectValid(m.problem, plan);
  plan.modes.transfers = Transfers::kByLink;  // a sends to b and to c
  plan.devices = {{1, 0.5, 1.5, 0}, {2, 0.25, 2.25, 0}, {1, 0.25, 1.25, 0}};
  expectValid(m.problem, plan);
}

TEST(CheckThroughput, ByLinkMatrixAndLaunch) {
  Maker m;
  m.cls("acc", DeviceKind::kAccelerator, 0.125);
  const DeviceId a = m.device("a", 0), b = m.device("b", 0);
  const OpId u = m.op("u", {1}), v = m.op("v", {1}), zero = m.op("zero", {0});
  const TensorId t = m.tensor(u, {v}, kNan);
  m.problem.tensor_matrix[t.index()] = 0;
  m.problem.matrices = {0, 0.5, 2, 0};
  m.tensor(v, {zero}, 0);
  m.finish(Goal::kThroughput);
  EXPECT_EQ(m.problem.transfers(), Transfers::kByLink);
  expectValid(m.problem,
              planFor(m.problem, {a, b, b}, 1.625));  // launch after u and v, none after the op of no time
  expectValid(m.problem, planFor(m.problem, {b, a, a}, 3.125));
}

// f1 -> f2 -> b2 -> b1, f1 -> b1; group (f1, b1), (f2, b2).
class Training : public testing::Test {
 protected:
  Maker m;
  DeviceId a, b;
  OpId f1, f2, b2, b1;

  void make() {
    m.cls("acc");
    a = m.device("a", 0, 1000);
    b = m.device("b", 0, 1000);
    m.problem.cluster.links.push_back({LinkEnd::kAny, LinkEnd::kAny, 0, 0, 0.25, 100});
    f1 = m.op("f1", {1});
    f2 = m.op("f2", {3});
    b2 = m.op("b2", {4}, Phase::kBackward);
    b1 = m.op("b1", {5}, Phase::kBackward);
    m.problem.graph.op_weight_bytes[f1.index()] = 40;
    m.problem.graph.op_weight_bytes[f2.index()] = 60;
    m.group({f1, b1});
    m.group({f2, b2});
    m.tensor(f1, {f2, b1}, 0.5, 7);
    m.tensor(f2, {b2}, 0.25, 11);
    m.tensor(b2, {b1}, 2, 13);
    m.finish(Goal::kThroughput);
  }
};

TEST_F(Training, SumAndMaxParts) {
  make();
  Plan plan = planFor(m.problem, {a, b, b, a}, 9.5);  // a: 6 + 0.5 + 2, b: 7 + 0.5 + 2
  expectValid(m.problem, plan);
  plan.modes.training_load = TrainingLoad::kMaxParts;  // forward: 1.5, 3.5; rest: 7, 6
  plan.value = 10.5;
  plan.devices = {{6, 2.5, 8.5, 40}, {7, 2.5, 9.5, 60}};
  expectValid(m.problem, plan);
  plan.modes.overlap = Overlap::kMax;  // forward: 1, 3; rest: 5, 4
  plan.value = 8;
  plan.devices.clear();
  expectValid(m.problem, plan);
}

TEST_F(Training, ReplicasSynchroniseWeights) {
  make();
  Plan plan = planFor(m.problem, {a, a, a, a}, 8);  // 13 / 2 + 2 x 1/2 x 100/100 + 2 x 0.25
  plan.modes.replicate = true;
  plan.stages = {{{a, b}, {f1, f2, b2, b1}}};
  expectValid(m.problem, plan);
  plan.modes.training_load = TrainingLoad::kMaxParts;  // 4 / 2 and 9 / 2 + 1.5
  expectValid(m.problem, plan);
  plan.devices = {{6.5, 0, 8, 100}, {6.5, 0, 8, 100}};
  expectValid(m.problem, plan);
}

TEST_F(Training, SamplesInFlight) {
  make();
  Plan plan = planFor(m.problem, {a, b, b, a}, 9.5);
  plan.modes.in_flight = true;
  plan.modes.optimizer_factor = 2;
  plan.devices = {{kNan, kNan, kNan, 80 + 2 * 7}, {kNan, kNan, kNan, 120 + 11}};
  expectValid(m.problem, plan);
  plan.stages = {{{a}, {f1, b1}}, {{b}, {f2, b2}}};
  expectValid(m.problem, plan);
  plan.modes.headroom = 0.87;  // 130 bytes may be held
  expectOnly(m.problem, plan, {"\"b\" holds 131 bytes", "in flight", "130"});
}

TEST_F(Training, OrphansFollowReversedEdges) {
  m.cls("acc");
  a = m.device("a", 0);
  b = m.device("b", 0);
  f1 = m.op("f1", {1});
  f2 = m.op("f2", {1});
  b2 = m.op("b2", {1}, Phase::kBackward);
  const OpId lone = m.op("lone", {1}, Phase::kBackward);
  m.group({f2, b2});
  m.tensor(f1, {f2}, 0);
  m.tensor(f2, {b2}, 0);
  m.tensor(b2, {lone}, 0);  // lone's artificial forward op precedes f2
  m.finish(Goal::kThroughput);
  Plan plan = planFor(m.problem, {a, b, b, a}, 2);
  plan.stages = {{{a}, {f1, lone}}, {{b}, {f2, b2}}};
  expectValid(m.problem, plan);
  plan = planFor(m.problem, {a, a, a, b}, 3);
  expectValid(m.problem, plan);  // b first
  plan.stages = {{{a}, {f1, f2, b2}}, {{b}, {lone}}};
  expectOnly(m.problem, plan, {"no chain", "\"b2\"", "\"lone\"", "other way round"});
}

TEST(CheckThroughput, ConvexThroughArtificialOps) {
  Maker m;
  m.cls("acc");
  const DeviceId a = m.device("a", 0), b = m.device("b", 0);
  const OpId f1 = m.op("f1", {1}), f2 = m.op("f2", {1});
  const OpId b2 = m.op("b2", {1}, Phase::kBackward), lone = m.op("lone", {1}, Phase::kBackward),
             b1 = m.op("b1", {1}, Phase::kBackward);
  m.group({f1, b1});
  m.group({f2, b2});
  m.tensor(b2, {lone}, 0);
  m.tensor(lone, {b1}, 0);  // forward: f1 -> artificial(lone) -> f2
  m.problem.modes.contiguity = Contiguity::kConvex;
  m.finish(Goal::kThroughput);
  expectOnly(m.problem, planFor(m.problem, {a, a, a, b, a}, 4), {"\"a\" is not convex", "\"lone\"", "\"b\""});
  expectValid(m.problem, planFor(m.problem, {a, b, b, b, a}, 3));
}

TEST(CheckThroughput, ConvexSetsMayDependOnEachOther) {
  Maker m;
  m.cls("acc");
  const DeviceId a = m.device("a", 0), b = m.device("b", 0);
  const OpId a1 = m.op("a1", {1}), b1 = m.op("b1", {1}), b2 = m.op("b2", {1}), a2 = m.op("a2", {1});
  m.tensor(a1, {b1}, 0);
  m.tensor(b2, {a2}, 0);
  m.problem.modes.contiguity = Contiguity::kConvex;
  m.finish(Goal::kThroughput);
  Plan plan = planFor(m.problem, {a, b, b, a}, 2);
  expectValid(m.problem, plan);
  plan.modes.contiguity = Contiguity::kChain;
  expectOnly(m.problem, plan, {"no chain"});
}

TEST(CheckThroughput, OrderIsAForwardEdgeOfNoCost) {
  Maker m;
  m.cls("acc");
  const DeviceId a = m.device("a", 0), b = m.device("b", 0);
  const OpId u = m.op("u", {1}), v = m.op("v", {1});
  m.problem.constraints.order = {{u, v}};
  m.finish(Goal::kThroughput);
  Plan plan = planFor(m.problem, {a, b}, 1);
  plan.stages = {{{a}, {u}}, {{b}, {v}}};
  expectValid(m.problem, plan);
  std::swap(plan.stages[0], plan.stages[1]);
  expectOnly(m.problem, plan, {"no chain", "\"u\"", "\"v\""});
}

TEST(CheckMemory, StaticSumWithHeadroom) {
  Maker m;
  m.cls("acc");
  const DeviceId a = m.device("a", 0, 100), b = m.device("b", 0, 100);
  const OpId u = m.op("u", {1}), v = m.op("v", {1});
  m.problem.graph.op_memory_bytes[u.index()] = 60;
  m.problem.graph.op_weight_bytes[v.index()] = 20;
  m.finish(Goal::kThroughput);
  Plan plan = planFor(m.problem, {a, a}, 2);
  plan.modes.optimizer_factor = 2;
  expectValid(m.problem, plan);  // exactly full
  plan.modes.optimizer_factor = 3;
  expectOnly(m.problem, plan, {"\"a\" holds 120 bytes", "100"});
  plan.modes.optimizer_factor = 2;
  plan.modes.headroom = 0.05;
  expectOnly(m.problem, plan, {"\"a\" holds 100 bytes", "95"});
  plan.assignment = {a, b};
  plan.value = 1;
  expectValid(m.problem, plan);
}

}  // namespace
}  // namespace allot
