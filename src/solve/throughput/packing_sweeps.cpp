#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>

#include "base/thread_pool.h"
#include "solve/throughput/packing_bounder.h"

namespace allot {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Sizes beyond which it forgets nets.
constexpr std::size_t kMaxWidth = 1024, kMaxNodes = 100000;
constexpr std::size_t kTiny = 150;  // items for which a diagram takes no longer than to start a thread
// A sweep tells as many prizes of a device apart as this many table entries allow.
constexpr double kSweepEntries = 1.5e7, kMaxResolution = 4000, kMinResolution = 100;
constexpr double kResolutionPerItem = 100;
constexpr double kMaxTotalPrize = 1e8;
constexpr double kPrizeRoom = 1.2;     // prizes are told apart up to this multiple of what is expected
constexpr double kCheapEntries = 1e5;  // table entries that are spent anyway
constexpr double kNeededPrize = 0.9;   // of what a device is worth: sets of less do not matter
constexpr std::uint32_t kSetsPerSweep = 16;

}  // namespace

double PackingBounder::loadOf(std::size_t pool, std::span<const std::uint32_t> items) const {
  std::vector<std::uint8_t> in(model_.itemCount(), 0);
  double load = 0;
  for (const std::uint32_t v : items) {
    in[v] = 1;
    load += model_.time(v, pool);
  }
  for (std::size_t e = 0; e < model_.netCount(); ++e) {
    std::size_t held = 0;
    for (const std::uint32_t v : model_.net_items[e]) held += in[v];
    if (held > 0 && held < model_.net_items[e].size())
      load += model_.cost(e, pool, in[model_.net_producer[e]]);
  }
  return load;
}

void PackingBounder::build(double limit) {
  limit_ = limit * (1 + kPackingRounding);
  diagrams_.clear();
  sweeps_.clear();
  report_.nodes = 0;
  const std::size_t width =
      std::max<std::size_t>(16, std::min(kMaxWidth, kMaxNodes / (model_.itemCount() + 1)));
  std::vector<std::optional<PriceDiagram>> made(model_.poolCount());
  parallelFor(made.size(), model_.itemCount() < kTiny ? 1 : budget_.threads,
              [&](std::size_t k) { made[k].emplace(model_, k, order_.items, limit_, width); });
  for (auto& diagram : made) {
    diagrams_.push_back(std::move(*diagram));
    report_.nodes += diagrams_.back().nodeCount();
    report_.complete = report_.complete && diagrams_.back().complete;
  }
  for (const PriceDiagram& diagram : diagrams_) sweeps_.emplace_back(diagram, crew_);
}

double PackingBounder::itemBound() const {
  double most = 0;
  for (std::size_t layer = 0; layer < model_.itemCount(); ++layer) {
    double least = kInfinity;
    for (const PriceDiagram& diagram : diagrams_) least = std::min(least, diagram.leastWith(layer));
    most = std::max(most, std::min(least, limit_));
  }
  return most * (1 - kPackingRounding) * (1 - kPackingRounding);
}

bool PackingBounder::addSet(std::size_t pool, const std::vector<std::uint32_t>& items, double target) {
  const double load = loadOf(pool, items);
  return !items.empty() && load <= target * (1 + kPackingRounding) && master_->add(pool, items, load);
}

double PackingBounder::resolution(std::size_t pool) const {
  const double most = std::min(kMaxResolution, kResolutionPerItem * static_cast<double>(model_.itemCount()));
  return std::clamp(kSweepEntries / static_cast<double>(diagrams_[pool].nodeCount()), kMinResolution,
                    std::max(kMinResolution, most));
}

// The least load T at which the devices together can be worth `total`; every T below it is refuted.
double PackingBounder::refutedBelow(std::uint64_t total, std::span<const std::uint32_t> caps) const {
  const auto refuted = [&](double load) {
    double worth = 0;
    for (std::size_t k = 0; k < sweeps_.size(); ++k) {
      const std::uint32_t most = sweeps_[k].mostPrize(load);
      if (most >= caps[k]) return false;
      worth += counts_[k] * most;
    }
    return worth < static_cast<double>(total) - 0.5;
  };
  // Only the least loads of prizes matter; for each pool they rise with the prize.
  double first = refuted(0) ? limit_ * (1 - kPackingRounding) : 0;
  for (std::size_t k = 0; k < sweeps_.size() && first > 0; ++k) {
    std::uint32_t low = 0, high = caps[k] + 1;  // the first prize whose load is not refuted
    while (low < high) {
      const std::uint32_t middle = low + (high - low) / 2;
      const double load = sweeps_[k].leastLoad(middle);
      if (load < kInfinity && refuted(load))
        low = middle + 1;
      else
        high = middle;
    }
    if (low <= caps[k]) first = std::min(first, sweeps_[k].leastLoad(low));
  }
  return first;
}

// Sweeps all pools with the given prices and takes up sets that are worth more than their device.
bool PackingBounder::price(const std::vector<double>& item_price, const std::vector<double>& device_price,
                           double target, double expected) {
  const double limit = target * (1 + kPackingRounding);
  const std::size_t pools = model_.poolCount(), n = model_.itemCount();
  double scale = kInfinity;
  for (std::size_t k = 0; k < pools; ++k) {
    if (device_price[k] > 0) scale = std::min(scale, resolution(k) / (device_price[k] * expected));
  }
  // Sums of prizes stay far from the ends of their types whatever the prices are.
  const double sum = std::accumulate(item_price.begin(), item_price.end(), 0.0);
  scale = std::min(scale, kMaxTotalPrize / std::max(sum, 1e-300));
  std::vector<std::uint32_t>& prize = priced_.prize;
  prize.resize(n);
  std::vector<std::uint32_t> caps(pools);
  std::uint64_t total = 0;
  // Good sets are few runs of the sweep order: what rounding adds here it takes back at the next item, so
  // that the prize of a run is off by at most one.
  double exact = 0;
  for (const std::uint32_t v : order_.items) {
    exact += item_price[v] * scale;
    const auto whole = static_cast<std::uint64_t>(std::llround(exact));
    prize[v] = static_cast<std::uint32_t>(whole - total);
    total = whole;
  }
  priced_.added = 0;
  priced_.most.assign(pools, 0);
  double worth_of_all = 0;
  for (std::size_t k = 0; k < pools; ++k) {
    const double worth = device_price[k] * scale;
    const double room = std::max(worth * expected * kPrizeRoom,
                                 kCheapEntries / static_cast<double>(diagrams_[k].nodeCount()));
    caps[k] = static_cast<std::uint32_t>(std::min(std::ceil(room) + 8, static_cast<double>(total) + 1));
    const auto need = static_cast<std::uint32_t>(worth * kNeededPrize);
    if (!sweeps_[k].run(prize, need, caps[k], limit_, budget_)) return false;
    ++report_.sweeps;
    work_ += static_cast<double>(sweeps_[k].entries());
    const std::uint32_t most = sweeps_[k].mostPrize(limit);
    priced_.most[k] = most;
    worth_of_all += counts_[k] * most;
    // The best set, and some by chance among all that are worth more than their device.
    const auto base = static_cast<std::uint32_t>(worth) + 1;
    if (most <= base || sweeps_[k].leastLoad(most) > limit) continue;
    std::vector<PriceSweep::Wish> wishes{{most, sweeps_[k].leastLoad(most), false}};
    for (std::uint32_t i = 1; i < kSetsPerSweep; ++i)
      wishes.push_back({most - (most - base) * i / kSetsPerSweep, limit, true});
    work_ += static_cast<double>(sweeps_[k].entries());
    for (const auto& set : sweeps_[k].sets(wishes, random_)) priced_.added += addSet(k, set, target);
  }
  raise(refutedBelow(total, caps) * (1 - kPackingRounding) * (1 - kPackingRounding));
  priced_.ratio = worth_of_all > 0 ? static_cast<double>(total) / worth_of_all : 0;
  for (std::size_t k = 0; k < pools; ++k) {
    if (priced_.most[k] >= caps[k]) priced_.ratio = 0;
  }
  if (priced_.ratio > center_.ratio) {
    center_.ratio = priced_.ratio;
    for (std::size_t v = 0; v < n; ++v) center_.item_price[v] = prize[v] / worth_of_all;
    for (std::size_t k = 0; k < pools; ++k) center_.device_price[k] = priced_.most[k] / worth_of_all;
  }
  return true;
}

}  // namespace allot
