#include "graph/contraction.h"

#include <algorithm>
#include <numeric>
#include <queue>
#include <tuple>

#include "base/union_find.h"
#include "graph/cycle.h"

namespace allot {

Csr<std::uint32_t> transposed(const Csr<std::uint32_t>& rows, std::size_t columns) {
  Csr<std::uint32_t> out;
  out.begin.assign(columns + 1, 0);
  for (const std::uint32_t c : rows.items) ++out.begin[c + 1];
  std::partial_sum(out.begin.begin(), out.begin.end(), out.begin.begin());
  out.items.resize(rows.items.size());
  std::vector<std::uint32_t> next(out.begin.begin(), out.begin.end() - 1);
  for (std::uint32_t r = 0; r < rows.rows(); ++r) {
    for (const std::uint32_t c : rows[r]) out.items[next[c]++] = r;
  }
  return out;
}

Contraction contract(std::size_t parts, std::vector<PartEdge> edges) {
  std::erase_if(edges, [](const PartEdge& e) { return e.from == e.to; });
  std::sort(edges.begin(), edges.end(), [](const PartEdge& a, const PartEdge& b) {
    return std::tie(a.from, a.to) < std::tie(b.from, b.to);
  });
  edges.erase(
      std::unique(edges.begin(), edges.end(),
                  [](const PartEdge& a, const PartEdge& b) { return a.from == b.from && a.to == b.to; }),
      edges.end());

  Contraction result;
  std::vector<std::uint32_t> waiting(parts, 0);
  std::size_t next = 0;
  for (std::uint32_t p = 0; p < parts; ++p) {
    for (; next < edges.size() && edges[next].from == p; ++next) {
      result.successors.items.push_back(edges[next].to);
      ++waiting[edges[next].to];
    }
    result.successors.closeRow();
  }
  std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, std::greater<>> ready;
  for (std::uint32_t p = 0; p < parts; ++p) {
    if (waiting[p] == 0) ready.push(p);
  }
  while (!ready.empty()) {
    const std::uint32_t p = ready.top();
    ready.pop();
    result.order.push_back(p);
    for (const std::uint32_t q : result.successors[p]) {
      if (--waiting[q] == 0) ready.push(q);
    }
  }
  if (result.order.size() != parts) {
    result.order.clear();
    result.cycle = findCycle(parts, [&](std::uint32_t p, auto&& visit) {
      for (const std::uint32_t q : result.successors[p]) visit(q);
    });
  }
  return result;
}

Contraction contract(const OpGraph& graph, std::span<const std::uint32_t> part, std::size_t parts) {
  std::vector<PartEdge> edges;
  for (std::size_t t = 0; t < graph.tensorCount(); ++t) {
    const std::uint32_t from = part[graph.tensor_producer[t].index()];
    for (const OpId consumer : graph.tensor_consumers[t]) {
      if (part[consumer.index()] != from) edges.push_back({from, part[consumer.index()]});
    }
  }
  return contract(parts, std::move(edges));
}

namespace {

std::vector<std::uint32_t> partsOf(UnionFind& sets, std::size_t nodes) {
  std::vector<std::uint32_t> part(nodes);
  std::uint32_t count = 0;
  for (std::uint32_t i = 0; i < nodes; ++i) {
    const std::uint32_t root = sets.find(i);  // the smallest member, so already numbered
    part[i] = root == i ? count++ : part[root];
  }
  return part;
}

// One round; returns how many pairs were joined, at most `most`.
std::size_t contractOnce(UnionFind& sets, std::size_t nodes, std::span<const WeightedEdge> edges,
                         std::size_t most, const std::function<bool(std::uint32_t, std::uint32_t)>& join) {
  // Edges between sets, doubles added up.
  std::vector<WeightedEdge> between;
  for (const WeightedEdge& edge : edges) {
    const std::uint32_t a = sets.find(edge.from), b = sets.find(edge.to);
    if (a != b) between.push_back({a, b, edge.weight});
  }
  std::sort(between.begin(), between.end(), [](const WeightedEdge& a, const WeightedEdge& b) {
    return std::tie(a.from, a.to) < std::tie(b.from, b.to);
  });
  std::size_t kept = 0;
  for (const WeightedEdge& edge : between) {
    if (kept > 0 && between[kept - 1].from == edge.from && between[kept - 1].to == edge.to)
      between[kept - 1].weight += edge.weight;
    else
      between[kept++] = edge;
  }
  between.resize(kept);
  std::vector<PartEdge> plain;
  for (const WeightedEdge& edge : between) plain.push_back({edge.from, edge.to});
  const Contraction graph = contract(nodes, std::move(plain));
  const Csr<std::uint32_t> before = transposed(graph.successors, nodes);
  std::vector<std::uint32_t> level(nodes, 0);
  for (const std::uint32_t i : graph.order) {
    for (const std::uint32_t next : graph.successors[i]) level[next] = std::max(level[next], level[i] + 1);
  }
  std::stable_sort(between.begin(), between.end(),
                   [](const WeightedEdge& a, const WeightedEdge& b) { return a.weight > b.weight; });
  enum : std::uint8_t { kFree, kTail, kHead };
  std::vector<std::uint8_t> role(nodes, kFree);
  std::size_t joined = 0;
  for (const WeightedEdge& edge : between) {
    if (joined == most) break;
    if (role[edge.from] != kFree || role[edge.to] != kFree || level[edge.to] != level[edge.from] + 1)
      continue;
    const auto after = graph.successors[edge.from];
    const bool leads = std::any_of(after.begin(), after.end(), [&](std::uint32_t v) {
      return role[v] == kHead && level[v] == level[edge.to];
    });
    const auto reads = before[edge.to];
    const bool is_led = std::any_of(reads.begin(), reads.end(), [&](std::uint32_t u) {
      return role[u] == kTail && level[u] == level[edge.from];
    });
    if (leads || is_led || !join(std::min(edge.from, edge.to), std::max(edge.from, edge.to))) continue;
    role[edge.from] = kTail;
    role[edge.to] = kHead;
    sets.join(edge.from, edge.to);
    ++joined;
  }
  return joined;
}

}  // namespace

std::vector<std::uint32_t> contractHeavyEdges(std::size_t nodes, std::span<const WeightedEdge> edges,
                                              std::size_t target,
                                              const std::function<bool(std::uint32_t, std::uint32_t)>& join) {
  UnionFind sets(nodes);
  std::size_t left = nodes;
  while (left > target) {
    const std::size_t joined = contractOnce(sets, nodes, edges, left - target, join);
    if (joined == 0) break;
    left -= joined;
  }
  return partsOf(sets, nodes);
}

std::vector<std::uint32_t> contractChains(std::size_t nodes, std::span<const WeightedEdge> edges,
                                          const std::function<bool(std::uint32_t, std::uint32_t)>& join) {
  std::vector<PartEdge> plain;
  for (const WeightedEdge& edge : edges) plain.push_back({edge.from, edge.to});
  const Contraction graph = contract(nodes, std::move(plain));
  const Csr<std::uint32_t> before = transposed(graph.successors, nodes);
  UnionFind sets(nodes);
  for (const std::uint32_t i : graph.order) {
    if (graph.successors[i].size() != 1) continue;
    const std::uint32_t next = graph.successors[i].front();
    if (before[next].size() != 1) continue;
    const std::uint32_t a = sets.find(i), b = sets.find(next);
    if (join(std::min(a, b), std::max(a, b))) sets.join(a, b);
  }
  return partsOf(sets, nodes);
}

}  // namespace allot
