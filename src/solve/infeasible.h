// The smallest conflict found for a problem that has no plan.
//
// A deletion filter: every pin, forbid, together set, the memory limits, contiguity and the limit on stages
// are left out one after the other; what can go while the problem stays infeasible is not part of the
// conflict. Each test is an exhaustive search of a tiny problem. What remains is a smallest set in the sense
// that every member is needed.
#pragma once

#include "allot/solve.h"

namespace allot {

Conflict smallestConflict(const Problem& problem, const Budget& budget);

}  // namespace allot
