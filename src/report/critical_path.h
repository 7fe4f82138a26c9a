// Why a latency or completion plan ends when it does.
//
// Walks back from the last end through what each start waited for: an input, a transfer, a port, the device,
// or nothing (slack). Guarantee: the steps are in time order, do not overlap, and cover everything from time
// 0 to the last end. Complexity: O((ops + transfers) log) to sort, then linear in the path.
#pragma once

#include <string>
#include <vector>

#include "allot/plan.h"
#include "allot/problem.h"

namespace allot {

struct PathStep {
  enum class Kind { kOp, kTransfer, kLaunch, kWait };
  Kind kind = Kind::kOp;
  OpId op;              // the op that runs, or the tensor's producer
  DeviceId device, to;  // `to` is where a transfer goes
  double start = 0, end = 0;
};

// The plan must have a schedule.
std::vector<PathStep> criticalPath(const Problem& problem, const Plan& plan);

}  // namespace allot
