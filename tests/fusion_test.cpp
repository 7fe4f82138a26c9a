// Fusion rules, contraction that keeps the graph acyclic, and plans of parts.
#include "graph/fusion.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "allot/evaluate.h"
#include "allot/solve.h"
#include "base/random.h"
#include "check_maker.h"
#include "graph/contraction.h"
#include "solve/latency/coarse.h"
#include "solve/latency/coarse_problem.h"
#include "support/random_problem.h"

namespace allot {
namespace {

struct TypedGraph {
  OpGraph graph;
  OpId op(std::string_view type) {
    const OpId id = graph.addOp(std::string(type) + std::to_string(graph.opCount()));
    graph.op_type[id.index()] = graph.internType(type);
    return id;
  }
  void edge(OpId from, std::vector<OpId> to) { graph.addTensor(from, to, 1); }
};

std::vector<FusedGroup> groupsOf(TypedGraph& typed) {
  EXPECT_TRUE(typed.graph.finish());
  return findFusedGroups(typed.graph, fusionRules(Fuse::kOrtCpu));
}

TEST(Fusion, TakesTheLongestRule) {
  TypedGraph g;
  const OpId conv = g.op("Conv"), add = g.op("Add"), relu = g.op("Relu"), other = g.op("MaxPool");
  g.edge(conv, {add});
  g.edge(other, {add});
  g.edge(add, {relu});
  const auto groups = groupsOf(g);
  ASSERT_EQ(groups.size(), 1u);
  EXPECT_EQ(groups[0].rule, "conv-add-activation");
  EXPECT_EQ(groups[0].ops, (std::vector<OpId>{conv, add, relu}));
}

TEST(Fusion, LeavesAnInnerOpThatIsReadOutside) {
  TypedGraph g;
  const OpId conv = g.op("Conv"), relu = g.op("Relu"), reader = g.op("Softmax");
  g.edge(conv, {relu, reader});
  EXPECT_TRUE(groupsOf(g).empty());
}

TEST(Fusion, FindsLayerNormGeluAndAttention) {
  TypedGraph g;
  const OpId in = g.op("Reshape");
  const OpId mean = g.op("ReduceMean"), sub = g.op("Sub"), pow = g.op("Pow"), var = g.op("ReduceMean");
  const OpId eps = g.op("Add"), root = g.op("Sqrt"), div = g.op("Div"), scale = g.op("Mul"),
             shift = g.op("Add");
  g.edge(in, {mean, sub});
  g.edge(mean, {sub});
  g.edge(sub, {pow, div});
  g.edge(pow, {var});
  g.edge(var, {eps});
  g.edge(eps, {root});
  g.edge(root, {div});
  g.edge(div, {scale});
  g.edge(scale, {shift});
  const OpId half = g.op("Div"), erf = g.op("Erf"), one = g.op("Add"), times = g.op("Mul"),
             last = g.op("Mul");
  g.edge(shift, {half, times});
  g.edge(half, {erf});
  g.edge(erf, {one});
  g.edge(one, {times});
  g.edge(times, {last});
  const OpId scores = g.op("MatMul"), scaled = g.op("Div"), soft = g.op("Softmax"), mix = g.op("MatMul");
  g.edge(last, {scores});
  g.edge(scores, {scaled});
  g.edge(scaled, {soft});
  g.edge(soft, {mix});
  const auto groups = groupsOf(g);
  ASSERT_EQ(groups.size(), 3u);
  EXPECT_EQ(groups[0].rule, "layer-norm");
  EXPECT_EQ(groups[0].ops.size(), 9u);
  EXPECT_EQ(groups[1].rule, "gelu");
  EXPECT_EQ(groups[2].rule, "attention");
  EXPECT_EQ(groups[2].ops, (std::vector<OpId>{scores, scaled, soft, mix}));
}

// All groups contracted at once leave no cycle, on random graphs of fusable types.
TEST(Fusion, GroupsKeepTheGraphAcyclic) {
  const char* types[] = {"Conv", "Add", "Relu", "MatMul", "Mul", "Div", "Softmax", "BatchNormalization",
                         "Clip"};
  std::size_t groups_in_all = 0;
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    Random random(seed, 1);
    TypedGraph g;
    const std::uint32_t n = 5 + random.below(30);
    std::vector<std::vector<OpId>> readers(n);
    for (std::uint32_t i = 0; i < n; ++i) {
      const OpId id = g.op(types[random.below(9)]);
      for (std::uint32_t k = 0; i > 0 && k < 1 + random.below(2); ++k) {
        auto& list = readers[i - 1 - random.below(std::min(i, 4u))];
        if (std::find(list.begin(), list.end(), id) == list.end()) list.push_back(id);
      }
    }
    for (std::uint32_t i = 0; i < n; ++i) {
      if (!readers[i].empty()) g.edge(OpId(i), readers[i]);
    }
    const auto groups = groupsOf(g);
    groups_in_all += groups.size();
    std::vector<std::uint32_t> part(n);
    std::iota(part.begin(), part.end(), 0u);
    for (const FusedGroup& group : groups) {
      for (const OpId op : group.ops) part[op.index()] = group.ops.back().value;
    }
    EXPECT_TRUE(contract(g.graph, part, n).acyclic()) << seed;
  }
  EXPECT_GT(groups_in_all, 1000u);
}

// Conv and Relu would be faster apart; the option keeps them together, in the plan and for the checker.
TEST(Fusion, OptionKeepsGroupsOnOneDevice) {
  Maker m;
  m.cls("a", DeviceKind::kAccelerator);
  m.cls("b", DeviceKind::kAccelerator);
  m.device("a0", 0);
  m.device("b0", 1);
  const OpId conv = m.op("conv", {1, 9}), relu = m.op("relu", {9, 1});
  m.problem.graph.op_type[conv.index()] = m.problem.graph.internType("Conv");
  m.problem.graph.op_type[relu.index()] = m.problem.graph.internType("Relu");
  m.tensor(conv, {relu}, 0.5);
  m.finish(Goal::kLatency);
  RunOptions run;
  EXPECT_DOUBLE_EQ(solve(m.problem, run).plan.value, 2.5);
  Modes modes = m.problem.modes;
  modes.fuse = Fuse::kOrtCpu;
  ASSERT_TRUE(m.problem.setModes(modes));
  EXPECT_EQ(m.problem.unitCount(), 1u);
  EXPECT_DOUBLE_EQ(solve(m.problem, run).plan.value, 10);
  modes.fuse = Fuse::kNone;
  ASSERT_TRUE(m.problem.setModes(modes));
  EXPECT_EQ(m.problem.unitCount(), 2u);
}

TEST(Contraction, HeavyEdgesAndChainsKeepTheGraphAcyclic) {
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    Random random(seed, 2);
    const std::uint32_t n = 2 + random.below(30);
    std::vector<WeightedEdge> edges;
    for (std::uint32_t i = 1; i < n; ++i) {
      for (std::uint32_t k = 0; k < 1 + random.below(3); ++k)
        edges.push_back({random.below(i), i, random.unit()});
    }
    const auto always = [](std::uint32_t, std::uint32_t) { return true; };
    for (const auto& part :
         {contractHeavyEdges(n, edges, 1 + random.below(n), always), contractChains(n, edges, always)}) {
      std::vector<PartEdge> between;
      for (const WeightedEdge& edge : edges) between.push_back({part[edge.from], part[edge.to]});
      EXPECT_TRUE(contract(1 + *std::max_element(part.begin(), part.end()), between).acyclic()) << seed;
    }
  }
}

// Plans of parts are plans of the whole: on random problems they pass the checker, whatever the parts.
TEST(Coarse, PlansOfPartsAreSound) {
  std::size_t plans = 0;
  for (std::uint64_t seed = 0; seed < 600; ++seed) {
    const Problem problem = randomProblem(seed, Goal::kLatency, {8, 3});
    if (problem.modes.model != LatencyModel::kEvents || problem.modes.memory == MemoryModel::kLive) continue;
    RunOptions run;
    run.work_limit = 2000;
    const Budget budget(run, nullptr);
    const auto plan = solveParts(problem, coarsen(problem, 3, budget), budget);
    if (!plan) continue;
    const Evaluation evaluation = evaluate(problem, *plan);
    EXPECT_TRUE(evaluation.valid()) << describe(problem) << ' ' << seed;
    ++plans;
  }
  EXPECT_GT(plans, 150u);
}

}  // namespace
}  // namespace allot
