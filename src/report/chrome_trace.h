// A plan as a Chrome trace (chrome://tracing, Perfetto).
//
// Each device is a process with the tracks compute, send and receive. Latency and completion plans show their
// schedule. A throughput plan shows one sample on its way: stage i works in period i, receives first, then
// computes, then sends, back to back. Times are microseconds. Complexity: linear in ops and transfers.
#pragma once

#include <string>

#include "allot/plan.h"
#include "allot/problem.h"

namespace allot {

std::string writeChromeTrace(const Problem& problem, const Plan& plan);

}  // namespace allot
