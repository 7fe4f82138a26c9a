// The checker on copies of shared weights that train: who pays how much for keeping them alike.
#include "check_maker.h"

namespace allot {
namespace {

// f1 and f2 (1 s each) read block E of 100 bytes; b2 and b1 (2 s each) follow them. f1 has 40 bytes of
// weights. Links: 0.25 s and 100 bytes/s, those of c 0.5 s and 50 bytes/s.
class Tied : public testing::Test {
 protected:
  Maker m;
  DeviceId a, b, c;
  OpId f1, f2, b2, b1;

  void makeOps(Phase second) {
    m.cls("acc");
    a = m.device("a", 0);
    b = m.device("b", 0);
    c = m.device("c", 0);
    auto& links = m.problem.cluster.links;
    links.push_back({LinkEnd::kAny, LinkEnd::kAny, 0, 0, 0.25, 100});
    links.push_back({LinkEnd::kDevice, LinkEnd::kAny, c.value, 0, 0.5, 50});
    links.push_back({LinkEnd::kAny, LinkEnd::kDevice, 0, c.value, 0.5, 50});
    f1 = m.op("f1", {1});
    f2 = m.op("f2", {1});
    b2 = m.op("b2", {2}, second);
    b1 = m.op("b1", {2}, second);
    m.group({f1, b1});
    m.group({f2, b2});
    m.problem.graph.op_weight_bytes[f1.index()] = 40;
    m.block("E", 100, {f1, f2});
  }
  void make(Phase second = Phase::kBackward) {
    makeOps(second);
    m.finish(Goal::kThroughput);
  }
};

TEST_F(Tied, TwoStages) {
  make();
  // 3 + 2 x 1/2 x 100/100 + 2 x 0.25 on both; the factor does not matter.
  Plan plan = planFor(m.problem, {a, b, b, a}, 4.5);
  plan.modes.optimizer_factor = 4;
  plan.devices = {{3, 0, 4.5, 560}, {3, 0, 4.5, 400}, {0, 0, 0, 0}};
  expectValid(m.problem, plan);
  plan.devices[1].load_seconds = 3;
  expectOnly(m.problem, plan, {"\"b\"", "load 3", "4.5"});
  plan = planFor(m.problem, {a, c, c, a}, 3 + 2 + 1);  // over c's link
  expectValid(m.problem, plan);
  expectValid(m.problem, planFor(m.problem, {a, a, a, a}, 6));
}

TEST_F(Tied, BelongsToTheRestAndIsAddedAfterOverlap) {
  makeOps(Phase::kBackward);
  m.tensor(f1, {f2}, 4);
  m.finish(Goal::kThroughput);
  Plan plan = planFor(m.problem, {a, b, b, a}, 3 + 4 + 1.5);
  expectValid(m.problem, plan);
  plan.modes.overlap = Overlap::kMax;
  plan.value = 4 + 1.5;
  expectValid(m.problem, plan);
  plan.modes.training_load = TrainingLoad::kMaxParts;  // forward max(1, 4), rest 2 + 1.5
  plan.value = 7.5;
  expectValid(m.problem, plan);
}

TEST_F(Tied, AllDevicesOfTheStagesCount) {
  make();
  Plan plan = planFor(m.problem, {a, c, c, a}, 1.5 + 1.9 + 8.0 / 3 + 2);
  plan.modes.replicate = true;
  plan.stages = {{{a, b}, {f1, b1}}, {{c}, {f2, b2}}};
  // E on three devices: 2 x 2/3 x 100/50 + 4 x 0.5. The replicas besides: 2 x 1/2 x 140/100 + 2 x 0.25.
  plan.devices = {{1.5, 0, plan.value, 140}, {1.5, 0, plan.value, 140}, {3, 0, 3 + 8.0 / 3 + 2, 100}};
  expectValid(m.problem, plan);
}

TEST_F(Tied, OneStagePaysOnce) {
  make();
  Plan plan = planFor(m.problem, {a, a, a, a}, 3 + 1.4 + 0.5);
  plan.modes.replicate = true;
  plan.stages = {{{a, b}, {f1, f2, b2, b1}}};
  expectValid(m.problem, plan);
}

TEST_F(Tied, EachBlockPaysApartAndOnlyItsReaders) {
  makeOps(Phase::kUpdate);
  const OpId f3 = m.op("f3", {1});
  m.block("F", 10, {f2, f3});
  m.block("G", 20, {f3, f2});
  m.finish(Goal::kThroughput);
  // a: 3 + 1.5. b: 3 + 1.5 + (10 + 20)/50 + 2 x 1. c: 1 + 0.6 + 2, though it has forward ops alone.
  Plan plan = planFor(m.problem, {a, b, b, a, c}, 7.1);
  plan.devices = {{3, 0, 4.5, 140}, {3, 0, 7.1, 130}, {1, 0, 3.6, 30}};
  expectValid(m.problem, plan);
}

TEST_F(Tied, InferenceCopiesForNothing) {
  make(Phase::kForward);
  expectValid(m.problem, planFor(m.problem, {a, b, b, a}, 3));
  Plan plan = planFor(m.problem, {a, a, a, a}, 3);
  plan.modes.replicate = true;
  plan.stages = {{{a, b}, {f1, f2, b2, b1}}};
  expectValid(m.problem, plan);
}

}  // namespace
}  // namespace allot
