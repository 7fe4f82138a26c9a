// The checker on latency by subgraph calls.
#include "check_maker.h"

namespace allot {
namespace {

// in -> p -> q -> out, q also reads in; p and q on the accelerator (1 s, 2 s), in and out on the cpu (4 s, 8
// s). One call: starts at 4, takes 0.5 (in, once) + 3 + 0.125 (q's) = 3.625; out ends at 15.625. Two calls:
// p's takes 0.5 + 1 + 0.25, q's 0.5 + 0.25 + 2 + 0.125; out ends at 4 + 1.75 + 2.875 + 8 = 16.625.
class Calls : public testing::Test {
 protected:
  Maker m;
  DeviceId acc, cpu;
  OpId in, p, q, out;
  Plan one, two;

  void make() {
    m.cls("acc", DeviceKind::kAccelerator, 0.0625);  // launches do not count here
    m.cls("cpu", DeviceKind::kCpu);
    acc = m.device("acc0", 0, 10);
    cpu = m.device("cpu0", 1);
    in = m.op("in", {kCannotRun, 4});
    p = m.op("p", {1, 9});
    q = m.op("q", {2, 9});
    out = m.op("out", {9, 8});
    m.problem.graph.op_memory_bytes[p.index()] = m.problem.graph.op_memory_bytes[q.index()] = 5;
    m.tensor(in, {p, q}, 0.5);
    m.tensor(p, {q}, 0.25);
    m.tensor(q, {out}, 0.125);
    m.problem.modes.model = LatencyModel::kSubgraphCalls;
    m.finish(Goal::kLatency);
    one = planFor(m.problem, {cpu, acc, acc, cpu}, 15.625);
    one.stages = {{{acc}, {p, q}}};
    two = one;
    two.modes.calls = 2;
    two.stages = {{{acc}, {p}}, {{acc}, {q}}};
    two.value = 16.625;
  }
};

TEST_F(Calls, Values) {
  make();
  one.start = {0, 4, 4, 7.625};
  one.end = {4, 7.625, 7.625, 15.625};
  one.devices = {{3, 0.625, 3, 10}, {12, 0, 12, 0}};
  expectValid(m.problem, one);
  expectValid(m.problem, two);
  Plan plan = one;
  plan.end[p.index()] = 5.5;
  expectOnly(m.problem, plan, {"\"p\"", "end 5.5", "7.625"});
  plan = one;
  plan.start[out.index()] = 7;
  expectOnly(m.problem, plan, {"\"out\"", "start 7", "7.625"});
  plan = one;
  plan.devices[0].communication_seconds = 0.5;
  expectOnly(m.problem, plan, {"\"acc0\"", "communication 0.5", "0.625"});
  plan = one;
  plan.modes.headroom = 0.1;
  expectOnly(m.problem, plan, {"\"acc0\" holds 10 bytes", "9"});
  expectValid(m.problem, planFor(m.problem, {cpu, cpu, cpu, cpu}, 30));
}

TEST_F(Calls, Structure) {
  make();
  Plan plan = two;
  plan.modes.calls = 1;
  expectOnly(m.problem, plan, {"\"acc0\" runs 2 calls", "may run 1"});
  plan = one;
  plan.stages[0].ops = {p};
  expectOnly(m.problem, plan, {"\"q\"", "\"acc0\" is in no call"});
  plan = one;
  plan.stages[0].ops = {p, q, p};
  expectOnly(m.problem, plan, {"\"p\" is in call 0 and again"});
  plan = one;
  plan.stages[0].ops = {p, q, out};
  expectOnly(m.problem, plan, {"\"out\"", "\"cpu0\"", "\"acc0\""});
  plan = one;
  plan.stages[0].ops.push_back(OpId(40));
  expectOnly(m.problem, plan, {"op number 40"});
  plan = one;
  plan.stages[0].devices = {cpu};
  expectOnly(m.problem, plan, {"call 0 is not on one accelerator"});
  plan = one;
  plan.stages.clear();
  EXPECT_FALSE(check(m.problem, plan).ok());
}

TEST_F(Calls, Deadlock) {
  make();
  Plan plan = two;
  std::swap(plan.stages[0], plan.stages[1]);
  expectOnly(m.problem, plan,
             {"wait for each other", "call 0 of device \"acc0\"", "call 1 of device \"acc0\""});
  plan = one;
  plan.assignment[q.index()] = cpu;
  plan.assignment[out.index()] = acc;
  plan.stages[0].ops = {p, out};
  expectOnly(m.problem, plan, {"wait for each other", "op \"q\"", "call 0"});
}

TEST_F(Calls, OrderWaitsAndCostsNothing) {
  m.cls("acc");
  m.cls("cpu", DeviceKind::kCpu);
  acc = m.device("acc0", 0);
  cpu = m.device("cpu0", 1);
  p = m.op("p", {1, 1});
  q = m.op("q", {1, 1});
  m.problem.constraints.order = {{p, q}};
  m.problem.modes.model = LatencyModel::kSubgraphCalls;
  m.finish(Goal::kLatency);
  Plan plan = planFor(m.problem, {cpu, acc}, 2);
  plan.stages = {{{acc}, {q}}};
  expectValid(m.problem, plan);
}

}  // namespace
}  // namespace allot
