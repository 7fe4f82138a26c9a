// The engines of the throughput goal, in the order in which the portfolio runs them.
#pragma once

#include <span>

#include "allot/solve.h"

namespace allot {

// Those that may end with a proof at once, before tiny problems are enumerated.
std::span<const Solver> exactThroughputSolvers();
std::span<const Solver> throughputSolvers();

}  // namespace allot
