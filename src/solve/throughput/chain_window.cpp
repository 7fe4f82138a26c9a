#include "solve/throughput/chain_window.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace allot {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr int kRounds = 60;

double itemWork(const PipelineModel& model, std::size_t item, std::span<const double> weight) {
  double least = kInfinity;
  for (std::size_t k = 0; k < model.poolCount(); ++k) {
    if (model.runs(item, k)) least = std::min(least, weight[k] * model.time(item, k));
  }
  return least == kInfinity ? 0 : least;
}

// Weights whose bound for these devices is nearly the largest, by multiplicative updates.
std::vector<double> goodWeights(const PipelineModel& model, std::span<const std::uint32_t> counts) {
  const std::size_t pools = model.poolCount();
  std::vector<double> weight(pools, 1), best = weight;
  double best_bound = -1;
  for (int round = 0; round < kRounds; ++round) {
    std::vector<double> load(pools, 0);
    double total = 0, capacity = 0;
    for (std::size_t i = 0; i < model.itemCount(); ++i) {
      std::size_t where = pools;
      for (std::size_t k = 0; k < pools; ++k) {
        if (!model.runs(i, k)) continue;
        if (where == pools || weight[k] * model.time(i, k) < weight[where] * model.time(i, where)) where = k;
      }
      if (where == pools) continue;
      total += weight[where] * model.time(i, where);
      load[where] += model.time(i, where);
    }
    for (std::size_t k = 0; k < pools; ++k) capacity += weight[k] * counts[k];
    if (capacity <= 0 || total <= 0) break;
    if (total / capacity > best_bound) {
      best_bound = total / capacity;
      best = weight;
    }
    const double step = 1.0 / std::sqrt(1.0 + round);
    for (std::size_t k = 0; k < pools; ++k) {
      // A pool without devices must take no work: its weight grows without end.
      const double share =
          counts[k] > 0 ? load[k] / counts[k] / (total / capacity) - 1 : (load[k] > 0 ? 1 : 0);
      weight[k] *= std::exp(std::clamp(step * share, -1.0, 1.0));
    }
  }
  return best;
}

}  // namespace

CapacityWindow::CapacityWindow(const PipelineModel& model, std::span<const std::uint32_t> counts) {
  work_.assign(model.itemCount() * kMost, 0);
  add(model, goodWeights(model, counts));
  bound_ = total_[0] / capacity(0, counts, UINT32_MAX);
  if (model.poolCount() == 1) return;
  // The devices that are left near the end of a search, without one pool and with half of each.
  std::vector<std::vector<std::uint32_t>> left;
  left.emplace_back(counts.begin(), counts.end());
  for (std::uint32_t& c : left.back()) c = (c + 1) / 2;
  for (std::size_t k = 0; k < counts.size(); ++k) {
    left.emplace_back(counts.begin(), counts.end());
    left.back()[k] = 0;
  }
  for (const auto& devices : left) {
    if (weight_.size() == kMost) break;
    if (std::all_of(devices.begin(), devices.end(), [](std::uint32_t c) { return c == 0; })) continue;
    std::vector<double> weight = goodWeights(model, devices);
    double total = 0;
    for (std::size_t i = 0; i < model.itemCount(); ++i) total += itemWork(model, i, weight);
    const double here = total / std::inner_product(weight.begin(), weight.end(), devices.begin(), 0.0);
    double known = 0;
    for (std::size_t y = 0; y < size(); ++y)
      known = std::max(known, total_[y] / capacity(y, devices, UINT32_MAX));
    if (here > known * 1.001) add(model, std::move(weight));
  }
}

void CapacityWindow::add(const PipelineModel& model, std::vector<double> weight) {
  const std::size_t y = weight_.size();
  for (std::size_t i = 0; i < model.itemCount(); ++i) {
    work_[i * kMost + y] = itemWork(model, i, weight);
    total_[y] += work_[i * kMost + y];
  }
  weight_.push_back(std::move(weight));
}

double CapacityWindow::capacity(std::size_t y, std::span<const std::uint32_t> devices,
                                std::uint32_t stages) const {
  std::vector<std::size_t> by_weight(devices.size());
  std::iota(by_weight.begin(), by_weight.end(), 0);
  std::sort(by_weight.begin(), by_weight.end(),
            [&](std::size_t a, std::size_t b) { return weight_[y][a] > weight_[y][b]; });
  double sum = 0;
  for (const std::size_t k : by_weight) {
    const std::uint32_t used = std::min(devices[k], stages);
    sum += weight_[y][k] * used;
    stages -= used;
  }
  return sum;
}

}  // namespace allot
