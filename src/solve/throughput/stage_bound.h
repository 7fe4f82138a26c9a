// Bounds and plans for chains on like devices from the least loads of single stages.
//
// Problem: throughput with contiguity `chain` on like devices that all pay for transfers, `sum` overlap and
// training load, no replicas; graphs whose ideals are too many to list, but with few items open at a time
// (stage_order.h).
// Method: plans first: the cheapest ideal for every number of units of work, and the best chain when each
// stage pays for all that its two ideals cut. Then bounds: a table of the least load of a stage between
// ideals of any two numbers of units (stage_sweep.h), and the path over units whose largest load is least.
// Neighbouring stages of a path agree in the units of the ideal between them, not in the ideal. So units
// become finer until time runs out or no path is below the best plan; stages that no such path uses are
// dropped on the way. The ideals of each path are tried as boundaries of a plan, too. Most of the time goes
// to chains in which neighbours do agree, but items of a run are divisible (run_search.h): ever higher values
// are refuted, and chains that are found become plans. Guarantee: bounds hold for every plan under the modes
// above. Complexity: that of stage_sweep.h for each halving of the units, that of run_search.h for each
// value. Out of time: the best bound so far.
#pragma once

#include "allot/solve.h"
#include "solve/throughput/pipeline_model.h"

namespace allot {

// False where the graph is too wide. Needs a plan to start from.
bool boundByStages(const PipelineModel& model, std::size_t stages, const Budget& budget, Progress& progress);

}  // namespace allot
