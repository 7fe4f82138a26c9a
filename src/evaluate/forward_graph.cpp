#include "evaluate/forward_graph.h"

#include <algorithm>

namespace allot {

ForwardGraph::ForwardGraph(const Problem& problem) {
  const OpGraph& graph = problem.graph;
  const std::size_t n = problem.opCount();
  const auto forward = [&](OpId op) { return graph.op_phase[op.index()] == Phase::kForward; };

  std::vector<std::uint32_t> node_of_op(n, 0);
  std::vector<std::vector<std::uint32_t>> nodes_of_unit;  // only needed where artificial edges exist
  std::vector<std::uint8_t> orphan(problem.unitCount(), 1);
  for (std::size_t i = 0; i < n; ++i) {
    if (!forward(OpId(i))) continue;
    node_of_op[i] = static_cast<std::uint32_t>(node_unit_.size());
    node_unit_.push_back(problem.unit(OpId(i)));
    orphan[problem.unit(OpId(i)).index()] = 0;
  }
  if (problem.hasTraining()) {
    nodes_of_unit.resize(problem.unitCount());
    for (std::uint32_t v = 0; v < node_unit_.size(); ++v) nodes_of_unit[node_unit_[v].index()].push_back(v);
    for (std::size_t u = 0; u < problem.unitCount(); ++u) {
      if (!orphan[u]) continue;
      nodes_of_unit[u].push_back(static_cast<std::uint32_t>(node_unit_.size()));
      node_unit_.emplace_back(u);
    }
  }

  std::vector<PartEdge> edges;
  for (std::size_t t = 0; t < graph.tensorCount(); ++t) {
    const OpId from = graph.tensor_producer[t];
    const UnitId from_unit = problem.unit(from);
    for (const OpId to : graph.tensor_consumers[t]) {
      const UnitId to_unit = problem.unit(to);
      if (forward(from) && forward(to)) {
        edges.push_back({node_of_op[from.index()], node_of_op[to.index()]});
        if (from_unit != to_unit) unit_edges_.push_back({from_unit.value, to_unit.value});
      } else if (!forward(from) && !forward(to) && from_unit != to_unit &&
                 (orphan[from_unit.index()] || orphan[to_unit.index()])) {
        unit_edges_.push_back({to_unit.value, from_unit.value});
        for (const std::uint32_t a : nodes_of_unit[to_unit.index()]) {
          for (const std::uint32_t b : nodes_of_unit[from_unit.index()]) edges.push_back({a, b});
        }
      }
    }
  }
  successors_ = contract(node_unit_.size(), std::move(edges)).successors;
}

Contraction ForwardGraph::contractUnits(std::span<const std::uint32_t> part, std::size_t parts) const {
  std::vector<PartEdge> edges;
  edges.reserve(unit_edges_.size());
  for (const PartEdge& edge : unit_edges_) {
    if (part[edge.from] != part[edge.to]) edges.push_back({part[edge.from], part[edge.to]});
  }
  return contract(parts, std::move(edges));
}

std::int64_t ForwardGraph::notConvex(std::span<const std::uint32_t> part, std::size_t parts) const {
  const std::size_t n = node_unit_.size();
  std::vector<std::uint8_t> left(n);
  std::vector<std::uint32_t> stack;
  for (std::uint32_t p = 0; p < parts; ++p) {
    // `left` marks nodes outside the part that some path from the part reaches; none may lead back.
    std::fill(left.begin(), left.end(), 0);
    const auto inside = [&](std::uint32_t v) { return part[node_unit_[v].index()] == p; };
    for (std::uint32_t v = 0; v < n; ++v) {
      if (inside(v)) stack.push_back(v);
    }
    while (!stack.empty()) {
      const std::uint32_t v = stack.back();
      stack.pop_back();
      for (const std::uint32_t next : successors_[v]) {
        if (inside(next)) {
          if (left[v]) return p;
        } else if (!left[next]) {
          left[next] = 1;
          stack.push_back(next);
        }
      }
    }
    stack.clear();
  }
  return -1;
}

}  // namespace allot
