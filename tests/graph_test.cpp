#include <gtest/gtest.h>

#include <set>

#include "allot/graph.h"
#include "base/random.h"
#include "graph/contraction.h"
#include "graph/ideals.h"
#include "graph/reachability.h"

namespace allot {
namespace {

OpGraph randomGraph(std::uint64_t seed, std::uint32_t ops, std::uint32_t one_in) {
  Random random(seed);
  OpGraph graph;
  for (std::uint32_t i = 0; i < ops; ++i) graph.addOp("o" + std::to_string(i));
  for (std::uint32_t i = 0; i < ops; ++i) {
    std::vector<OpId> consumers;
    for (std::uint32_t j = i + 1; j < ops; ++j) {
      if (random.below(one_in) == 0) consumers.emplace_back(j);
    }
    if (!consumers.empty()) graph.addTensor(OpId(i), consumers, 1);
  }
  EXPECT_TRUE(graph.finish());
  return graph;
}

// Plain closure by repeated extension.
std::vector<std::vector<bool>> closure(const OpGraph& graph) {
  const std::size_t n = graph.opCount();
  std::vector<std::vector<bool>> reach(n, std::vector<bool>(n, false));
  for (std::size_t t = 0; t < graph.tensorCount(); ++t) {
    for (const OpId to : graph.consumers(TensorId(t)))
      reach[graph.producer(TensorId(t)).index()][to.index()] = true;
  }
  for (std::size_t k = 0; k < n; ++k) {
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < n; ++j) {
        if (reach[i][k] && reach[k][j]) reach[i][j] = true;
      }
    }
  }
  return reach;
}

TEST(OpGraph, CycleIsNamedWithItsPath) {
  OpGraph graph;
  const OpId a = graph.addOp("a"), b = graph.addOp("b"), c = graph.addOp("c");
  graph.addTensor(a, std::vector{b}, 0);
  graph.addTensor(b, std::vector{c}, 0);
  graph.addTensor(c, std::vector{b}, 0);
  const auto done = graph.finish();
  ASSERT_FALSE(done);
  EXPECT_NE(done.error().message.find("b -> c -> b"), std::string::npos) << done.error().message;
}

TEST(OpGraph, TopologicalOrderFollowsTheFileWhereItCan) {
  OpGraph graph;
  for (const char* op : {"x", "y", "z"}) graph.addOp(op);
  graph.addTensor(OpId(2), std::vector{OpId(0)}, 0);
  ASSERT_TRUE(graph.finish());
  const std::vector<OpId> order(graph.topologicalOrder().begin(), graph.topologicalOrder().end());
  EXPECT_EQ(order, (std::vector{OpId(1), OpId(2), OpId(0)}));
}

TEST(Reachability, BitsetAndWalkAgreeWithPlainClosure) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const OpGraph graph = randomGraph(seed, 14, 5);
    const auto expected = closure(graph);
    const Reachability kept(graph), walked(graph, 0);
    for (std::size_t i = 0; i < 14; ++i) {
      for (std::size_t j = 0; j < 14; ++j) {
        ASSERT_EQ(kept.reaches(OpId(i), OpId(j)), expected[i][j]);
        ASSERT_EQ(walked.reaches(OpId(i), OpId(j)), expected[i][j]);
      }
    }
  }
}

TEST(Barriers, AreTheOpsComparableWithAllOthers) {
  std::size_t found = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const OpGraph graph = randomGraph(seed, 9, 2);
    const auto reach = closure(graph);
    std::set<OpId> expected;
    for (std::size_t i = 0; i < 9; ++i) {
      bool all = true;
      for (std::size_t j = 0; j < 9; ++j) all = all && (i == j || reach[i][j] || reach[j][i]);
      if (all) expected.insert(OpId(i));
    }
    const std::vector<OpId> list = barriers(graph);
    EXPECT_EQ(std::set<OpId>(list.begin(), list.end()), expected) << "seed " << seed;
    found += list.size();
  }
  EXPECT_GT(found, 300u);
}

TEST(OpGraph, AFileMayGiveEveryOpATypeOfItsOwn) {
  OpGraph graph;
  const std::uint32_t many = 300'000;  // a walk over all names for each would take minutes
  for (std::uint32_t i = 1; i <= many; ++i) ASSERT_EQ(graph.internType("type" + std::to_string(i)), i);
  EXPECT_EQ(graph.internType("type7"), 7u);
  EXPECT_EQ(graph.internType(""), 0u);
  EXPECT_EQ(graph.type_name.size(), many + 1);
}

TEST(Ideals, EnumerationFindsEveryDownSetOnce) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const OpGraph graph = randomGraph(seed, 9, 3);
    std::size_t expected = 0;
    for (std::uint32_t mask = 0; mask < (1u << 9); ++mask) {
      Bitset set(9);
      for (std::uint32_t i = 0; i < 9; ++i) {
        if (mask >> i & 1) set.set(i);
      }
      expected += isIdeal(graph, set) ? 1 : 0;
      EXPECT_TRUE(isIdeal(graph, idealClosure(graph, set)));
    }
    const std::vector<Bitset> all = enumerateIdeals(graph, 1000);
    EXPECT_EQ(all.size(), expected);
    for (const Bitset& ideal : all) EXPECT_TRUE(isIdeal(graph, ideal));
    EXPECT_TRUE(enumerateIdeals(graph, expected - 1).empty());
  }
}

TEST(Contraction, TellsWhenPartsWaitForEachOther) {
  OpGraph graph;
  for (const char* op : {"a", "b", "c", "d"}) graph.addOp(op);
  graph.addTensor(OpId(0), std::vector{OpId(1)}, 0);
  graph.addTensor(OpId(2), std::vector{OpId(3)}, 0);
  ASSERT_TRUE(graph.finish());
  EXPECT_TRUE(contract(graph, std::vector<std::uint32_t>{0, 0, 1, 1}, 2).acyclic());
  const Contraction crossed = contract(graph, std::vector<std::uint32_t>{0, 1, 1, 0}, 2);
  EXPECT_FALSE(crossed.acyclic());
  EXPECT_EQ(crossed.cycle.size(), 2u);
}

TEST(Contraction, ALongCycleNeedsNoDeepStack) {
  OpGraph graph;
  constexpr std::uint32_t kOps = 200'000;
  for (std::uint32_t i = 0; i < kOps; ++i) graph.addOp("");
  for (std::uint32_t i = 0; i < kOps; ++i) graph.addTensor(OpId(i), std::vector{OpId((i + 1) % kOps)}, 0);
  EXPECT_FALSE(graph.finish());
}

}  // namespace
}  // namespace allot
