// Optimal values by plain enumeration, written from the definitions and sharing nothing with the solvers.
#pragma once

#include <optional>

#include "allot/problem.h"

namespace allot {

// Best value over every assignment (and replica set, stage order, call labelling, activity order); absent when none is valid.
// Every candidate is judged by the checker. Not for live memory.
std::optional<double> bruteForce(const Problem& problem);

}  // namespace allot
