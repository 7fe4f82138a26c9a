// Bounds and plans for chains on like devices from the least loads of single stages.
//
// Problem: throughput with contiguity `chain` on like devices that all pay for transfers, `sum` overlap and
// training load, no replicas; graphs whose ideals are too many to list, but with few items open at a time
// (stage_order.h).
// Method: plans first: the cheapest ideal for every number of units of work, and the best chain when each
// stage pays for all that its two ideals cut. Then bounds: a table of the least load of a stage between
// ideals of any two numbers of units (stage_sweep.h), and paths over units (stage_path.h). Neighbouring
// stages of a path agree in the work of the ideal between them, not in the ideal. In chains of runs they do
// (run_search.h): ever higher values are refuted, and chains that are found become plans. Tables become finer
// when a search takes long, for what they know of a path keeps it small; where chains of runs are too many,
// until time runs out or no path is below the best plan. Runs are divisible: they become shorter when nothing
// is left to find. Guarantee: bounds hold for every plan under the modes above. Complexity: that of
// stage_sweep.h for each halving of the units, that of run_search.h for each value. Out of time: the best
// bound so far.
#pragma once

#include "allot/solve.h"
#include "solve/throughput/pipeline_model.h"

namespace allot {

// False where the graph is too wide. Needs a plan to start from.
bool boundByStages(const PipelineModel& model, std::size_t stages, const Budget& budget, Progress& progress);

}  // namespace allot
