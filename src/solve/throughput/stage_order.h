// A topological order of the items in which few of them are open at once.
//
// Problem: a sweep over the items in topological order must remember every item that has something to come: a
// successor in the forward graph, or an end of a net that it was the first end of. The number of its states
// grows exponentially with the number of such open items. Method: again and again place some item with all
// that must come before it: the one that leaves the fewest open, on the way there too. Guarantee: a
// topological order; how good it is, is a matter of luck. Complexity: O(items * candidates * items placed at
// once).
#pragma once

#include <cstdint>
#include <vector>

#include "solve/throughput/pipeline_model.h"

namespace allot {

std::vector<std::uint32_t> stageOrder(const PipelineModel& model);

}  // namespace allot
