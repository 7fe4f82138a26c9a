// GETF (Su, Ren, Vardi, Wierman 2020): group devices by speed, give each op a group, then earliest start
// first.
//
// Speed of a device: work of all ops on the fastest device for each over its own time for them. Groups are
// powers of two of the speed. The paper's linear program spreads each op over the groups, fastest first, and
// takes the group of largest total speed at or above the one where half of the op is reached; on graphs whose
// longest path outweighs the load, and with groups that are not loaded to the end, all of it is on the
// fastest group, which is what is used here while the load of the faster groups stays below the longest path
// or an equal share. Related machines are assumed; memory and allowed devices are respected: an op that its
// group cannot take goes anywhere. Heuristic here. Complexity: O(ops x ready ops x devices). When time runs
// out: no plan.
#pragma once

#include "allot/solve.h"

namespace allot::baseline {

SolveResult getf(const Problem& problem, const Budget& budget, Progress& progress);

}  // namespace allot::baseline
