// Solvers that need an optional library (`make helpers`).
#pragma once

#include <span>

#include "allot/solve.h"

namespace allot {

std::span<const Solver> helperSolvers();

}  // namespace allot
