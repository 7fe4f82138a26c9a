#include "evaluate/noise.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "allot/evaluate.h"
#include "base/random.h"

namespace allot {
namespace {

double standardNormal(Random& random) {
  const double radius = std::sqrt(-2 * std::log(1 - random.unit()));
  return radius * std::cos(2 * std::numbers::pi * random.unit());
}

}  // namespace

std::uint32_t usualSamples(const Problem& problem) {
  constexpr double kOpsValued = 4e5, kInputsValued = 2e6;
  const double ops = static_cast<double>(problem.opCount());
  const double inputs = static_cast<double>(problem.graph.tensor_consumers.items.size());
  return static_cast<std::uint32_t>(
      std::clamp(std::min(kOpsValued / (1 + ops), kInputsValued / (1 + inputs)), 8.0, 100.0));
}

NoiseReport valueUnderNoise(const Problem& problem, const Plan& plan, double share, std::uint64_t seed,
                            std::uint32_t samples) {
  return *valueUnderNoise(problem, plan, share, seed, samples, [] { return false; });
}

std::optional<NoiseReport> valueUnderNoise(const Problem& problem, const Plan& plan, double share,
                                           std::uint64_t seed, std::uint32_t samples,
                                           const std::function<bool()>& stopped) {
  if (stopped()) return std::nullopt;
  NoiseReport report{share, samples, 0, 0};
  Problem noisy = problem;
  std::vector<double> values;
  for (std::uint32_t sample = 0; sample < samples; ++sample) {
    if (stopped()) return std::nullopt;
    Random random(seed, sample);
    for (std::size_t i = 0; i < problem.op_seconds.size(); ++i) {
      noisy.op_seconds[i] = problem.op_seconds[i] * std::exp(share * standardNormal(random));
    }
    values.push_back(evaluate(noisy, plan).plan.value);
    report.mean += values.back() / samples;
  }
  std::sort(values.begin(), values.end());
  const auto rank = static_cast<std::size_t>(std::ceil(0.95 * samples));
  if (samples > 0) report.p95 = values[rank - 1];
  return report;
}

}  // namespace allot
