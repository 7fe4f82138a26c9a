#include "solve/baselines/module_order.h"

#include <algorithm>

#include "graph/contraction.h"

namespace allot {
namespace {

std::vector<PartEdge> unitEdges(const Problem& problem) {
  const OpGraph& graph = problem.graph;
  const auto forward = [&](OpId op) { return graph.op_phase[op.index()] == Phase::kForward; };
  std::vector<std::uint8_t> has_forward(problem.unitCount(), 0);
  for (std::size_t i = 0; i < problem.opCount(); ++i) {
    if (forward(OpId(i))) has_forward[problem.unit(OpId(i)).index()] = 1;
  }
  std::vector<PartEdge> edges;
  for (std::size_t t = 0; t < graph.tensorCount(); ++t) {
    const OpId producer = graph.tensor_producer[t];
    const UnitId from = problem.unit(producer);
    for (const OpId consumer : graph.tensor_consumers[t]) {
      const UnitId to = problem.unit(consumer);
      if (from == to) continue;
      if (forward(producer) && forward(consumer)) {
        edges.push_back({from.value, to.value});
      } else if (!forward(producer) && !forward(consumer) && !(has_forward[from.index()] && has_forward[to.index()])) {
        edges.push_back({to.value, from.value});
      }
    }
  }
  return edges;
}

// Strongly connected components by Tarjan's method without recursion. Each node is given the smallest node of its component.
std::vector<std::uint32_t> componentRoots(const Csr<std::uint32_t>& successors) {
  constexpr std::uint32_t kNone = UINT32_MAX;
  const std::size_t n = successors.rows();
  std::vector<std::uint32_t> number(n, kNone), low(n, 0), root(n, kNone), next(n, 0), path, open;
  std::uint32_t count = 0;
  for (std::uint32_t start = 0; start < n; ++start) {
    if (number[start] != kNone) continue;
    path.push_back(start);
    while (!path.empty()) {
      const std::uint32_t node = path.back();
      if (number[node] == kNone) {
        number[node] = low[node] = count++;
        open.push_back(node);
      }
      const auto row = successors[node];
      bool descended = false;
      while (next[node] < row.size() && !descended) {
        const std::uint32_t to = row[next[node]];
        if (number[to] == kNone) {
          path.push_back(to);
          descended = true;
        } else {
          // Visited again after the descent, when low[to] is final.
          if (root[to] == kNone) low[node] = std::min(low[node], low[to]);
          ++next[node];
        }
      }
      if (descended) continue;
      path.pop_back();
      if (low[node] != number[node]) continue;
      const auto first = std::find(open.rbegin(), open.rend(), node).base() - 1;
      const std::uint32_t smallest = *std::min_element(first, open.end());
      for (auto it = first; it != open.end(); ++it) root[*it] = smallest;
      open.erase(first, open.end());
    }
  }
  return root;
}

}  // namespace

std::vector<Block> moduleOrder(const Problem& problem) {
  const std::size_t units = problem.unitCount();
  std::vector<PartEdge> edges = unitEdges(problem);
  Contraction line = contract(units, edges);
  std::vector<std::uint32_t> part(units);
  std::uint32_t parts = 0;
  if (line.acyclic()) {
    for (; parts < units; ++parts) part[parts] = parts;
  } else {
    const std::vector<std::uint32_t> root = componentRoots(line.successors);
    for (std::uint32_t u = 0; u < units; ++u) part[u] = root[u] == u ? parts++ : part[root[u]];
    for (PartEdge& edge : edges) edge = {part[edge.from], part[edge.to]};
    line = contract(parts, std::move(edges));
  }

  std::vector<std::uint32_t> place(parts);
  for (std::uint32_t i = 0; i < parts; ++i) place[line.order[i]] = i;
  std::vector<Block> blocks(parts);
  for (std::uint32_t u = 0; u < units; ++u) {
    Block& block = blocks[place[part[u]]];
    block.units.push_back(UnitId(u));
    for (const OpId op : problem.unitOps(UnitId(u))) {
      ++block.ops;
      block.resident_bytes += problem.residentBytes(op);
      block.weight_bytes += problem.graph.op_weight_bytes[op.index()];
    }
  }
  return blocks;
}

bool allowed(const Problem& problem, const Block& block, DeviceId device) {
  return std::all_of(block.units.begin(), block.units.end(), [&](UnitId u) { return problem.allowed(u, device); });
}

}  // namespace allot
