// A schedule for an assignment, by simulation of devices and ports.
//
// Problem: each device runs its ops in a fixed order (decreasing upward rank, or a given priority), each as
// soon as it is its
//   turn and its inputs are there; ports serve transfers by (producer's end, consumer's rank, index).
// Guarantee: a valid schedule in every link and send mode, deterministic. A given priority that would block
// for ever falls
//   back to the rank.
// Complexity: O((ops + transfers) log).
#pragma once

#include <span>
#include <vector>

#include "allot/plan.h"
#include "allot/problem.h"

namespace allot {

// rank(v) = time(v) + max over consumers (transfer + rank), with the assigned times.
std::vector<double> upwardRanks(const Problem& problem, std::span<const DeviceId> assignment);

// Fills start, end and transfers of `plan` for its assignment. `wanted_start`, where not empty, gives the
// order on the devices (smaller first).
void simulateByRank(const Problem& problem, Plan& plan, std::span<const double> wanted_start);

// Re-times the plan's ops and transfers in the order of their given starts, each as early as its inputs,
// device and ports allow; with `keep_delays`, none earlier than given (waiting can save memory). Transfers
// that the assignment needs and the plan lacks are wanted at their producer's end.
void retime(const Problem& problem, Plan& plan, bool keep_delays);

}  // namespace allot
