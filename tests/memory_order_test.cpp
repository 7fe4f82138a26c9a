// Orders of small peak: valid, no worse than declared, near the least on small graphs.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "base/random.h"
#include "graph/memory_order.h"

namespace allot {
namespace {

OpGraph randomGraph(std::uint64_t seed, std::uint32_t ops) {
  Random random(seed);
  OpGraph graph;
  for (std::uint32_t i = 0; i < ops; ++i) {
    graph.addOp(std::string(1, static_cast<char>('a' + i)));
    if (random.below(4) == 0) graph.op_workspace_bytes[i] = random.below(50);
  }
  for (std::uint32_t i = 0; i < ops; ++i) {
    for (std::uint32_t outputs = 1 + random.below(2); outputs > 0; --outputs) {
      std::vector<OpId> readers;
      for (std::uint32_t j = i + 1; j < ops; ++j) {
        if (random.below(ops) < 2) readers.emplace_back(j);
      }
      graph.addTensor(OpId(i), readers, random.below(100));
    }
  }
  for (std::uint32_t i = 0; i < ops; ++i) {
    if (random.below(4) == 0) graph.addInput(random.below(100), std::vector<OpId>{OpId(i)});
  }
  EXPECT_TRUE(graph.finish());
  return graph;
}

bool isOrderOf(const OpGraph& graph, std::span<const OpId> order) {
  std::vector<std::size_t> place(graph.opCount(), SIZE_MAX);
  for (std::size_t i = 0; i < order.size(); ++i) place[order[i].index()] = i;
  if (order.size() != graph.opCount() || std::count(place.begin(), place.end(), SIZE_MAX) > 0) return false;
  for (std::size_t t = 0; t < graph.tensorCount(); ++t) {
    for (const OpId reader : graph.tensor_consumers[t]) {
      if (place[reader.index()] <= place[graph.tensor_producer[t].index()]) return false;
    }
  }
  return true;
}

// The definition itself: what is live at each op, counted anew.
double peakByDefinition(const OpGraph& graph, std::span<const OpId> order) {
  std::vector<std::size_t> place(graph.opCount());
  for (std::size_t i = 0; i < order.size(); ++i) place[order[i].index()] = i;
  const auto lastOf = [&](std::span<const OpId> readers, std::size_t otherwise) {
    std::size_t last = 0;
    for (const OpId reader : readers) last = std::max(last, place[reader.index()]);
    return readers.empty() ? otherwise : last;
  };
  double peak = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    auto live = static_cast<double>(graph.op_workspace_bytes[order[i].index()]);
    for (std::size_t t = 0; t < graph.tensorCount(); ++t) {
      if (place[graph.tensor_producer[t].index()] <= i &&
          i <= lastOf(graph.tensor_consumers[t], order.size()))
        live += static_cast<double>(graph.tensor_bytes[t]);
    }
    for (std::size_t k = 0; k < graph.input_bytes.size(); ++k) {
      if (i <= lastOf(graph.input_readers[k], 0)) live += static_cast<double>(graph.input_bytes[k]);
    }
    peak = std::max(peak, live);
  }
  return peak;
}

TEST(MemoryOrder, IsValidAndNearTheLeastPeak) {
  double sum = 0, declared = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    const OpGraph graph = randomGraph(seed, 7);
    const std::vector<OpId> order = smallPeakOrder(graph);
    ASSERT_TRUE(isOrderOf(graph, order));
    EXPECT_EQ(order, smallPeakOrder(graph));
    const double peak = livePeak(graph, order);
    EXPECT_EQ(peak, peakByDefinition(graph, order));
    EXPECT_LE(peak, livePeak(graph, graph.topologicalOrder()));
    double least = std::numeric_limits<double>::infinity();
    std::vector<OpId> any;
    for (std::size_t i = 0; i < graph.opCount(); ++i) any.emplace_back(i);
    do {
      if (isOrderOf(graph, any)) least = std::min(least, livePeak(graph, any));
    } while (std::next_permutation(any.begin(), any.end()));
    if (least == 0) continue;
    EXPECT_LE(peak, 1.5 * least) << seed;
    sum += peak / least - 1;
    declared += livePeak(graph, graph.topologicalOrder()) / least - 1;
  }
  EXPECT_LT(sum, 0.15 * declared);
  EXPECT_LT(sum / 300, 0.02);
}

}  // namespace
}  // namespace allot
