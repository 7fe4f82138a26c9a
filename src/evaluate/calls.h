// Latency when accelerators run whole subgraphs as calls (Tarnawski et al., NeurIPS 2020).
//
// CPU ops run as soon as their inputs are there, on unlimited cores. A call starts when all outside producers
// have ended and the accelerator's previous call has; it takes incoming transfers + ops + outgoing transfers,
// and all its ops end with it. O(ops + edges).
#pragma once

#include <span>
#include <string>
#include <vector>

#include "allot/plan.h"
#include "allot/problem.h"

namespace allot {

struct CallTimes {
  std::vector<double> start, end;        // by op; an op of a call has the call's times
  std::vector<double> transfer_seconds;  // by device: what its calls spend on transfers
  bool cyclic = false;                   // calls wait for each other; the times mean nothing
};

// `calls` in the order in which each accelerator runs them; every accelerator op is in exactly one.
CallTimes evaluateCalls(const Problem& problem, std::span<const DeviceId> assignment,
                        std::span<const PlanStage> calls);

// Cuts each accelerator's ops into calls by level: 1 + the largest number of times a path to the op leaves
// the accelerator and returns.
std::vector<PlanStage> callsByLevel(const Problem& problem, std::span<const DeviceId> assignment);

}  // namespace allot
