// The engines of the completion goal, in the order in which the portfolio runs them.
#pragma once

#include <span>

#include "allot/solve.h"

namespace allot {

// Exact for one or two chains, before tiny problems are enumerated.
std::span<const Solver> chainSolvers();
std::span<const Solver> completionSolvers();

}  // namespace allot
