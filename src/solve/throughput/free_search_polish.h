// Balances a good assignment to the last bit.
//
// Problem: lower the largest load of an assignment by moves that annealing finds by luck only.
// Method: ejection chains from the fullest device. An item leaves it; if the device that takes it becomes too
// full, one of its items leaves in turn, and so on, all of them tried up to a depth; at most one device is
// too full at any time, so exchanges of two for one are among the chains. The first chain that ends with
// every device below the old maximum is taken. Guarantee: never worse, within memory if the start is. Without
// a limit no such chain lowers the result. Complexity: (items of a device * devices)^depth probes at most,
// cut off at `probes`.
#pragma once

#include <cstdint>
#include <vector>

#include "solve/throughput/free_search_walk.h"

namespace allot {

// Assignments above the best by less than this part are worth polishing.
inline constexpr double kNear = 4e-3;
// Probes of a polish, per move of the walk before it.
inline constexpr std::uint64_t kProbesPerMove = 2;

// Changes `outcome` to what the chains reach before `deadline` (seconds of the budget's clock); returns the
// probes made.
std::uint64_t polishFree(const FreeGround& ground, FreeOutcome& outcome, std::uint64_t probes,
                         const Budget& budget, double deadline);

}  // namespace allot
