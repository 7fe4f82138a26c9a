// The value of a plan when op times are not what they were said to be.
//
// Each sample multiplies every op time (by op and class) with an independent log-normal factor of median 1
// and keeps all decisions and orders of the plan. Same seed, same figures. Complexity: `samples` evaluations.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "allot/plan.h"
#include "allot/problem.h"

namespace allot {

// What plans are measured by unless somebody asks for another share: 10 %, with fewer samples where one takes
// longer.
inline constexpr double kUsualNoise = 0.1;
std::uint32_t usualSamples(const Problem& problem);

// Absent when `stopped` became true before all samples were taken.
std::optional<NoiseReport> valueUnderNoise(const Problem& problem, const Plan& plan, double share,
                                           std::uint64_t seed, std::uint32_t samples,
                                           const std::function<bool()>& stopped);
NoiseReport valueUnderNoise(const Problem& problem, const Plan& plan, double share, std::uint64_t seed,
                            std::uint32_t samples);

}  // namespace allot
