#include "solve/latency/memory_prices.h"

#include <algorithm>
#include <limits>

namespace allot {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr int kRounds = 300;
constexpr double kShorter = 0.96;  // steps from round to round
constexpr std::size_t kMostWork = 20'000'000;

}  // namespace

MemoryPrices::MemoryPrices(const ScheduleModel& model, const Budget& budget)
    : model_(model),
      devices_(model.devices),
      seconds_(model.unitCount() * devices_, 0),
      price_(devices_, 0),
      excess_(model.unitCount() * devices_, 0) {
  for (std::size_t op = 0; op < model.opCount(); ++op) {
    for (std::size_t d = 0; d < devices_; ++d) {
      double& sum = seconds_[model.unit[op] * devices_ + d];
      sum = model.runs(op, d) && sum < kCannotRun ? sum + model.time(op, d) : kCannotRun;
    }
  }
  if (!model.memoryNeverBinds()) ascend(budget);
  for (std::size_t unit = 0; unit < model.unitCount(); ++unit) {
    const double least = cost(unit, cheapest(unit, price_), price_);
    for (std::size_t d = 0; d < devices_; ++d) {
      const bool may = seconds_[unit * devices_ + d] < kCannotRun;
      excess_[unit * devices_ + d] = may ? cost(unit, d, price_) - least : kCannotRun;
    }
  }
}

double MemoryPrices::dearest() const {
  double most = 0;
  for (std::size_t d = 0; d < devices_; ++d) {
    if (price_[d] > 0) most = std::max(most, price_[d] * model_.memory[d]);
  }
  return most;
}

std::uint32_t MemoryPrices::cheapest(std::size_t unit, const std::vector<double>& price) const {
  std::uint32_t best = 0;
  for (std::uint32_t d = 1; d < devices_; ++d) {
    if (cost(unit, d, price) < cost(unit, best, price)) best = d;
  }
  return best;
}

void MemoryPrices::ascend(const Budget& budget) {
  const std::size_t units = model_.unitCount();
  double range = 0, bytes = 0;
  for (std::size_t unit = 0; unit < units; ++unit) {
    double least = kInfinity, most = 0;
    for (std::size_t d = 0; d < devices_; ++d) {
      const double seconds = seconds_[unit * devices_ + d];
      if (!(seconds < kCannotRun)) continue;
      least = std::min(least, seconds);
      most = std::max(most, seconds);
    }
    if (model_.unit_bytes[unit] > 0 && least < kInfinity) range += most - least;
    bytes += model_.unit_bytes[unit];
  }
  if (!(range > 0) || !(bytes > 0)) return;
  const int rounds = std::min<int>(kRounds, static_cast<int>(kMostWork / (units * devices_ + 1)));
  std::vector<double> price(devices_, 0), used(devices_);
  // A device without anything to spare grows dearer by this much in a round.
  double step = range / bytes, best = -kInfinity;
  for (int round = 0; round < rounds && !budget.stopped(); ++round, step *= kShorter) {
    std::fill(used.begin(), used.end(), 0);
    double dual = 0;
    for (std::size_t unit = 0; unit < units; ++unit) {
      const std::uint32_t on = cheapest(unit, price);
      dual += cost(unit, on, price);
      used[on] += model_.unit_bytes[unit];
    }
    for (std::size_t d = 0; d < devices_; ++d) {
      if (price[d] > 0) dual -= price[d] * model_.memory[d];
    }
    if (dual > best) {
      best = dual;
      price_ = price;
    }
    for (std::size_t d = 0; d < devices_; ++d) {
      if (model_.memory[d] < kInfinity)
        price[d] = std::max(0.0, price[d] + step * (used[d] - model_.memory[d]) / bytes);
    }
  }
}

}  // namespace allot
