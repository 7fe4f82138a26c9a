// Small changes of a good plan, kept while they are not worse than some steps ago.
//
// Problem: a topological order of all ops and a device for each unit, decoded by the sweep (static memory).
// Moves: a unit to another device; neighbours of one model in the order to another device; an op, or the next
// few ops of one model, earlier or later in the order. A change is kept when the value is no worse than the
// current one, or than the one `memory` steps ago (late acceptance): near a good plan this loses less
// than annealing from a high temperature. Guarantee: heuristic; memory is kept at every step. Complexity:
// O(ops + edges) for each move. When time runs out: the best so far.
#pragma once

#include <span>

#include "allot/solve.h"

namespace allot {

struct WalkResult {
  double value;  // infinite when nothing better was found
  Plan decisions;
};

// At most so many ops on another device than in `base`.
struct WalkLimit {
  std::span<const DeviceId> base;  // by op
  std::uint32_t most;
};

// From `start`, an evaluated plan (within the limit, where there is one); `stream` separates walks of one
// seed.
WalkResult walkOrders(const Problem& problem, const Plan& start, std::uint64_t moves, std::size_t memory,
                      std::uint64_t stream, const Budget& budget, const WalkLimit* limit = nullptr);

// From `start`, so many changes of which only those count that lessen idle time and keep the value;
// infinite value when none does. Static memory only.
WalkResult lessenIdle(const Problem& problem, const Plan& start, std::uint64_t moves, const Budget& budget,
                      const WalkLimit* limit = nullptr);

}  // namespace allot
