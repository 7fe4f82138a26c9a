#include "solve/module_order.h"

#include <algorithm>

#include "evaluate/forward_graph.h"
#include "graph/contraction.h"

namespace allot {
namespace {

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
  const ForwardGraph forward(problem);
  std::vector<PartEdge> edges(forward.unitEdges().begin(), forward.unitEdges().end());
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
