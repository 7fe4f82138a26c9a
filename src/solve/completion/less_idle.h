// The second goal of completion: less idle time at the same value, by small changes of the best plan.
//
// Guarantee: the value stays. Complexity: a fixed amount of changes, some ten milliseconds; none after a
// stop.
#pragma once

#include "allot/solve.h"
#include "solve/completion/order_walk.h"

namespace allot {

void lessenIdleOf(const Problem& problem, const Budget& budget, Progress& progress,
                  const WalkLimit* limit = nullptr);

}  // namespace allot
