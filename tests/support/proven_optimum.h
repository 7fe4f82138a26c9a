// The optimum as the portfolio proves it.
#pragma once

#include <cstdint>

#include "allot/solve.h"

namespace allot {

RunOptions oneThread(std::uint64_t seed = 1);

// Infinity where no plan can exist; fails the test when neither is proven.
double provenOptimum(const Problem& problem);

}  // namespace allot
