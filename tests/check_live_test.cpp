// The checker on live memory: throughput by the reference order, schedules with model inputs.
#include "check_maker.h"

namespace allot {
namespace {

// x (10 bytes) feeds y (20 bytes, workspace 4) and z (30 bytes, workspace 1), both feed w (5 bytes that
// nobody reads). A model input of 7 bytes is read by x and z. x holds 2 bytes, w 3 of weights.
class Live : public testing::Test {
 protected:
  Maker m;
  DeviceId a, b;
  OpId x, y, z, w;

  void make(bool z_first = false) {
    m.cls("acc");
    a = m.device("a", 0, 1000);
    b = m.device("b", 0, 1000);
    x = m.op("x", {1});
    y = m.op("y", {1});
    z = m.op("z", {1});
    w = m.op("w", {1});
    m.tensor(x, {y, z}, 0, 10);
    m.tensor(y, {w}, 0, 20);
    m.tensor(z, {w}, 0, 30);
    m.tensor(w, {}, 0, 5);
    m.input(7, {x, z});
    OpGraph& graph = m.problem.graph;
    graph.op_workspace_bytes[y.index()] = 4;
    graph.op_workspace_bytes[z.index()] = 1;
    graph.op_memory_bytes[x.index()] = 2;
    graph.op_weight_bytes[w.index()] = 3;
    if (z_first) graph.order_hint = {x, z, y, w};
    m.problem.modes.memory = MemoryModel::kLive;
    m.problem.modes.contiguity = Contiguity::kNone;
    m.finish(Goal::kThroughput);
  }
};

TEST_F(Live, OneDevice) {
  make();
  // x: 5 + 7 + 10; y: 5 + 7 + 10 + 20 + 4; z: 5 + 7 + 10 + 20 + 30 + 1 = 73; w: 5 + 20 + 30 + 5.
  Plan plan = planFor(m.problem, {a, a, a, a}, 4);
  expectMemory(m.problem, plan, {73, 0});
  plan.modes.memory = MemoryModel::kStatic;
  expectMemory(m.problem, plan, {5, 0});
  plan.modes.memory.reset();  // what the plan leaves open is the problem's
  expectMemory(m.problem, plan, {73, 0});
  plan.modes.headroom = 0.9375;  // 62.5 bytes
  expectOnly(m.problem, plan,
             {"\"a\" holds 73 bytes at op \"z\"", "tensors 67 bytes", "workspace 1 byte", "may hold 62",
              "needs 10.5 bytes more", "fits with headroom 0.927"});
}

TEST_F(Live, OrderHint) {
  make(true);
  // x: 22; z: 5 + 7 + 10 + 30 + 1; y: 5 + 10 + 30 + 20 + 4 = 69; w: 60.
  expectMemory(m.problem, planFor(m.problem, {a, a, a, a}, 4), {69, 0});
}

TEST_F(Live, SentAndReceived) {
  make();
  // a: x 2 + 7 + 10, y 2 + 10 + 20 + 4 = 36. b: z 3 + 10 + 20 + 7 + 30 + 1 = 71, w 3 + 20 + 30 + 5; once more
  // the 10 and 20 that it receives.
  expectMemory(m.problem, planFor(m.problem, {a, a, b, b}, 2), {36, 101});
  // a: x 5 + 10 + 7 + 20, z 5 + 10 + 7 + 20 + 30 + 1 = 73, w 5 + 10 (sent) + 20 + 30 + 5; once more 20.
  // b: y 10 + 20 + 4; once more 10.
  expectMemory(m.problem, planFor(m.problem, {a, b, a, a}, 3), {93, 44});
}

TEST_F(Live, Replicas) {
  make();
  Plan plan = planFor(m.problem, {a, a, a, a}, 2);
  plan.modes.replicate = true;
  plan.stages = {{{a, b}, {x, y, z, w}}};
  expectMemory(m.problem, plan, {73, 73});
}

TEST(CheckLive, ModelsOneAfterTheOther) {
  Maker m;
  m.cls("acc");
  const DeviceId a = m.device("a", 0);
  m.model("first", 1, 0);
  const ModelId second = m.model("second", 1, 0);
  const OpId p = m.op("p", {1}), s = m.op("s", {1}), q = m.op("q", {1}), t = m.op("t", {1});
  m.problem.graph.op_model[s.index()] = m.problem.graph.op_model[t.index()] = second;
  m.tensor(p, {q}, 0, 10);
  m.tensor(s, {t}, 0, 20);
  m.problem.modes.memory = MemoryModel::kLive;
  m.finish(Goal::kThroughput);
  expectMemory(m.problem, planFor(m.problem, {a, a, a, a}, 4), {20});
}

// f1 (7 bytes) feeds f2 and b1, f2 (11) feeds b2, b2 (13) feeds b1; 40 and 60 bytes of weights.
TEST(CheckLive, TrainingAndSamplesInFlight) {
  Maker m;
  m.cls("acc");
  const DeviceId a = m.device("a", 0), b = m.device("b", 0);
  const OpId f1 = m.op("f1", {1}), f2 = m.op("f2", {1});
  const OpId b2 = m.op("b2", {1}, Phase::kBackward), b1 = m.op("b1", {1}, Phase::kBackward);
  m.problem.graph.op_weight_bytes[f1.index()] = 40;
  m.problem.graph.op_weight_bytes[f2.index()] = 60;
  m.tensor(f1, {f2, b1}, 0, 7);
  m.tensor(f2, {b2}, 0, 11);
  m.tensor(b2, {b1}, 0, 13);
  m.group({f1, b1});
  m.group({f2, b2});
  m.problem.modes.memory = MemoryModel::kLive;
  m.finish(Goal::kThroughput);
  Plan plan = planFor(m.problem, {a, b, b, a}, 2);
  // a: 40 + 7 + 13 at both ops, 13 once more. b: f2 60 + 7 + 11, b2 60 + 11 + 13 = 84; 7 once more.
  expectMemory(m.problem, plan, {73, 91});
  plan.modes.in_flight = true;  // two samples on a, one on b
  expectMemory(m.problem, plan, {73 + 7, 91});
  plan.modes.memory = MemoryModel::kStatic;
  expectMemory(m.problem, plan, {40 + 2 * 7, 60 + 11});
}

// a: u 0..2, v 2..3, x 6.5..7.5; b: w 2.5..5.5. u's 10 bytes go to b at 2..2.5, w's 20 to a at 5.5..6.5.
TEST(CheckLive, ScheduleWithModelInputsAndBlocks) {
  Maker m;
  m.cls("acc");
  const DeviceId a = m.device("a", 0), b = m.device("b", 0);
  const OpId u = m.op("u", {2}), v = m.op("v", {1}), w = m.op("w", {3}), x = m.op("x", {1});
  const TensorId ut = m.tensor(u, {v, w}, 0.5, 10), wt = m.tensor(w, {x}, 1, 20);
  m.input(7, {x, w, v});  // on a from 2 to 7.5, on b from 2.5 to 5.5
  m.block("E", 100, {u, v, w});
  m.problem.modes.memory = MemoryModel::kLive;
  m.finish(Goal::kLatency);
  Plan plan = planFor(m.problem, {a, a, b, a}, 7.5);
  plan.start = {0, 2, 2.5, 6.5};
  plan.end = {2, 3, 5.5, 7.5};
  plan.transfers = {{ut, {w}, a, b, 2, 2.5}, {wt, {x}, b, a, 5.5, 6.5}};
  // a: 10, then 17 from 2, 7 from 3, 27 from 5.5. b: 10 from 2, 37 from 2.5, 20 from 5.5.
  expectMemory(m.problem, plan, {127, 137});
  m.problem.cluster.devices[b.index()].memory_bytes = 130;
  expectOnly(m.problem, plan,
             {"\"b\" holds 137 bytes at op \"w\"", "weights 100", "tensors 37", "needs 7 bytes more"});
}

// A model input without length takes nothing; neither does one that is read nowhere else at that time.
TEST(CheckLive, InputsFreeBeforeTheyTake) {
  Maker m;
  m.cls("acc");
  const DeviceId a = m.device("a", 0);
  const OpId u = m.op("u", {1}), v = m.op("v", {1}), zero = m.op("zero", {0});
  m.input(10, {u});
  m.input(20, {v});
  m.input(500, {zero});
  m.problem.modes.memory = MemoryModel::kLive;
  m.finish(Goal::kCompletion);
  Plan plan = planFor(m.problem, {a, a, a}, 2);
  plan.start = {0, 1, 1};
  plan.end = {1, 2, 1};
  expectMemory(m.problem, plan, {20});
}

// p (1 s, 5 bytes) feeds q, which takes no time and puts out 100 bytes that nobody reads, at the very end.
TEST(CheckLive, WhatNobodyReadsCountsEvenAtTheVeryEnd) {
  Maker m;
  m.cls("acc");
  const DeviceId a = m.device("a", 0, 10);
  const OpId p = m.op("p", {1}), q = m.op("q", {0});
  m.tensor(p, {q}, 0, 5);
  m.tensor(q, {}, 0, 100);
  m.problem.modes.memory = MemoryModel::kLive;
  m.finish(Goal::kLatency);
  Plan plan = planFor(m.problem, {a, a}, 1);
  plan.start = {0, 1};
  plan.end = {1, 1};
  expectOnly(m.problem, plan, {"\"a\" holds 100 bytes at op \"q\"", "may hold 10"});
  m.problem.cluster.devices[0].memory_bytes = 100;  // p's 5 bytes are freed first
  expectMemory(m.problem, plan, {100});
}

}  // namespace
}  // namespace allot
