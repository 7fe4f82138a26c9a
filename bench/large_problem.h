// Random problems of any size, for measuring.
//
// Shape: a local DAG. Each op but the first reads the output of one of the 64 ops before it, and with chance
// 0.6 of a second
//   one: 1.6 edges per op. 8 devices of 3 classes without memory limits; every tensor has a single transfer
//   time.
// Guarantee: the same size and seed give the same problem on every platform. O(ops).
#pragma once

#include <cstdint>
#include <vector>

#include "allot/problem.h"

namespace allot::bench {

// A finished problem with goal latency and link mode free.
Result<Problem> largeProblem(std::uint32_t ops, std::uint64_t seed);

// Every op on a device drawn at random.
std::vector<DeviceId> randomAssignment(const Problem& problem, std::uint64_t seed);

}  // namespace allot::bench
