// An order in which a graph, run on one device, holds little at a time.
//
// Problem: find a topological order whose peak of live tensors is small. Live memory of throughput takes the
// ops in such an order (docs/semantics.md, "Memory of models"). The least peak is NP-hard to find; this is
// the best of some heuristics and of the order of declaration, so it is never worse than that. Complexity:
// near linear in the ops and the readers of their tensors. Deterministic.
#pragma once

#include <span>
#include <vector>

#include "allot/graph.h"

namespace allot {

// Largest sum over the ops, in this order, of what is live while one runs: its workspace, tensors from their
// producer to their last reader or, where nothing reads them, to the end, and model inputs until their last
// reader. What is resident comes on top.
double livePeak(const OpGraph& graph, std::span<const OpId> order);

// `graph` is finished.
std::vector<OpId> smallPeakOrder(const OpGraph& graph);

}  // namespace allot
