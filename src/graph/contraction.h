// Contraction of sets of ops to single nodes, with a check that the result is still acyclic.
#pragma once

#include <cstdint>
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

}  // namespace allot
