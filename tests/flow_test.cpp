#include "flow/min_cost_flow.h"

#include <gtest/gtest.h>

#include "base/random.h"

// What the random tests do not show: each way to fail, refused certificates, limits, and larger networks.
namespace allot::test {
namespace {

using flow::ArcId;
using flow::Certificate;
using flow::CoreChoice;
using flow::kUnlimited;
using flow::MinCostFlow;
using flow::NodeId;
using flow::Status;

class FlowCores : public testing::TestWithParam<CoreChoice> {};
INSTANTIATE_TEST_SUITE_P(Both, FlowCores,
                         testing::Values(CoreChoice::kHubs, CoreChoice::kTree, CoreChoice::kByStructure));

// Two ops, two devices with one slot each; both ops prefer the first.
struct Small {
  MinCostFlow flow;
  NodeId op1, op2, gpu, cpu, sink;
  ArcId op1_gpu, op1_cpu, op2_gpu, op2_cpu, gpu_slot, cpu_slot;
  explicit Small(CoreChoice core) : flow(core) {
    op1 = *flow.addNode(1);
    op2 = *flow.addNode(1);
    gpu = *flow.addNode();
    cpu = *flow.addNode();
    sink = *flow.addNode(-2);
    op1_gpu = *flow.addArc(op1, gpu, 1, 10);
    op1_cpu = *flow.addArc(op1, cpu, 1, 50);
    op2_gpu = *flow.addArc(op2, gpu, 1, 10);
    op2_cpu = *flow.addArc(op2, cpu, 1, 30);
    gpu_slot = *flow.addArc(gpu, sink, 1, 0);
    cpu_slot = *flow.addArc(cpu, sink, 1, 0);
  }
};

TEST_P(FlowCores, AssignsAndFollowsChanges) {
  Small small(GetParam());
  EXPECT_EQ(*small.flow.solve(), 40);
  EXPECT_EQ(small.flow.flow(small.op1_gpu), 1);
  EXPECT_EQ(small.flow.flow(small.op2_cpu), 1);
  ASSERT_TRUE(small.flow.setCost(small.op1_cpu, 20));
  EXPECT_EQ(*small.flow.solve(), 30);
  EXPECT_EQ(small.flow.flow(small.op1_cpu), 1);
  ASSERT_TRUE(small.flow.setCapacity(small.gpu_slot, 2));
  EXPECT_EQ(*small.flow.solve(), 20);
  ASSERT_TRUE(small.flow.removeArc(small.op2_gpu));
  EXPECT_EQ(*small.flow.solve(), 40);
  ASSERT_TRUE(small.flow.removeNode(small.op2));
  ASSERT_TRUE(small.flow.setSupply(small.sink, -1));
  EXPECT_EQ(*small.flow.solve(), 10);
  const NodeId op3 = *small.flow.addNode(1);
  ASSERT_TRUE(small.flow.addArc(op3, small.cpu, 1, 7));
  ASSERT_TRUE(small.flow.setSupply(small.sink, -2));
  EXPECT_EQ(*small.flow.solve(), 17);
  EXPECT_EQ(*flow::checkOptimal(small.flow.certificate()), 17);
}

TEST_P(FlowCores, ADeviceArrivesAndFails) {
  Small small(GetParam());
  ASSERT_TRUE(small.flow.solve());
  const NodeId npu = *small.flow.addNode();
  ASSERT_TRUE(small.flow.addArc(npu, small.sink, 2, 0));
  ASSERT_TRUE(small.flow.addArc(small.op1, npu, 1, 4));
  ASSERT_TRUE(small.flow.addArc(small.op2, npu, 1, 5));
  EXPECT_EQ(*small.flow.solve(), 9);
  ASSERT_TRUE(small.flow.removeNode(npu));
  EXPECT_EQ(*small.flow.solve(), 40);
  EXPECT_EQ(*flow::checkOptimal(small.flow.certificate()), 40);
}

TEST_P(FlowCores, InfeasibleHasACutAndRecovers) {
  Small small(GetParam());
  ASSERT_TRUE(small.flow.setCapacity(small.cpu_slot, 0));
  const auto refused = small.flow.solve();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kInfeasible);
  EXPECT_EQ(small.flow.status(), Status::kInfeasible);
  auto certificate = small.flow.certificate();
  EXPECT_TRUE(flow::checkInfeasible(certificate));
  EXPECT_FALSE(flow::checkOptimal(certificate));
  certificate.cut.pop_back();
  EXPECT_FALSE(flow::checkInfeasible(certificate));
  ASSERT_TRUE(small.flow.setCapacity(small.cpu_slot, 1));
  EXPECT_EQ(*small.flow.solve(), 40);
}

TEST_P(FlowCores, SuppliesThatDoNotBalanceAreInfeasible) {
  for (const std::int64_t demand : {-1, -3}) {
    Small small(GetParam());
    ASSERT_TRUE(small.flow.setSupply(small.sink, demand));
    ASSERT_FALSE(small.flow.solve());
    EXPECT_EQ(small.flow.status(), Status::kInfeasible);
    EXPECT_TRUE(flow::checkInfeasible(small.flow.certificate()));
  }
}

TEST_P(FlowCores, UnboundedHasACycle) {
  Small small(GetParam());
  ASSERT_TRUE(small.flow.solve());
  const ArcId there = *small.flow.addArc(small.gpu, small.cpu, kUnlimited, 3);
  const ArcId back = *small.flow.addArc(small.cpu, small.gpu, kUnlimited, -4);
  const auto refused = small.flow.solve();
  ASSERT_FALSE(refused);
  EXPECT_EQ(small.flow.status(), Status::kUnbounded);
  EXPECT_EQ(small.flow.cycle().size(), 2u);
  auto certificate = small.flow.certificate();
  EXPECT_TRUE(flow::checkUnbounded(certificate));
  certificate.arcs[certificate.cycle[0]].capacity = 5;
  EXPECT_FALSE(flow::checkUnbounded(certificate));
  ASSERT_TRUE(small.flow.setCapacity(back, 5));
  // Five rounds of the cycle gain 1 each, and the op that moves over it 4.
  const auto solved = small.flow.solve();
  ASSERT_TRUE(solved);
  EXPECT_EQ(*flow::checkOptimal(small.flow.certificate()), *solved);
  ASSERT_TRUE(small.flow.removeArc(there));
  ASSERT_TRUE(small.flow.solve());
}

TEST_P(FlowCores, TamperedCertificatesAreRefused) {
  Small small(GetParam());
  // A slot to spare, or the sink's potential could be anything high.
  ASSERT_TRUE(small.flow.setCapacity(small.cpu_slot, 2));
  ASSERT_TRUE(small.flow.solve());
  const Certificate good = small.flow.certificate();
  ASSERT_TRUE(flow::checkOptimal(good));
  for (std::size_t i = 0; i < good.arcs.size(); ++i) {
    for (const std::int64_t change : {-1, 1}) {
      Certificate bad = good;
      bad.arcs[i].flow += change;
      EXPECT_FALSE(flow::checkOptimal(bad));
    }
    Certificate bad = good;
    bad.arcs[i].cost += good.arcs[i].flow > 0 ? 1000 : -1000;
    EXPECT_FALSE(flow::checkOptimal(bad));
    bad = good;
    bad.arcs[i].to = 99;
    EXPECT_FALSE(flow::checkOptimal(bad));
  }
  for (std::size_t i = 0; i < good.supply.size(); ++i) {
    Certificate bad = good;
    bad.supply[i] += 1;
    EXPECT_FALSE(flow::checkOptimal(bad));
    for (const std::int64_t change : {-1000, 1000}) {
      bad = good;
      bad.potential[i] += change;
      EXPECT_FALSE(flow::checkOptimal(bad));
    }
  }
}

TEST_P(FlowCores, BadCallsLeaveTheNetworkAlone) {
  Small small(GetParam());
  ASSERT_TRUE(small.flow.solve());
  ASSERT_TRUE(small.flow.removeArc(small.op1_cpu));
  EXPECT_FALSE(small.flow.removeArc(small.op1_cpu));
  EXPECT_FALSE(small.flow.setCost(small.op1_cpu, 3));
  EXPECT_FALSE(small.flow.setCapacity(small.gpu_slot, -1));
  EXPECT_FALSE(small.flow.addArc(small.op1, NodeId{77}, 1, 1));
  EXPECT_FALSE(small.flow.addArc(small.op1, small.cpu, -5, 1));
  EXPECT_FALSE(small.flow.removeNode(NodeId{77}));
  EXPECT_FALSE(small.flow.setSupply(NodeId{}, 1));
  EXPECT_EQ(*small.flow.solve(), 40);
}

TEST_P(FlowCores, NumbersTooLargeAreRefused) {
  Small small(GetParam());
  ASSERT_TRUE(small.flow.solve());
  EXPECT_FALSE(small.flow.setCost(small.op1_gpu, INT64_MIN));
  EXPECT_FALSE(small.flow.setCost(small.op1_gpu, INT64_MAX));
  EXPECT_FALSE(small.flow.setCapacity(small.op1_gpu, INT64_MAX - 1));
  EXPECT_FALSE(small.flow.setSupply(small.op1, INT64_MIN));
  EXPECT_EQ(*small.flow.solve(), 40);
  // Each fits, but not times the number of nodes.
  ASSERT_TRUE(small.flow.setCost(small.op1_gpu, std::int64_t{1} << 55));
  EXPECT_FALSE(small.flow.solve());
  EXPECT_EQ(small.flow.status(), Status::kUnsolved);
  ASSERT_TRUE(small.flow.setCost(small.op1_gpu, 10));
  EXPECT_EQ(*small.flow.solve(), 40);
  // Each fits, but not their sum.
  ASSERT_TRUE(small.flow.setCapacity(small.gpu_slot, std::int64_t{1} << 60));
  ASSERT_TRUE(small.flow.setCapacity(small.cpu_slot, std::int64_t{1} << 60));
  EXPECT_FALSE(small.flow.solve());
  ASSERT_TRUE(small.flow.setCapacity(small.gpu_slot, 1));
  ASSERT_TRUE(small.flow.setCapacity(small.cpu_slot, kUnlimited));
  EXPECT_EQ(*small.flow.solve(), 40);
}

TEST_P(FlowCores, ACostBeyond64BitsIsRefused) {
  MinCostFlow flow(GetParam());
  const std::int64_t much = std::int64_t{1} << 40;
  const NodeId a = *flow.addNode(much), b = *flow.addNode(-much);
  ASSERT_TRUE(flow.addArc(a, b, kUnlimited, std::int64_t{1} << 50));
  EXPECT_FALSE(flow.solve());
  EXPECT_NE(flow.status(), Status::kOptimal);
}

TEST_P(FlowCores, LargeNumbersStayExact) {
  MinCostFlow flow(GetParam());
  const std::int64_t cost = std::int64_t{1} << 52;
  const NodeId a = *flow.addNode(3), b = *flow.addNode(), c = *flow.addNode(-3);
  ASSERT_TRUE(flow.addArc(a, b, 2, cost));
  ASSERT_TRUE(flow.addArc(a, c, kUnlimited, 2 * cost + 1));
  ASSERT_TRUE(flow.addArc(b, c, kUnlimited, cost));
  EXPECT_EQ(*flow.solve(), 6 * cost + 1);
  EXPECT_EQ(*flow::checkOptimal(flow.certificate()), 6 * cost + 1);
}

TEST_P(FlowCores, EmptyNetworks) {
  MinCostFlow flow(GetParam());
  EXPECT_EQ(*flow.solve(), 0);
  const NodeId only = *flow.addNode();
  EXPECT_EQ(*flow.solve(), 0);
  ASSERT_TRUE(flow.addArc(only, only, 4, -3));
  EXPECT_EQ(*flow.solve(), -12);
  EXPECT_EQ(*flow::checkOptimal(flow.certificate()), -12);
  ASSERT_TRUE(flow.removeNode(only));
  EXPECT_EQ(*flow.solve(), 0);
}

// Models, ops, devices, a sink and an unscheduled node per model, with arrivals, departures, drift and
// failures.
struct Cluster {
  MinCostFlow flow;
  Random random;
  NodeId sink;
  std::vector<NodeId> devices, models, unscheduled;
  std::vector<ArcId> slots, waiting;
  std::vector<std::int64_t> model_ops;
  struct Op {
    NodeId node;
    std::size_t model;
    std::vector<ArcId> arcs;
  };
  std::vector<Op> ops;

  Cluster(CoreChoice core, std::size_t device_count, std::size_t op_count) : flow(core), random(11) {
    sink = *flow.addNode();
    for (std::size_t i = 0; i < device_count; ++i) {
      devices.push_back(*flow.addNode());
      slots.push_back(
          *flow.addArc(devices[i], sink, static_cast<std::int64_t>(op_count / device_count * 9 / 10), 0));
    }
    for (int i = 0; i < 4; ++i) {
      models.push_back(*flow.addNode());
      unscheduled.push_back(*flow.addNode());
      model_ops.push_back(0);
      waiting.push_back(*flow.addArc(unscheduled.back(), sink, kUnlimited, 0));
    }
    for (std::size_t i = 0; i < op_count; ++i) arrive();
  }
  void arrive() {
    const std::size_t model = random.below(4);
    Op op{*flow.addNode(), model, {}};
    op.arcs.push_back(*flow.addArc(models[model], op.node, 1, 0));
    for (const NodeId device : devices)
      op.arcs.push_back(*flow.addArc(op.node, device, 1, 10 + random.below(1000)));
    op.arcs.push_back(*flow.addArc(op.node, unscheduled[model], 1, 3000));
    ops.push_back(op);
    ++model_ops[model];
    supplies(model);
  }
  void leave() {
    const std::size_t i = random.below(static_cast<std::uint32_t>(ops.size()));
    EXPECT_TRUE(flow.removeNode(ops[i].node));
    const std::size_t model = ops[i].model;
    --model_ops[model];
    ops[i] = ops.back();
    ops.pop_back();
    supplies(model);
  }
  void supplies(std::size_t model) {
    EXPECT_TRUE(flow.setSupply(models[model], model_ops[model]));
    EXPECT_TRUE(flow.setSupply(sink, -static_cast<std::int64_t>(ops.size())));
  }
  void drift() {
    const Op& op = ops[random.below(static_cast<std::uint32_t>(ops.size()))];
    EXPECT_TRUE(flow.setCost(op.arcs[1 + random.below(static_cast<std::uint32_t>(devices.size()))],
                             random.below(1200)));
  }
};

TEST(FlowClusters, CoresAgreeThroughALongLife) {
  Cluster hubs(CoreChoice::kByStructure, 8, 400), tree(CoreChoice::kTree, 8, 400);
  for (int step = 0; step < 150; ++step) {
    for (Cluster* cluster : {&hubs, &tree}) {
      Random& random = cluster->random;
      for (int i = 0; i < 3; ++i) cluster->arrive();
      for (int i = 0; i < 3; ++i) cluster->leave();
      for (int i = 0; i < 10; ++i) cluster->drift();
      if (random.chance(0.2)) {
        const ArcId slot = cluster->slots[random.below(8)];
        EXPECT_TRUE(cluster->flow.setCapacity(slot, random.below(80)));
        const ArcId waiting = cluster->waiting[random.below(4)];
        EXPECT_TRUE(cluster->flow.setCost(waiting, static_cast<std::int64_t>(random.below(6000)) - 3000));
      }
    }
    ASSERT_EQ(*hubs.flow.solve(), *tree.flow.solve());
    ASSERT_TRUE(flow::checkOptimal(hubs.flow.certificate()));
    ASSERT_TRUE(flow::checkOptimal(tree.flow.certificate()));
  }
}

// Large enough for potentials from a sample, and for more hubs to be added than there was room for.
TEST(FlowClusters, ManyOpsAndDevicesThatArrive) {
  Cluster cluster(CoreChoice::kByStructure, 6, 5000);
  ASSERT_TRUE(cluster.flow.solve());
  ASSERT_TRUE(flow::checkOptimal(cluster.flow.certificate()));
  for (int i = 0; i < 6; ++i) {
    const NodeId device = *cluster.flow.addNode();
    ASSERT_TRUE(cluster.flow.addArc(device, cluster.sink, 100, 0));
    for (std::size_t op = 0; op < cluster.ops.size(); op += 3) {
      ASSERT_TRUE(cluster.flow.addArc(cluster.ops[op].node, device, 1, 5));
    }
    ASSERT_TRUE(cluster.flow.solve());
    ASSERT_TRUE(flow::checkOptimal(cluster.flow.certificate()));
    if (i % 2 == 0) continue;
    ASSERT_TRUE(cluster.flow.removeNode(device));
  }
  ASSERT_TRUE(cluster.flow.solve());
  ASSERT_TRUE(flow::checkOptimal(cluster.flow.certificate()));
}

TEST(FlowClusters, SameCallsGiveTheSameFlow) {
  for (const CoreChoice core : {CoreChoice::kHubs, CoreChoice::kTree}) {
    Cluster one(core, 5, 300), two(core, 5, 300);
    for (int step = 0; step < 5; ++step) {
      for (Cluster* cluster : {&one, &two}) {
        for (int i = 0; i < 20; ++i) cluster->drift();
        ASSERT_TRUE(cluster->flow.solve());
      }
      for (std::size_t i = 0; i < one.ops.size(); ++i) {
        EXPECT_EQ(one.flow.potential(one.ops[i].node), two.flow.potential(two.ops[i].node));
        for (std::size_t j = 0; j < one.ops[i].arcs.size(); ++j) {
          EXPECT_EQ(one.flow.flow(one.ops[i].arcs[j]), two.flow.flow(two.ops[i].arcs[j]));
        }
      }
    }
  }
}

}  // namespace
}  // namespace allot::test
