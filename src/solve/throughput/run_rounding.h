// Boundaries by items from a chain over a run graph.
//
// Problem: the boundaries of such a chain say which runs are begun and how much work is done in all; find
// which items those are. Method: boundary by boundary all begun runs are taken whole, then given back from
// their ends until no more than the work is left, but for a rest smaller than the next item: first runs that
// an earlier boundary had begun, which are cheapest to leave as they were, then those that the next stage
// finishes, then others. Guarantee: each boundary is an ideal of the model and holds the one before. Loads
// may be larger than those of the chain: a place to search from. Complexity: O(boundaries * items).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "solve/throughput/run_search.h"

namespace allot {

// By boundary and item of the model: whether it is held.
std::vector<std::vector<std::uint8_t>> roundToItems(const PipelineModel& model, const RunGraph& graph,
                                                    std::span<const RunBoundary> chain);

}  // namespace allot
