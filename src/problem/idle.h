// Idle time of a schedule, the second goal of completion: the sum, over the devices used, of the latest end
// less the time the device is busy.
#pragma once

#include "allot/plan.h"
#include "allot/problem.h"

namespace allot {

// Of a plan with ends for all ops; 0 without a schedule.
double idleSeconds(const Problem& problem, const Plan& plan);

}  // namespace allot
