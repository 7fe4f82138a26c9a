#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>

#include "solve/throughput/packing_bounder.h"

namespace allot {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Sizes beyond which it forgets nets.
constexpr std::size_t kMaxWidth = 1024, kMaxNodes = 100000;
// A sweep tells as many prizes of a device apart as this many table entries allow, a quarter in haste.
constexpr double kSweepEntries = 3e7, kMaxResolution = 8000, kMinResolution = 100;
constexpr double kHastyResolution = 0.25;
constexpr double kResolutionPerItem = 100;
// Prizes made whole are off by a few: that must be little beside what a round hopes to gain.
constexpr double kResolutionForHope = 80;
constexpr double kMaxTotalPrize = 1e8;
constexpr double kPrizeRoom = 1.2;     // prizes are told apart up to this multiple of what is expected
constexpr double kCheapEntries = 1e5;  // table entries that are spent anyway
constexpr double kNeededPrize = 0.9;   // of what a device is worth: sets of less do not matter
constexpr std::uint32_t kSetsPerSweep = 8;
constexpr double kManyEntries = 1e5;  // that take long enough for threads

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

bool PackingBounder::build(double limit) {
  limit_ = limit * (1 + kPackingRounding);
  diagrams_.clear();
  report_.nodes = 0;
  const std::size_t width =
      std::max<std::size_t>(16, std::min(kMaxWidth, kMaxNodes / (model_.itemCount() + 1)));
  std::vector<std::optional<PriceDiagram>> made(model_.poolCount());
  const WalkCrew::Task make = [&](std::size_t, std::size_t k, const WalkPart*) {
    made[k].emplace(model_, k, order_.items, limit_, width, budget_);
  };
  crew_.run(made.size(), make);
  if (std::any_of(made.begin(), made.end(), [](const auto& diagram) { return diagram->cut; })) return false;
  for (auto& diagram : made) {
    diagrams_.push_back(std::move(*diagram));
    report_.nodes += diagrams_.back().nodeCount();
    report_.complete = report_.complete && diagrams_.back().complete;
  }
  return true;
}

void PackingBounder::makeSweepers() {
  for (std::size_t i = 0; i < kPoints; ++i) {
    sweepers_[i].clear();
    for (std::size_t k = 0; k < diagrams_.size(); ++k)
      sweepers_[i].push_back(
          {PriceSweep(diagrams_[k]), Random(budget_.seed, kStream + 256 * (k * kPoints + i))});
  }
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

bool PackingBounder::addSet(std::size_t pool, const std::vector<std::uint32_t>& items, double load,
                            double target) {
  return !items.empty() && load <= target * (1 + kPackingRounding) && bundle_->add(pool, items, load);
}

double PackingBounder::resolution(std::size_t pool, double hope) const {
  const double fine = budget_.patience < 1 ? kHastyResolution : 1;
  const double most =
      std::min({fine * kMaxResolution, kResolutionPerItem * static_cast<double>(model_.itemCount()),
                hope > 0 ? kResolutionForHope / hope : kMaxResolution});
  return std::clamp(fine * kSweepEntries / static_cast<double>(diagrams_[pool].nodeCount()), kMinResolution,
                    std::max(kMinResolution, most));
}

// The least load T at which the devices together can be worth all items; every T below it is refuted.
double PackingBounder::refutedBelow(const Priced& priced) const {
  const auto refuted = [&](double load) {
    double worth = 0;
    for (std::size_t k = 0; k < priced.pools.size(); ++k) {
      const std::uint32_t most = priced.pools[k].loads.mostPrize(load);
      if (most >= priced.pools[k].cap) return false;
      worth += counts_[k] * most;
    }
    return worth < static_cast<double>(priced.total) - 0.5;
  };
  // Only the least loads of prizes matter; for each pool they rise with the prize.
  double first = refuted(0) ? limit_ * (1 - kPackingRounding) : 0;
  for (std::size_t k = 0; k < priced.pools.size() && first > 0; ++k) {
    const std::uint32_t cap = priced.pools[k].cap;
    const LeastLoads& loads = priced.pools[k].loads;
    std::uint32_t low = 0, high = cap + 1;  // the first prize whose load is not refuted
    while (low < high) {
      const std::uint32_t middle = low + (high - low) / 2;
      const double load = loads.leastLoad(middle);
      if (load < kInfinity && refuted(load))
        low = middle + 1;
      else
        high = middle;
    }
    if (low <= cap) first = std::min(first, loads.leastLoad(low));
  }
  return first;
}

// `expected`: what the items are worth at most, over what the devices are.
PackingBounder::Priced PackingBounder::wholePrizes(const Prices& prices, double expected, double hope) const {
  Priced priced;
  priced.scale = kInfinity;
  for (std::size_t k = 0; k < diagrams_.size(); ++k) {
    if (prices.device[k] > 0)
      priced.scale = std::min(priced.scale, resolution(k, hope) / (prices.device[k] * expected));
  }
  // Sums of prizes stay far from the ends of their types whatever the prices are.
  const double sum = std::accumulate(prices.item.begin(), prices.item.end(), 0.0);
  priced.scale = std::min(priced.scale, kMaxTotalPrize / std::max(sum, 1e-300));
  priced.prize.resize(model_.itemCount());
  // Good sets are few runs of the sweep order: what rounding adds here it takes back at the next item, so
  // that the prize of a run is off by at most one.
  double exact = 0;
  for (const std::uint32_t v : order_.items) {
    exact += prices.item[v] * priced.scale;
    const auto whole = static_cast<std::uint64_t>(std::llround(exact));
    priced.prize[v] = static_cast<std::uint32_t>(whole - priced.total);
    priced.total = whole;
  }
  for (std::size_t k = 0; k < diagrams_.size(); ++k) {
    const double room = std::max(prices.device[k] * priced.scale * expected * kPrizeRoom,
                                 kCheapEntries / static_cast<double>(diagrams_[k].nodeCount()));
    priced.pools.emplace_back().cap =
        static_cast<std::uint32_t>(std::min(std::ceil(room) + 8, static_cast<double>(priced.total) + 1));
  }
  return priced;
}

void PackingBounder::sweepPool(std::size_t pool, const Prices& prices, Sweeper& sweeper, Priced& priced,
                               double limit) {
  Priced::Pool& found = priced.pools[pool];
  const double worth = prices.device[pool] * priced.scale;
  const auto need = static_cast<std::uint32_t>(worth * kNeededPrize);
  found.swept = sweeper.sweep.run(priced.prize, need, found.cap, limit_, budget_);
  if (!found.swept) return;
  found.loads = sweeper.sweep.leastLoads();
  const std::uint32_t most = found.loads.mostPrize(limit);
  if (most == 0 || found.loads.leastLoad(most) > limit) return;
  // The best set, and some by chance among all that are worth more than their device.
  std::vector<PriceSweep::Wish> wishes{{most, found.loads.leastLoad(most), false}};
  const auto base = static_cast<std::uint32_t>(worth) + 1;
  for (std::uint32_t i = 1; i < kSetsPerSweep && most > base; ++i)
    wishes.push_back({most - (most - base) * i / kSetsPerSweep, limit, true});
  found.sets = sweeper.sweep.sets(wishes, sweeper.random);
  for (const auto& set : found.sets) found.set_loads.push_back(loadOf(pool, set));
}

// Moves the center to prices that have been swept if they are better.
void PackingBounder::setCenter(Priced&& priced, double target) {
  std::vector<std::uint32_t> most;
  double worth_of_all = 0;
  for (std::size_t k = 0; k < priced.pools.size(); ++k) {
    most.push_back(priced.pools[k].loads.mostPrize(target * (1 + kPackingRounding)));
    if (most[k] >= priced.pools[k].cap) return;
    worth_of_all += counts_[k] * most[k];
  }
  const double ratio = worth_of_all > 0 ? static_cast<double>(priced.total) / worth_of_all : 0;
  if (!(ratio > center_.ratio)) return;
  center_.ratio = ratio;
  for (std::size_t v = 0; v < model_.itemCount(); ++v)
    center_.prices.item[v] = priced.prize[v] / worth_of_all;
  for (std::size_t k = 0; k < most.size(); ++k) center_.prices.device[k] = most[k] / worth_of_all;
  center_.priced = std::move(priced);
}

// Sweeps all pools with each of the prices and takes up sets that are worth more than their device.
std::optional<std::size_t> PackingBounder::price(std::span<const Prices> points, double target,
                                                 double expected, double hope) {
  const std::size_t pools = model_.poolCount();
  const double limit = target * (1 + kPackingRounding);
  std::vector<Priced> priced;
  double entries = 0;
  for (const Prices& prices : points) {
    priced.push_back(wholePrizes(prices, expected, hope));
    for (std::size_t k = 0; k < pools; ++k)
      entries +=
          static_cast<double>(priced.back().pools[k].cap) * static_cast<double>(diagrams_[k].nodeCount());
  }
  const WalkCrew::Task task = [&](std::size_t, std::size_t i, const WalkPart*) {
    const std::size_t point = i % points.size(), pool = i / points.size();
    sweepPool(pool, points[point], sweepers_[point][pool], priced[point], limit);
  };
  crew_.run(points.size() * pools, task, entries > kManyEntries);
  std::size_t added = 0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    for (std::size_t k = 0; k < pools; ++k) {
      const Priced::Pool& found = priced[i].pools[k];
      if (!found.swept) return std::nullopt;
      ++report_.sweeps;
      work_ += static_cast<double>(sweepers_[i][k].sweep.entries());
      for (std::size_t s = 0; s < found.sets.size(); ++s)
        added += addSet(k, found.sets[s], found.set_loads[s], target);
    }
    raise(refutedBelow(priced[i]) * (1 - kPackingRounding) * (1 - kPackingRounding));
    setCenter(std::move(priced[i]), target);
  }
  return added;
}

}  // namespace allot
