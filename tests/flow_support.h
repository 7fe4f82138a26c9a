// A second way to least cost for the flow tests: maximum flow by breadth-first paths, then negative cycles
// cancelled one by one. Slow, and shares nothing with src/flow.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/random.h"
#include "flow/min_cost_flow.h"

namespace allot::test {

struct ReferenceFlow {
  enum class Kind { kOptimal, kInfeasible, kUnbounded } kind = Kind::kOptimal;
  std::int64_t cost = 0;
};

struct ReferenceArc {
  int from, to;
  std::int64_t capacity, cost;
};

// A cycle of negative cost in the arcs given, as indices; empty if there is none.
inline std::vector<int> negativeCycle(int nodes, const std::vector<ReferenceArc>& arcs) {
  std::vector<std::int64_t> distance(nodes, 0);
  std::vector<int> by(nodes, -1);
  int last = -1;
  for (int round = 0; round < nodes; ++round) {
    last = -1;
    for (int i = 0; i < static_cast<int>(arcs.size()); ++i) {
      if (arcs[i].capacity == 0 || distance[arcs[i].from] + arcs[i].cost >= distance[arcs[i].to]) continue;
      distance[arcs[i].to] = distance[arcs[i].from] + arcs[i].cost;
      by[arcs[i].to] = i;
      last = arcs[i].to;
    }
    if (last < 0) return {};
  }
  for (int i = 0; i < nodes; ++i) last = arcs[by[last]].from;
  std::vector<int> cycle;
  for (int at = last;;) {
    cycle.push_back(by[at]);
    at = arcs[by[at]].from;
    if (at == last) return cycle;
  }
}

inline ReferenceFlow referenceFlow(const flow::Certificate& network) {
  constexpr std::int64_t kPlenty = 1'000'000;
  const int n = static_cast<int>(network.supply.size());
  std::vector<ReferenceArc> residual, free;
  const auto add = [&](int from, int to, std::int64_t capacity, std::int64_t cost) {
    residual.push_back({from, to, capacity, cost});
    residual.push_back({to, from, 0, -cost});
  };
  for (const auto& arc : network.arcs) {
    const bool unlimited = arc.capacity == flow::kUnlimited;
    add(static_cast<int>(arc.from), static_cast<int>(arc.to), unlimited ? kPlenty : arc.capacity, arc.cost);
    if (unlimited) free.push_back({static_cast<int>(arc.from), static_cast<int>(arc.to), 1, arc.cost});
  }
  std::int64_t wanted = 0, sum = 0, sent = 0;
  for (int i = 0; i < n; ++i) {
    sum += network.supply[i];
    if (network.supply[i] > 0) add(n, i, network.supply[i], 0), wanted += network.supply[i];
    if (network.supply[i] < 0) add(i, n + 1, -network.supply[i], 0);
  }
  for (;;) {
    std::vector<int> by(n + 2, -1), queue{n};
    by[n] = -2;
    for (std::size_t q = 0; q < queue.size(); ++q) {
      for (int i = 0; i < static_cast<int>(residual.size()); ++i) {
        if (residual[i].from != queue[q] || residual[i].capacity == 0 || by[residual[i].to] != -1) continue;
        by[residual[i].to] = i;
        queue.push_back(residual[i].to);
      }
    }
    if (by[n + 1] < 0) break;
    std::int64_t amount = kPlenty;
    for (int at = n + 1; at != n; at = residual[by[at]].from)
      amount = std::min(amount, residual[by[at]].capacity);
    for (int at = n + 1; at != n; at = residual[by[at]].from) {
      residual[by[at]].capacity -= amount;
      residual[by[at] ^ 1].capacity += amount;
    }
    sent += amount;
  }
  if (sum != 0 || sent < wanted) return {ReferenceFlow::Kind::kInfeasible, 0};
  if (!negativeCycle(n, free).empty()) return {ReferenceFlow::Kind::kUnbounded, 0};
  // The arcs of the super nodes must stay full.
  residual.resize(2 * network.arcs.size());
  for (auto cycle = negativeCycle(n, residual); !cycle.empty(); cycle = negativeCycle(n, residual)) {
    std::int64_t amount = kPlenty;
    for (const int i : cycle) amount = std::min(amount, residual[i].capacity);
    for (const int i : cycle) {
      residual[i].capacity -= amount;
      residual[i ^ 1].capacity += amount;
    }
  }
  ReferenceFlow result;
  for (std::size_t i = 0; i < network.arcs.size(); ++i)
    result.cost += residual[2 * i + 1].capacity * network.arcs[i].cost;
  return result;
}

// A network with the handles that are alive, and random changes to it.
struct ChangingNetwork {
  flow::MinCostFlow flow;
  std::vector<flow::NodeId> nodes;
  std::vector<flow::ArcId> arcs;
  Random random;
  int layers;  // 0: any graph; else few hubs and many leaves

  ChangingNetwork(flow::CoreChoice core, std::uint64_t seed, bool hubs)
      : flow(core), random(seed), layers(hubs) {
    const int n = 2 + static_cast<int>(random.below(hubs ? 14 : 9));
    for (int i = 0; i < n; ++i) nodes.push_back(*flow.addNode());
    const int m = n + static_cast<int>(random.below(3 * static_cast<std::uint32_t>(n)));
    for (int i = 0; i < m; ++i) addArc();
    for (int i = 0; i < n / 2; ++i) shiftSupply();
  }

  std::int64_t capacity() {
    if (random.chance(0.1)) return flow::kUnlimited;
    return layers && random.chance(0.7) ? 1 : static_cast<std::int64_t>(random.below(8));
  }
  std::int64_t cost() { return static_cast<std::int64_t>(random.below(30)) - (random.chance(0.3) ? 15 : 0); }
  flow::NodeId node() { return nodes[random.below(static_cast<std::uint32_t>(nodes.size()))]; }
  void addArc() {
    flow::NodeId from = node(), to = node();
    if (layers && random.chance(0.9)) {
      (random.chance(0.5) ? from : to) = nodes[random.below(std::min<std::uint32_t>(3, nodes.size()))];
    }
    if (from == to && !random.chance(0.1)) return;
    arcs.push_back(*flow.addArc(from, to, capacity(), cost()));
  }
  // Keeps the sum of supplies 0, mostly.
  void shiftSupply() {
    const flow::NodeId a = node(), b = node();
    const std::int64_t amount = 1 + static_cast<std::int64_t>(random.below(3));
    addSupply(a, amount);
    if (!random.chance(0.01)) addSupply(b, -amount);
  }
  void addSupply(flow::NodeId node, std::int64_t amount) {
    supply_.resize(std::max<std::size_t>(supply_.size(), node.value + 1), 0);
    supply_[node.value] += amount;
    ASSERT_TRUE(flow.setSupply(node, supply_[node.value]));
  }
  void removeArcAt(std::size_t i) {
    ASSERT_TRUE(flow.removeArc(arcs[i]));
    arcs[i] = arcs.back();
    arcs.pop_back();
  }
  void removeNode() {
    if (nodes.size() <= 2) return;
    const std::size_t i = random.below(static_cast<std::uint32_t>(nodes.size()));
    const flow::NodeId gone = nodes[i], kept = nodes[i == 0 ? 1 : 0];
    supply_.resize(std::max<std::size_t>(supply_.size(), std::max(gone.value, kept.value) + 1), 0);
    const std::int64_t supply = supply_[gone.value];
    supply_[gone.value] = 0;
    std::erase_if(arcs, [&](flow::ArcId arc) { return flow.from(arc) == gone || flow.to(arc) == gone; });
    ASSERT_TRUE(flow.removeNode(gone));
    nodes.erase(nodes.begin() + static_cast<std::ptrdiff_t>(i));
    addSupply(kept, supply);
  }
  void change() {
    const std::uint32_t kind = random.below(12);
    const auto any = [&] { return random.below(static_cast<std::uint32_t>(arcs.size())); };
    if (kind < 3 || arcs.empty()) return addArc();
    if (kind < 5) return removeArcAt(any());
    if (kind < 8) return (void)flow.setCost(arcs[any()], cost());
    if (kind < 10) return (void)flow.setCapacity(arcs[any()], capacity());
    if (kind == 10) return shiftSupply();
    if (random.chance(0.5)) return removeNode();
    nodes.push_back(*flow.addNode());
    supply_.resize(std::max<std::size_t>(supply_.size(), nodes.back().value + 1), 0);
    supply_[nodes.back().value] = 0;
    for (int i = 0; i < 3; ++i) addArc();
  }

 private:
  std::vector<std::int64_t> supply_;
};

}  // namespace allot::test
