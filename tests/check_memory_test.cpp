// The checker on resident bytes: what counts, blocks of shared weights, rounding, limits and their messages.
#include "check_maker.h"

namespace allot {
namespace {

constexpr std::int64_t kGiB = std::int64_t{1} << 30;

// u, v, w (1 s each); u holds 10 bytes, 5 of activations and 7 of weights, v 3 of weights. Block E of 20
// bytes is read by all, F of 4 by v and w.
class Shared : public testing::Test {
 protected:
  Maker m;
  DeviceId a, b;
  OpId u, v, w;

  void make(Goal goal, std::optional<std::int64_t> memory = {}) {
    m.cls("acc");
    a = m.device("a", 0, memory);
    b = m.device("b", 0, memory);
    u = m.op("u", {1});
    v = m.op("v", {1});
    w = m.op("w", {1});
    OpGraph& graph = m.problem.graph;
    graph.op_memory_bytes[u.index()] = 10;
    graph.op_activation_bytes[u.index()] = 5;
    graph.op_weight_bytes[u.index()] = 7;
    graph.op_weight_bytes[v.index()] = 3;
    m.block("E", 20, {u, v, w});
    m.block("F", 4, {v, w});
    m.finish(goal);
  }
};

TEST_F(Shared, EachBlockOncePerDevice) {
  make(Goal::kThroughput);
  Plan plan = planFor(m.problem, {a, a, b}, 2);
  expectMemory(m.problem, plan, {15 + 7 + 3 + 20 + 4, 20 + 4});
  plan.modes.optimizer_factor = 2;
  expectMemory(m.problem, plan, {15 + 2 * 34, 2 * 24});
  plan.modes.optimizer_factor = 1.5;
  expectMemory(m.problem, plan, {15 + 51, 36});
  plan = planFor(m.problem, {a, a, a}, 3);
  expectMemory(m.problem, plan, {49, 0});
}

TEST_F(Shared, WeightsAreMultipliedOnce) {
  make(Goal::kThroughput, 26);
  Plan plan = planFor(m.problem, {a, a, b}, 2);
  plan.modes.optimizer_factor = 0.3125;  // 34 x 0.3125 = 10.625; 24 x 0.3125 = 7.5
  expectMemory(m.problem, plan, {25.625, 7.5});
  plan.devices = memoryOf({26, 7.5});
  expectOnly(m.problem, plan, {"\"a\"", "memory 26", "holds 25.625 bytes"});
}

TEST_F(Shared, ReplicasHoldWhatTheirStageHolds) {
  make(Goal::kThroughput);
  Plan plan = planFor(m.problem, {a, a, a}, 1.5);
  plan.modes.replicate = true;
  plan.stages = {{{a, b}, {u, v, w}}};
  expectMemory(m.problem, plan, {49, 49});
}

TEST_F(Shared, Schedules) {
  make(Goal::kLatency);
  Plan plan = planFor(m.problem, {a, a, b}, 2);
  plan.start = {0, 1, 0};
  plan.end = {1, 2, 1};
  expectMemory(m.problem, plan, {49, 24});
  plan.modes.memory = MemoryModel::kLive;  // no tensors: the same, activations included
  expectMemory(m.problem, plan, {49, 24});
  plan.modes.model = LatencyModel::kSubgraphCalls;
  expectOnly(m.problem, plan, {"subgraph-calls", "static"});
  plan.modes.memory.reset();
  plan.stages = {{{a}, {u, v}}, {{b}, {w}}};
  plan.start.clear();
  plan.end.clear();
  expectMemory(m.problem, plan, {49, 24});
}

TEST_F(Shared, LimitsAreExact) {
  make(Goal::kThroughput, 48);
  const Plan plan = planFor(m.problem, {a, a, b}, 2);
  expectOnly(m.problem, plan,
             {"\"a\" holds 49 bytes", "weights 34 bytes", "memory of ops 15 bytes", "may hold 48 bytes",
              "needs 1 byte more"});
  m.problem.cluster.devices[0].memory_bytes = 49;
  expectValid(m.problem, plan);
}

TEST(CheckMemory, AByteTooManyIsTooMany) {
  Maker m;
  m.cls("acc");
  const DeviceId a = m.device("a", 0, 16 * kGiB);
  const OpId u = m.op("u", {1});
  m.problem.graph.op_weight_bytes[u.index()] = 16 * kGiB + 1;
  m.finish(Goal::kThroughput);
  const Plan plan = planFor(m.problem, {a}, 1);
  expectOnly(m.problem, plan, {"holds 17179869185 bytes", "may hold 17179869184 bytes", "needs 1 byte more"});
  m.problem.graph.op_weight_bytes[u.index()] = 16 * kGiB;
  expectValid(m.problem, plan);
}

TEST(CheckMemory, MessagesNameTheOpAndTheWayOut) {
  Maker m;
  m.cls("acc");
  const DeviceId a = m.device("gpu", 0, 15 * kGiB);
  const OpId u = m.op("matmul", {1}), v = m.op("softmax", {1});
  m.problem.graph.op_weight_bytes[u.index()] = kGiB;
  m.problem.graph.op_workspace_bytes[v.index()] = kGiB / 2;
  m.tensor(u, {v}, 0, 12 * kGiB);
  m.tensor(v, {}, 0, 12 * kGiB);
  m.problem.default_memory = MemoryModel::kLive;
  m.finish(Goal::kThroughput);
  Plan plan = planFor(m.problem, {a, a}, 2);
  expectOnly(m.problem, plan,
             {"\"gpu\" holds 25.5 GiB at op \"softmax\"", "weights 1 GiB", "tensors 24 GiB",
              "workspace 512 MiB", "may hold 15 GiB", "needs 10.5 GiB more"});
  plan.modes.memory = MemoryModel::kStatic;
  plan.modes.headroom = 0.96;
  expectOnly(m.problem, plan,
             {"holds 1 GiB (weights 1 GiB)", "may hold 614.4 MiB", "fits with headroom 0.9333"});
  plan.modes.headroom = 0.9333;
  expectValid(m.problem, plan);
}

TEST(CheckMemory, BytesBeyondWhatADoubleHoldsSingly) {
  Maker m;
  m.cls("acc");
  const std::int64_t huge = (std::int64_t{1} << 59) + 1;
  const DeviceId a = m.device("a", 0, huge);
  const OpId u = m.op("u", {1}), v = m.op("v", {1});
  m.problem.graph.op_weight_bytes[u.index()] = huge - 3;
  m.problem.graph.op_memory_bytes[v.index()] = 3;
  m.finish(Goal::kThroughput);
  Plan plan = planFor(m.problem, {a, a}, 2);
  plan.devices = memoryOf({0x1p59 + 128});
  expectValid(m.problem, plan);
  plan.devices = memoryOf({0x1p59 * (1 + 1e-9)});
  expectOnly(m.problem, plan, {"\"a\"", "says memory"});
}

TEST(CheckModes, ThoseThatMeanNothingTogether) {
  Maker m;
  m.cls("acc");
  const DeviceId a = m.device("a", 0), b = m.device("b", 0);
  const OpId u = m.op("u", {1}), v = m.op("v", {1});
  const TensorId t = m.tensor(u, {v}, kNan);
  m.problem.tensor_matrix[t.index()] = 0;
  m.problem.matrices = {0, 0.5, 0.5, 0};
  m.finish(Goal::kThroughput);
  Plan plan = planFor(m.problem, {a, b}, 1.5);
  expectValid(m.problem, plan);
  plan.modes.transfers = Transfers::kViaHost;
  expectOnly(m.problem, plan, {"of op \"u\"", "matrix", "via the host"});
  plan.modes.transfers = Transfers::kByLink;
  plan.modes.in_flight = true;
  plan.modes.contiguity = Contiguity::kNone;
  expectOnly(m.problem, plan, {"in flight", "chain"});
}

TEST(CheckPlacement, FusedOpsShareADevice) {
  Maker m;
  m.cls("acc");
  const DeviceId a = m.device("a", 0), b = m.device("b", 0);
  const OpId u = m.op("conv", {1}), v = m.op("relu", {1});
  m.problem.graph.op_type[u.index()] = m.problem.graph.internType("Conv");
  m.problem.graph.op_type[v.index()] = m.problem.graph.internType("Relu");
  m.tensor(u, {v}, 0);
  m.problem.modes.fuse = Fuse::kOrtCpu;
  m.finish(Goal::kThroughput);
  expectOnly(m.problem, planFor(m.problem, {a, b}, 1), {"\"relu\" is on device \"b\"", "\"conv\"", "\"a\""});
  expectValid(m.problem, planFor(m.problem, {b, b}, 2));
}

}  // namespace
}  // namespace allot
