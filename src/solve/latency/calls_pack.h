// Calls onto accelerators: each call of a list gets a device of its pool.
//
// Calls that share a unit share a device, a device takes at most q calls and its memory, and calls of a
// device run in the order of the list. Among the ways that fit, those without waiting are tried first: depth
// first, within a limit on steps. Where none fits, calls that are left over stay where they are and the plan
// is not valid.
#pragma once

#include <vector>

#include "allot/plan.h"
#include "solve/latency/calls_search.h"

namespace allot {

Plan packCalls(const CallItems& items, const std::vector<CallPart>& parts, const Budget& budget);

}  // namespace allot
