// The value of a plan when op times are not what they were said to be.
//
// Each sample multiplies every op time (by op and class) with an independent log-normal factor of median 1
// and keeps all decisions and orders of the plan. Same seed, same figures. Complexity: `samples` evaluations.
#pragma once

#include <cstdint>

#include "allot/plan.h"
#include "allot/problem.h"

namespace allot {

struct NoiseReport {
  double share = 0;  // standard deviation of the factor's logarithm
  std::uint32_t samples = 0;
  double mean = 0, p95 = 0;  // seconds
};

NoiseReport valueUnderNoise(const Problem& problem, const Plan& plan, double share, std::uint64_t seed,
                            std::uint32_t samples = 100);

}  // namespace allot
