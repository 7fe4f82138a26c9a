// HEFT with lookahead (Bittencourt, Sakellariou, Madeira 2010): as HEFT, but the device of an op is the one
// from which its children could end earliest.
//
// For each device that may take the op, each child is tried on each of its devices with the inputs known so
// far; the device with the least latest child end is taken, on ties the one of earlier finish. Heuristic.
// Complexity: O(edges x devices^2) looks at idle gaps; given up beyond kLookaheadPairs. When time runs out:
// no plan.
#pragma once

#include "allot/solve.h"

namespace allot::baseline {

inline constexpr double kLookaheadPairs = 2e7;  // edges x devices^2

SolveResult heftLookahead(const Problem& problem, const Budget& budget, Progress& progress);

}  // namespace allot::baseline
