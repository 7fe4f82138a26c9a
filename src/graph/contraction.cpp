#include "graph/contraction.h"

#include <algorithm>
#include <numeric>
#include <queue>
#include <tuple>

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

}  // namespace allot
