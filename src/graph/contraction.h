// Contraction of sets of ops to single nodes, with a check that the result is still acyclic.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "allot/graph.h"

namespace allot {

struct Contraction {
  Csr<std::uint32_t> successors;     // by part, without doubles or self loops
  std::vector<std::uint32_t> order;  // parts in topological order; empty when cyclic
  std::vector<std::uint32_t> cycle;  // parts of one cycle; empty when acyclic

  bool acyclic() const { return cycle.empty(); }
};

// Rows the other way round: for each of `columns` values, the rows that hold it.
Csr<std::uint32_t> transposed(const Csr<std::uint32_t>& rows, std::size_t columns);

struct PartEdge {
  std::uint32_t from, to;
};

// The graph of parts joined by `edges`; self loops and doubles are dropped. The order takes the smallest part
// first.
Contraction contract(std::size_t parts, std::vector<PartEdge> edges);

// `part[op]` is the part of each op.
Contraction contract(const OpGraph& graph, std::span<const std::uint32_t> part, std::size_t parts);

struct WeightedEdge {
  std::uint32_t from, to;
  double weight;
};

// Contracts edges in rounds, heavy ones first, until `target` nodes are left, nothing more may be joined or
// `stopped`, and returns the part of each node (numbered from 0 in order of smallest member). The graph stays
// acyclic: in a round every contracted edge leads from a level (longest path from a source) to the next one,
// each node is in at most one, and no edge leads from the tail of one to the head of another of the same
// level. A cycle of the contracted graph would gain at least one level on every edge and lose at most one in
// every joined pair, so all its edges would be of that kind. Where few edges can be contracted, as around an
// op that thousands read, a round joins nodes of one level that share a neighbour instead: every edge still
// leads to a higher level. `join(a, b)` is asked for each pair, by the smallest members of both sides; when
// it agrees they are one from then on. O(edges log edges) for a round; rounds are few, as a round takes a
// share of the nodes unless `join` refuses.
std::vector<std::uint32_t> contractHeavyEdges(
    std::size_t nodes, std::span<const WeightedEdge> edges, std::size_t target,
    const std::function<bool(std::uint32_t, std::uint32_t)>& join,
    const std::function<bool()>& stopped = [] { return false; });

// Contracts every edge whose tail has no other successor and whose head has no other predecessor; what is
// left is acyclic, as only disjoint paths shrink to points.
std::vector<std::uint32_t> contractChains(std::size_t nodes, std::span<const WeightedEdge> edges,
                                          const std::function<bool(std::uint32_t, std::uint32_t)>& join);

}  // namespace allot
