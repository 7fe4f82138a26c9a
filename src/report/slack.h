// How much later each op could end without the plan ending later.
//
// Every decision stays: devices, their orders, the orders at the ports. An op may be late until what waits
// for it would be: its consumers and transfers, the next op of its device, and for a transfer the next one at
// its ports. Ops without slack are critical.
// Guarantee: delaying one op by its slack, and what follows from it, keeps the end of every model
// (completion) or the latest end (latency). Complexity: O((ops + transfers) log).
#pragma once

#include <vector>

#include "allot/plan.h"
#include "allot/problem.h"

namespace allot {

// By op, in seconds. The plan must have a schedule of the events model.
std::vector<double> opSlack(const Problem& problem, const Plan& plan);

}  // namespace allot
