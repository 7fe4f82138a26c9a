// The forward graph, on which contiguity is defined.
//
// Nodes: the forward ops, and one artificial op for each unit that has none ("orphan": backward or update
// work without a forward partner). Edges: tensors between forward ops; and for every edge u -> v between ops
// that are not forward, in different units of which at least one is an orphan, the reversed edge from v's
// unit to u's unit (backward runs against the pipeline). An artificial edge touches every forward op of a
// unit that is no orphan. In an inference problem this is the graph itself. Construction is O(ops + edges),
// plus artificial edges.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "allot/problem.h"
#include "graph/contraction.h"

namespace allot {

class ForwardGraph {
 public:
  explicit ForwardGraph(const Problem& problem);

  // Edges between different units.
  std::span<const PartEdge> unitEdges() const { return unit_edges_; }

  // The graph of parts when each unit belongs to `part[unit]`; parts without units are isolated.
  Contraction contractUnits(std::span<const std::uint32_t> part, std::size_t parts) const;

  // A part whose forward set is not convex (some path leaves it and returns), or -1. O(parts * (ops +
  // edges)).
  std::int64_t notConvex(std::span<const std::uint32_t> part, std::size_t parts) const;

 private:
  std::vector<PartEdge> unit_edges_;
  std::vector<UnitId> node_unit_;  // by node: forward ops, then artificial ops
  Csr<std::uint32_t> successors_;  // by node
};

}  // namespace allot
