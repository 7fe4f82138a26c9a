#include "solve/robust_choice.h"

#include <algorithm>

#include "evaluate/noise.h"

namespace allot {
namespace {

constexpr std::size_t kKept = 16;
constexpr double kClose = 0.03;

}  // namespace

void RobustChoice::offer(const Plan& plan) {
  if (!plans_.empty() && plan.value > plans_.front().value * (1 + kClose)) return;
  const auto behind = std::upper_bound(plans_.begin(), plans_.end(), plan.value,
                                       [](double value, const Plan& other) { return value < other.value; });
  plans_.insert(behind, plan);
  if (plans_.size() > kKept) plans_.pop_back();
  while (plans_.back().value > plans_.front().value * (1 + kClose)) plans_.pop_back();
}

Plan RobustChoice::take(const Problem& problem, std::uint64_t seed, const std::function<bool()>& stopped) {
  const std::uint32_t samples = usualSamples(problem);
  std::size_t best = 0;
  for (std::size_t i = 0; i < plans_.size(); ++i) {
    plans_[i].noise = valueUnderNoise(problem, plans_[i], kUsualNoise, seed, samples, stopped);
    if (!plans_[i].noise) break;
    if (plans_[i].noise->mean < plans_[best].noise->mean) best = i;
  }
  return std::move(plans_[best]);
}

}  // namespace allot
