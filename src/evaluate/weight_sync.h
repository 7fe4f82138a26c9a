// Time that copies of weights take to agree in training, by the rule of a ring: r copies of W bytes take
// 2 (r - 1) / r x W / bandwidth + 2 (r - 1) x latency of the slowest link between any two of the devices.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "allot/plan.h"
#include "allot/problem.h"

namespace allot {

// Of a replicated stage that trains, with each block of weights once; 0 for one device or without backward
// and update ops. O(ops of the stage + r^2).
double syncSeconds(const Problem& problem, const PlanStage& stage);

// By stage: what blocks that several stages read add to the load of each device there, in a problem that
// trains. A block that one stage alone reads is part of that stage's own sync. O(readers + r^2 for each
// block).
std::vector<double> blockSyncSeconds(const Problem& problem, std::span<const PlanStage> stages);

}  // namespace allot
