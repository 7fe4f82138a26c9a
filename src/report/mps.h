// The latency problem as a mixed-integer program in MPS, for those who have a solver of such programs.
//
// Model: the one that Moirai publishes (arXiv 2312.04025), widened to tensors that are sent once, to launches
//   and to one port per device. Binaries place ops (x) and order two ops on a device (d) or two transfers at
//   a port (o); continuous columns are starts of ops (s) and transfers (t), whether a net goes from one
//   device to another (u), and the latest end (`latest`), which is minimised. A plan's value bounds every
//   time, which keeps the big-M rows as tight as that plan is good: what remains are the plans no worse than
//   it.
// Assumptions: events model, static memory.
// Guarantee: the optimum of the program is the least value of any plan, if the plan given is valid.
// Complexity: O(devices * ops^2 + devices^2 * nets^2) rows; refused beyond five million.
#pragma once

#include <string>

#include "allot/plan.h"
#include "allot/problem.h"
#include "allot/result.h"

namespace allot {

Result<std::string> writeMps(const Problem& problem, const Plan& plan);

}  // namespace allot
