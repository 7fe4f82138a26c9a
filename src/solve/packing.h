// An assignment that keeps to devices and memory, whatever its value.
//
// Problem: put every unit on an allowed device so that resident bytes fit. Bin packing with classes, so
// NP-hard: depth-first
//   search over units by decreasing size, each on the allowed device with the least room left that fits (best
//   fit first), with a limit on steps.
// Guarantee: `kNone` means that no assignment fits; `kUnknown` that the limit was met.
// Complexity: O(units * devices) when best fit succeeds at once.
#pragma once

#include <vector>

#include "allot/problem.h"
#include "allot/solve.h"

namespace allot {

enum class PackingEnd { kFound, kNone, kUnknown };

struct Packing {
  PackingEnd end = PackingEnd::kUnknown;
  std::vector<DeviceId> assignment;  // by op
};

Packing pack(const Problem& problem, const Budget& budget);

}  // namespace allot
