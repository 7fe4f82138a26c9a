// Plans from sets that cover all items in parts.
//
// Problem: where no prices refute a load, the program of price_bundle.h is left with weights of sets that
// together cover every item within that load, as far as devices can be divided. Often a plan is near.
// Method: choose sets one after the other, the one with the most weight on items that nobody has yet, with
// some luck; what is left goes where its nets are; a walk and a polish (free_search_walk.h,
// free_search_polish.h) mend each such start. Guarantee: heuristic, the same for any number of threads.
// Complexity: O(sets * items) per start, and the moves of the walks.
#pragma once

#include <span>

#include "allot/solve.h"
#include "base/walk_crew.h"
#include "solve/throughput/cover_set.h"
#include "solve/throughput/pipeline_model.h"

namespace allot {

// True when a better plan was reported.
bool planFromCover(const PipelineModel& model, std::span<const CoverSet> cover, const Budget& budget,
                   WalkCrew& crew, Progress& progress);

}  // namespace allot
