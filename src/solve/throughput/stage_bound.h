// Bounds and plans for chains on like devices from the least loads of single stages.
//
// Problem: throughput with contiguity `chain` on like devices that all pay for transfers, `sum` overlap and
// training load, no replicas; graphs whose ideals are too many to list, but with few items open at a time
// (stage_order.h).
// Method: plans first: the cheapest ideal for every number of units of work, and the best chain when each
// stage pays for all that its two ideals cut. Then bounds: a table of the least load of a stage between any
// two labels of ideals (stage_sweep.h) and the best path over labels. Neighbouring stages of a path agree in
// the label of the ideal between them, not in the ideal. So labels become finer: more units, or marks of
// items that tell the two ideals apart, until time runs out or the path is worth as much as the best plan.
// Stages that no path below the best plan uses are dropped on the way. Each path is tried as a plan, too.
// Guarantee: bounds hold for every plan under the modes above. Complexity: that of stage_sweep.h, some ten
// times. Out of time: the best bound so far.
#pragma once

#include "allot/solve.h"
#include "solve/throughput/pipeline_model.h"

namespace allot {

// False where the graph is too wide. Needs a plan to start from.
bool boundByStages(const PipelineModel& model, std::size_t stages, const Budget& budget, Progress& progress);

}  // namespace allot
