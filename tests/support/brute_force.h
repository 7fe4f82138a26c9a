// Optimal values by plain enumeration, written from the definitions and sharing nothing with the solvers.
#pragma once

#include <optional>

#include "allot/problem.h"

namespace allot {

// Best value over every assignment (and replica set, stage order, call labelling, activity order); absent
// when none is valid. Every candidate is judged by the checker. Under live memory waiting can pay: starts are
// tried on a grid of 1/4, of which all times of random problems are multiples.
std::optional<double> bruteForce(const Problem& problem);

}  // namespace allot
