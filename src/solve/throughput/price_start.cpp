#include "solve/throughput/price_start.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace allot {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace

// Prices under which work that can be split at will keeps every device equally busy: an item costs its time
// on the pool where that is cheapest. Multiplicative updates: pools with more than their share get dearer.
SplitPrices splitPrices(const PipelineModel& model, std::span<const double> counts) {
  const std::size_t n = model.itemCount(), pools = model.poolCount();
  std::vector<double> weight(pools), best_weight, load(pools);
  double devices = 0, best = -1;
  for (const double count : counts) devices += count;
  weight.assign(pools, 1 / devices);
  constexpr int kRounds = 300;
  for (int round = 0; round < kRounds; ++round) {
    std::fill(load.begin(), load.end(), 0.0);
    double worth = 0;
    for (std::size_t v = 0; v < n; ++v) {
      std::size_t cheapest = pools;
      for (std::size_t k = 0; k < pools; ++k) {
        if (!model.runs(v, k)) continue;
        if (cheapest == pools || weight[k] * model.time(v, k) < weight[cheapest] * model.time(v, cheapest))
          cheapest = k;
      }
      if (cheapest == pools) continue;
      worth += weight[cheapest] * model.time(v, cheapest);
      load[cheapest] += model.time(v, cheapest) / counts[cheapest];
    }
    if (worth > best) {
      best = worth;
      best_weight = weight;
    }
    if (worth <= 0) break;
    double sum = 0;
    const double step = 0.5 / std::sqrt(1.0 + round);
    for (std::size_t k = 0; k < pools; ++k) {
      weight[k] *= std::exp(std::clamp(step * (load[k] / worth - 1), -1.0, 1.0));
      sum += counts[k] * weight[k];
    }
    for (double& w : weight) w /= sum;
  }
  std::vector<double> price(n, best > 0 ? 0.0 : 1.0 / static_cast<double>(n));
  for (std::size_t v = 0; best > 0 && v < n; ++v) {
    double least = kInfinity;
    for (std::size_t k = 0; k < pools; ++k) {
      if (model.runs(v, k)) least = std::min(least, best_weight[k] * model.time(v, k));
    }
    price[v] = least < kInfinity ? least / best : 0;
  }
  return {std::move(price), std::move(best_weight)};
}

SplitPrices planPrices(const PipelineModel& model, std::span<const CoverSet> plan, SplitPrices split) {
  std::fill(split.item.begin(), split.item.end(), 0.0);
  std::vector<std::uint32_t> held(model.netCount(), 0);
  double total = 0;
  for (const CoverSet& set : plan) {
    for (const std::uint32_t v : set.items) {
      for (const std::uint32_t net : model.item_nets[v]) ++held[net];
    }
    for (const std::uint32_t v : set.items) {
      double seconds = model.time(v, set.pool);
      for (const std::uint32_t net : model.item_nets[v]) {
        if (held[net] == model.net_items[net].size()) continue;
        seconds += std::min(model.cost(net, set.pool, true), model.cost(net, set.pool, false)) / held[net];
      }
      total += split.item[v] = split.device[set.pool] * seconds;
    }
    for (const std::uint32_t v : set.items) {
      for (const std::uint32_t net : model.item_nets[v]) held[net] = 0;
    }
  }
  if (total > 0) {
    for (double& price : split.item) price /= total;
  }
  return split;
}

double firstLoad(const PipelineModel& model, std::span<const double> counts) {
  double most = 0, total = 0, devices = 0;
  for (std::size_t v = 0; v < model.itemCount(); ++v) {
    double least = kInfinity;
    for (std::size_t k = 0; k < model.poolCount(); ++k) least = std::min(least, model.time(v, k));
    if (least == kInfinity) continue;
    most = std::max(most, least);
    total += least;
  }
  for (const double count : counts) devices += count;
  const double guess = 2 * std::max(most, total / devices);
  if (guess > 0) return guess;
  // All work is free: only transfers can cost.
  double dearest = 1e-9;
  for (const double cost : model.send) dearest = std::max(dearest, cost);
  return dearest;
}

}  // namespace allot
