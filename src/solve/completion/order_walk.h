// Small changes of a good plan, kept while they are not worse than some steps ago.
//
// Problem: a topological order of all ops and a device for each unit, decoded by the sweep (static memory).
// Moves: a unit to another device; neighbours of one model in the order to another device; an op, or the next
// few ops of one model, earlier or later in the order. A change is kept when the value is no worse than the
// current one, or than the one `memory` steps ago (late acceptance): near a good plan this loses less
// than annealing from a high temperature. Guarantee: heuristic; memory is kept at every step. Complexity:
// O(ops + edges) for each move. When time runs out: the best so far.
#pragma once

#include "allot/solve.h"

namespace allot {

struct WalkResult {
  double value;  // infinite when nothing better was found
  Plan decisions;
};

// From `start`, an evaluated plan; `stream` separates walks of one seed.
WalkResult walkOrders(const Problem& problem, const Plan& start, std::uint64_t moves, std::size_t memory,
                      std::uint64_t stream, const Budget& budget);

}  // namespace allot
