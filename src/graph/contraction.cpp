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

namespace {

// By tail, then by head, in linear time.
template <class Edge>
void sortByEnds(std::size_t nodes, std::vector<Edge>& edges) {
  const auto less = [](const Edge& a, const Edge& b) {
    return std::tie(a.from, a.to) < std::tie(b.from, b.to);
  };
  if (std::is_sorted(edges.begin(), edges.end(), less)) return;
  std::vector<Edge> sorted(edges.size());
  for (const auto end : {&Edge::to, &Edge::from}) {
    std::vector<std::uint32_t> next(nodes + 1, 0);
    for (const Edge& edge : edges) ++next[edge.*end + 1];
    std::partial_sum(next.begin(), next.end(), next.begin());
    for (const Edge& edge : edges) sorted[next[edge.*end]++] = edge;
    edges.swap(sorted);
  }
}

}  // namespace

Contraction contract(std::size_t parts, std::vector<PartEdge> edges) {
  std::erase_if(edges, [](const PartEdge& e) { return e.from == e.to; });
  sortByEnds(parts, edges);
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

// Joins pairs of nodes in rounds (contraction.h says when).
class Contractor {
 public:
  using Join = std::function<bool(std::uint32_t, std::uint32_t)>;

  Contractor(std::size_t nodes, std::span<const WeightedEdge> edges, const Join& join)
      : nodes_(nodes), edges_(edges.begin(), edges.end()), join_(join), sets_(nodes) {}

  UnionFind& sets() { return sets_; }

  // Each returns how many pairs were joined, at most `most`.
  std::size_t joinEdges(std::size_t most) {
    beginRound();
    std::vector<WeightedEdge> candidates;
    std::copy_if(edges_.begin(), edges_.end(), std::back_inserter(candidates),
                 [&](const WeightedEdge& edge) { return level_[edge.to] == level_[edge.from] + 1; });
    std::stable_sort(candidates.begin(), candidates.end(),
                     [](const WeightedEdge& a, const WeightedEdge& b) { return a.weight > b.weight; });
    // Whether an edge leads from the node to a head of the next level, or to it from a tail of the one
    // before.
    std::vector<std::uint8_t> leads(nodes_, 0), is_led(nodes_, 0);
    std::size_t joined = 0;
    for (const auto& [from, to, weight] : candidates) {
      if (joined == most) break;
      if (taken_[from] || taken_[to] || leads[from] || is_led[to] || !tryJoin(from, to)) continue;
      for (const std::uint32_t node : before_[to]) leads[node] |= level_[node] + 1 == level_[to];
      for (const std::uint32_t node : graph_.successors[from])
        is_led[node] |= level_[node] == level_[from] + 1;
      ++joined;
    }
    return joined;
  }

  std::size_t joinTwins(std::size_t most) {
    beginRound();
    std::size_t joined = 0;
    for (std::uint32_t node = 0; node < nodes_ && joined < most; ++node) {
      joined += joinInPairs(graph_.successors[node], level_[node] + 1, most - joined);
      if (level_[node] > 0) joined += joinInPairs(before_[node], level_[node] - 1, most - joined);
    }
    return joined;
  }

 private:
  std::size_t nodes_;
  std::vector<WeightedEdge> edges_;  // between sets, doubles added up
  const Join& join_;
  UnionFind sets_;
  // Of the round.
  Contraction graph_;
  Csr<std::uint32_t> before_;
  std::vector<std::uint32_t> level_;  // longest path from a source
  std::vector<std::uint8_t> taken_;

  void beginRound() {
    std::size_t kept = 0;
    for (const WeightedEdge& edge : edges_) {
      const std::uint32_t from = sets_.find(edge.from), to = sets_.find(edge.to);
      if (from != to) edges_[kept++] = {from, to, edge.weight};
    }
    edges_.resize(kept);
    sortByEnds(nodes_, edges_);
    kept = 0;
    for (const WeightedEdge& edge : edges_) {
      if (kept > 0 && edges_[kept - 1].from == edge.from && edges_[kept - 1].to == edge.to)
        edges_[kept - 1].weight += edge.weight;
      else
        edges_[kept++] = edge;
    }
    edges_.resize(kept);
    std::vector<PartEdge> plain;
    plain.reserve(kept);
    for (const WeightedEdge& edge : edges_) plain.push_back({edge.from, edge.to});
    graph_ = contract(nodes_, std::move(plain));
    before_ = transposed(graph_.successors, nodes_);
    level_.assign(nodes_, 0);
    for (const std::uint32_t i : graph_.order) {
      for (const std::uint32_t next : graph_.successors[i])
        level_[next] = std::max(level_[next], level_[i] + 1);
    }
    taken_.assign(nodes_, 0);
  }

  bool tryJoin(std::uint32_t a, std::uint32_t b) {
    if (!join_(std::min(a, b), std::max(a, b))) return false;
    sets_.join(a, b);
    taken_[a] = taken_[b] = 1;
    return true;
  }

  std::size_t joinInPairs(std::span<const std::uint32_t> nodes, std::uint32_t level, std::size_t most) {
    std::size_t joined = 0;
    const std::uint32_t* left = nullptr;
    for (const std::uint32_t& node : nodes) {
      if (joined == most) break;
      if (taken_[node] || level_[node] != level) continue;
      if (left == nullptr || !tryJoin(*left, node)) {
        left = &node;
      } else {
        ++joined;
        left = nullptr;
      }
    }
    return joined;
  }
};

}  // namespace

std::vector<std::uint32_t> contractHeavyEdges(std::size_t nodes, std::span<const WeightedEdge> edges,
                                              std::size_t target,
                                              const std::function<bool(std::uint32_t, std::uint32_t)>& join,
                                              const std::function<bool()>& stopped) {
  constexpr std::size_t kFew = 64;  // of so many nodes one pair is too few for a round
  Contractor contractor(nodes, edges, join);
  std::size_t left = nodes;
  while (left > target && !stopped()) {
    std::size_t joined = contractor.joinEdges(left - target);
    left -= joined;
    if (joined < left / kFew && left > target && !stopped()) {
      const std::size_t twins = contractor.joinTwins(left - target);
      left -= twins;
      joined += twins;
    }
    if (joined == 0) break;
  }
  return partsOf(contractor.sets(), nodes);
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
