#include "solve/module_order.h"

#include <algorithm>

#include "evaluate/forward_graph.h"
#include "graph/contraction.h"

namespace allot {
namespace {

// Strongly connected components by Tarjan's method without recursion. Each node is given the smallest node of
// its component.
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

// Units in the order of the line, and the number of units in each block.
struct Line {
  std::vector<UnitId> units;
  std::vector<std::uint32_t> block_sizes;
};

// Every op is a unit and forward: the graph's own order is the line.
Line lineOfOps(const Problem& problem) {
  Line line;
  for (const OpId op : problem.graph.topologicalOrder()) line.units.push_back(problem.unit(op));
  line.block_sizes.assign(line.units.size(), 1);
  return line;
}

Line lineOfUnits(const Problem& problem) {
  const std::size_t units = problem.unitCount();
  const ForwardGraph forward(problem);
  std::vector<PartEdge> edges(forward.unitEdges().begin(), forward.unitEdges().end());
  Contraction contraction = contract(units, edges);
  std::vector<std::uint32_t> part(units);
  std::uint32_t parts = 0;
  if (contraction.acyclic()) {
    for (; parts < units; ++parts) part[parts] = parts;
  } else {
    const std::vector<std::uint32_t> root = componentRoots(contraction.successors);
    for (std::uint32_t u = 0; u < units; ++u) part[u] = root[u] == u ? parts++ : part[root[u]];
    for (PartEdge& edge : edges) edge = {part[edge.from], part[edge.to]};
    contraction = contract(parts, std::move(edges));
  }

  Line line;
  std::vector<std::uint32_t> place(parts);
  for (std::uint32_t i = 0; i < parts; ++i) place[contraction.order[i]] = i;
  line.block_sizes.assign(parts, 0);
  for (std::uint32_t u = 0; u < units; ++u) {
    line.units.emplace_back(u);
    ++line.block_sizes[place[part[u]]];
  }
  std::stable_sort(line.units.begin(), line.units.end(),
                   [&](UnitId a, UnitId b) { return place[part[a.index()]] < place[part[b.index()]]; });
  return line;
}

}  // namespace

ModuleOrder moduleOrder(const Problem& problem) {
  const bool ops_alone = problem.unitCount() == problem.opCount() && !problem.hasTraining();
  Line line = ops_alone ? lineOfOps(problem) : lineOfUnits(problem);
  ModuleOrder order;
  order.units = std::move(line.units);
  order.blocks.reserve(line.block_sizes.size());
  std::span<const UnitId> rest(order.units);
  for (const std::uint32_t size : line.block_sizes) {
    Block& block = order.blocks.emplace_back();
    block.units = rest.first(size);
    rest = rest.subspan(size);
    for (const UnitId unit : block.units) {
      for (const OpId op : problem.unitOps(unit)) {
        ++block.ops;
        block.resident_bytes += problem.residentBytes(op);
        block.weight_bytes += problem.graph.op_weight_bytes[op.index()];
      }
    }
  }
  return order;
}

bool allowed(const Problem& problem, const Block& block, DeviceId device) {
  return std::all_of(block.units.begin(), block.units.end(),
                     [&](UnitId u) { return problem.allowed(u, device); });
}

}  // namespace allot
