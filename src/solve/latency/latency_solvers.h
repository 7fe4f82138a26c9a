// The engines of the latency goal.
#pragma once

#include <span>

#include "allot/solve.h"

namespace allot {

std::span<const Solver> latencySolvers();

}  // namespace allot
