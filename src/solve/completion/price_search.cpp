#include "solve/completion/price_search.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/thread_pool.h"
#include "solve/completion/speed_weights.h"

namespace allot {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::size_t kFirstSlots = 32, kMostSlots = 512;
constexpr std::size_t kPatience = 30;  // rounds without gain before slots are halved
// Share of the value that chains may lose to simpler curves; long chains lose more, for their curves have
// many points.
constexpr double kTolerance = 2e-4, kLongTolerance = 1e-3;
constexpr std::size_t kLong = 800;  // ops
constexpr double kRounding = 1e-9;

}  // namespace

PriceSearch::PriceSearch(const Problem& problem, const Budget& budget, Progress& progress)
    : budget_(budget), progress_(progress), model_(pricedModelOf(problem)) {
  for (const PricedPart& part : model_.parts) pricers_.emplace_back(model_, part);
  if (const Plan* plan = progress.bestPlan(); plan != nullptr) {
    for (const double end : plan->end) horizon_ = std::max(horizon_, end);
  } else {
    for (const PricedPart& part : model_.parts) {
      horizon_ = std::max(horizon_, part.release);
      for (const std::vector<double>* seconds : {&part.seconds, &part.other_seconds}) {
        for (std::size_t at = 0; at < seconds->size(); at += model_.classes)
          horizon_ += *std::min_element(seconds->data() + at, seconds->data() + at + model_.classes);
      }
    }
  }
  horizon_ *= 1.02;
  // Device time behind the horizon costs nothing, and sums with a launch far beyond it would lose the times.
  for (double& launch : model_.launch) launch = std::min(launch, horizon_);
}

bool PriceSearch::run(std::uint64_t rounds) {
  if (!started_) {
    if (!(horizon_ > 0) || !(horizon_ < kInfinity)) {
      converged_ = true;
      return true;
    }
    startPrices();
    if (!evaluate(best_)) return false;
    average_ = usage_;
    value_ = at_refine_ = last_;
    report();
    started_ = true;
  }
  for (std::uint64_t round = 0; round < rounds && !converged_ && !progress_.done(); ++round) {
    Prices next = best_;
    if (!step(next)) {
      converged_ = true;
      break;
    }
    if (!evaluate(next)) return false;
    double along = 0;
    for (std::size_t k = 0; k < usage_.size(); ++k) {
      along += (usage_[k] - capacity(k)) * (average_[k] - capacity(k));
      average_[k] += smoothing_ * (usage_[k] - average_[k]);
    }
    afterRound(next, along);
  }
  return true;
}

void PriceSearch::afterRound(Prices& next, double along) {
  if (last_ > value_) {
    if (last_ - value_ > 1e-5 * value_) since_gain_ = 0;
    value_ = last_;
    best_ = std::move(next);
    report();
    if (along > 0) theta_ = std::min(1.5, theta_ * 1.1);
    stale_ = 0;
  } else if (++stale_ >= 4) {
    theta_ = std::max(1e-3, theta_ * 0.66);
    stale_ = 0;
  }
  if (++since_gain_ < kPatience) return;
  if (best_.slots() < kMostSlots) {
    refine();
    theta_ = std::max(theta_, 0.05);
  } else if (value_ - at_refine_ < 1e-4 * value_) {
    converged_ = true;
  }
  at_refine_ = value_;
  since_gain_ = 0;
  smoothing_ = std::max(0.05, smoothing_ * 0.7);
}

void PriceSearch::report() {
  progress_.bound(value_ * (1 - kRounding), "completion-bound");
}

double PriceSearch::tolerance() const {
  return (model_.ops() > kLong ? kLongTolerance : kTolerance) * std::max(value_, progress_.bestBound()) /
         static_cast<double>(pricers_.size());
}

// The prices of one machine of weighted speed, which fall by a model's weight while it runs.
void PriceSearch::startPrices() {
  std::vector<SpeedJob> jobs;
  for (const PricedPart& part : model_.parts) {
    SpeedJob& job = jobs.emplace_back(SpeedJob{part.weight, part.release, part.seconds});
    job.seconds.insert(job.seconds.end(), part.other_seconds.begin(), part.other_seconds.end());
  }
  const SpeedWeights weights = weightsForSum(jobs, model_.count);
  progress_.bound(weights.bound * (1 - kRounding), "completion-bound");
  const std::vector<double> work = weightedWork(jobs, weights.weight);
  std::vector<std::size_t> order(jobs.size());
  std::iota(order.begin(), order.end(), 0);
  const auto key = [&](std::size_t j) { return jobs[j].weight > 0 ? work[j] / jobs[j].weight : kInfinity; };
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return key(a) < key(b); });
  double left = 0, time = kInfinity;
  for (const SpeedJob& job : jobs) {
    left += job.weight;
    time = std::min(time, job.release);
  }
  best_.width = horizon_ / kFirstSlots;
  best_.level.assign(model_.classes, std::vector<double>(kFirstSlots, 0));
  std::size_t next = 0;
  for (std::size_t slot = 0; slot < kFirstSlots; ++slot) {
    const double middle = (static_cast<double>(slot) + 0.5) * best_.width;
    while (next < order.size() && time + work[order[next]] < middle) {
      time += work[order[next]];
      left -= jobs[order[next++]].weight;
    }
    if (next == order.size()) break;
    const double share = work[order[next]] > 0 ? std::max(0.0, middle - time) / work[order[next]] : 0;
    for (std::size_t c = 0; c < model_.classes; ++c)
      best_.level[c][slot] = weights.weight[c] * std::max(0.0, left - share * jobs[order[next]].weight);
  }
}

// Bound and usage at prices; false when stopped.
bool PriceSearch::evaluate(Prices& prices) {
  prices.integrate();
  std::atomic<bool> stopped{false};
  parallelFor(pricers_.size(), budget_.threads, [&](std::size_t p) {
    if (!stopped && !pricers_[p].price(prices, tolerance(), budget_)) stopped = true;
  });
  if (stopped) return false;
  last_ = 0;
  for (const PartPricer& pricer : pricers_) last_ += pricer.least();
  for (std::size_t c = 0; c < model_.classes; ++c) last_ -= model_.count[c] * prices.integral[c].back();
  usage_.assign(model_.classes * prices.slots(), 0);
  for (const PartPricer& pricer : pricers_) {
    for (std::size_t k = 0; k < usage_.size(); ++k) usage_[k] += pricer.usage()[k];
  }
  return true;
}

bool PriceSearch::priceAtBest() {
  for (PartPricer& pricer : pricers_) {
    if (!pricer.price(best_, tolerance(), budget_)) return false;
  }
  return true;
}

// Prices rise with the excess of the average plans over what there is; false where there is none.
bool PriceSearch::step(Prices& prices) const {
  const std::size_t slots = best_.slots();
  double norm = 0;
  for (std::size_t k = 0; k < average_.size(); ++k) {
    const double excess = average_[k] - capacity(k);
    if (excess > 0 || prices.level[k / slots][k % slots] > 0) norm += excess * excess;
  }
  if (norm <= 0) return false;
  const double target = progress_.bestValue();
  const double goal = target < kInfinity ? std::max(target - value_, 1e-3 * value_) : 0.05 * value_;
  for (std::size_t k = 0; k < average_.size(); ++k) {
    double& level = prices.level[k / slots][k % slots];
    level = std::max(0.0, level + theta_ * goal / norm * (average_[k] - capacity(k)));
  }
  return true;
}

// Slots of half the width, with the same prices.
void PriceSearch::refine() {
  const std::size_t slots = best_.slots();
  std::vector<double> halves(2 * average_.size());
  for (std::size_t k = 0; k < average_.size(); ++k) halves[2 * k] = halves[2 * k + 1] = average_[k] / 2;
  average_ = std::move(halves);
  for (auto& level : best_.level) {
    std::vector<double> finer(2 * slots);
    for (std::size_t s = 0; s < slots; ++s) finer[2 * s] = finer[2 * s + 1] = level[s];
    level = std::move(finer);
  }
  best_.width /= 2;
  best_.integrate();
}

}  // namespace allot
