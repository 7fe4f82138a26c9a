#include "solve/throughput/price_bundle.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

namespace allot {
namespace {

// Of the step, over range and mean price, by variety.
constexpr std::array<double, 4> kReach{4, 2, 8, 1};
constexpr double kTolerance = 1e-4;   // what all devices together may be worth too much
constexpr double kNoWeight = 1e-9;    // of the devices needed
constexpr double kLeastNeeded = 0.2;  // to begin with: from none at all weights could not grow
// Keeps products of dependent sets positive definite: their best weights are large then, of the right sign.
constexpr double kRidge = 1e-7;
constexpr double kLeastWorth = 1e-300;  // to divide by
constexpr std::size_t kMostChanges = 1000;
constexpr std::size_t kMostCandidates = 48;
// Taken up together: at most so many sets, and prices to be held, off by at least this share of the most.
constexpr std::size_t kSetsAtOnce = 4, kHeldAtOnce = 8;
constexpr double kAlmostAsDear = 0.5;

// Solves the equations in the rows of `a`, the right-hand side in the last column, by elimination; false when
// they are singular.
bool eliminate(std::vector<std::vector<double>>& a) {
  const std::size_t n = a.size();
  for (std::size_t column = 0; column < n; ++column) {
    std::size_t pivot = column;
    for (std::size_t row = column; row < n; ++row) {
      if (std::abs(a[row][column]) > std::abs(a[pivot][column])) pivot = row;
    }
    if (!(std::abs(a[pivot][column]) > 0)) return false;
    std::swap(a[pivot], a[column]);
    for (std::size_t row = 0; row < n; ++row) {
      if (row == column) continue;
      const double factor = a[row][column] / a[column][column];
      for (std::size_t k = column; k <= n; ++k) a[row][k] -= factor * a[column][k];
    }
  }
  for (std::size_t row = 0; row < n; ++row) a[row][n] /= a[row][row];
  return true;
}

}  // namespace

PriceBundle::PriceBundle(std::span<const std::uint32_t> order, std::span<const double> counts,
                         std::uint32_t variety)
    : groups_(order), counts_(counts.begin(), counts.end()), reach_(kReach[variety % kReach.size()]) {}

bool PriceBundle::add(std::size_t pool, std::vector<std::uint32_t> items, double load) {
  std::vector<PriceGroups::Run> runs = groups_.runsOf(items);
  if (!known_.emplace(pool, items).second) return false;
  sets_.push_back({pool, std::move(items), load, std::move(runs)});
  return true;
}

void PriceBundle::keepWorth(std::span<const double> item_prices, std::span<const double> device_prices,
                            double share, std::size_t most) {
  // Dearest first, by what they are worth as a share of their device.
  std::vector<std::pair<double, std::size_t>> ranked;
  for (std::size_t s = 0; s < sets_.size(); ++s) {
    double worth = 0;
    for (const std::uint32_t v : sets_[s].items) worth += item_prices[v];
    const double device = device_prices[sets_[s].pool];
    if (worth >= share * device) ranked.emplace_back(-worth / std::max(device, kLeastWorth), s);
  }
  std::sort(ranked.begin(), ranked.end());
  ranked.resize(std::min(ranked.size(), most));
  std::sort(ranked.begin(), ranked.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  std::vector<KnownSet> kept;
  known_.clear();
  for (const auto& [worth, s] : ranked) {
    known_.emplace(sets_[s].pool, sets_[s].items);
    kept.push_back(std::move(sets_[s]));
  }
  sets_ = std::move(kept);
}

// Makes the last weights fit: those of a pool add up to its devices that are needed. False: there are no
// sets.
bool PriceBundle::start(std::span<const double> center_devices) {
  std::erase_if(active_, [&](const Active& active) { return !counts(sets_[active.set]); });
  groups_.sumUp(center_, sums_);
  std::vector<const KnownSet*> dearest(counts_.size(), nullptr);
  std::vector<double> most(counts_.size(), 0);
  for (const KnownSet& set : sets_) {
    if (!counts(set)) continue;
    const double worth = PriceGroups::worth(set.runs, sums_);
    if (dearest[set.pool] != nullptr && worth <= most[set.pool]) continue;
    dearest[set.pool] = &set;
    most[set.pool] = worth;
  }
  // As far as sets are known, all devices are worth 1 at the center.
  device_worth_.assign(center_devices.begin(), center_devices.end());
  double devices = 0;
  for (std::size_t k = 0; k < counts_.size(); ++k) {
    if (dearest[k] != nullptr) device_worth_[k] = most[k];
    devices += counts_[k] * device_worth_[k];
  }
  devices = std::max(devices, kLeastWorth);
  for (double& price : center_) price /= devices;
  for (double& price : device_worth_) price /= devices;
  pools_.clear();
  worth_left_ = 1;
  devices_needed_ = std::max(devices_needed_, kLeastNeeded);
  for (std::size_t k = 0; k < counts_.size(); ++k) {
    if (dearest[k] == nullptr) {
      worth_left_ -= counts_[k] * device_worth_[k];
      continue;
    }
    pools_.push_back(k);
    const double wanted = counts_[k] * devices_needed_;
    double sum = 0;
    for (const Active& active : active_) sum += sets_[active.set].pool == k ? active.weight : 0;
    if (sum <= 0) active_.push_back({static_cast<std::uint32_t>(dearest[k] - sets_.data()), sum = wanted});
    for (Active& active : active_) {
      if (sets_[active.set].pool == k) active.weight *= wanted / sum;
    }
  }
  return !pools_.empty() && worth_left_ > 0;
}

void PriceBundle::factorise() {
  free_price_ = center_;
  for (std::size_t g = 0; g < groups_.size(); ++g) free_price_[g] += step_ * groups_.root_scale[g];
  factor_.clear(pools_.size() + 1);
  for (std::size_t i = 0; i < active_.size(); ++i) appendToFactor(i);
}

// Products with the active sets before it, over the groups that are free. The sides: for each pool whether it
// is a set of it, and what the set would be worth without weights.
void PriceBundle::appendToFactor(std::size_t at) {
  const KnownSet& set = sets_[active_[at].set];
  std::vector<double> parts(groups_.size(), 0), sides;
  groups_.addParts(set.runs, parts);
  double free_worth = 0;
  for (std::size_t g = 0; g < parts.size(); ++g) {
    if (held_[g]) parts[g] = 0;
    free_worth += parts[g] * free_price_[g];
  }
  groups_.sumUp(parts, sums_);
  std::vector<double> products;
  for (std::size_t i = 0; i <= at; ++i) {
    const KnownSet& other = sets_[active_[i].set];
    products.push_back(PriceGroups::worth(other.runs, sums_) + (other.pool == set.pool ? 1 : 0));
  }
  products.back() *= 1 + kRidge;
  for (const std::size_t k : pools_) sides.push_back(set.pool == k ? 1 : 0);
  sides.push_back(free_worth);
  factor_.append(std::move(products), sides);
}

// Of the active sets.
std::vector<double> PriceBundle::partsOf(std::uint32_t group) const {
  std::vector<double> parts;
  for (const Active& active : active_) parts.push_back(groups_.partOf(group, sets_[active.set].runs));
  return parts;
}

// What a group adds to the right-hand sides, for each part of it.
std::vector<double> PriceBundle::sidesOf(std::uint32_t group) const {
  std::vector<double> sides(pools_.size(), 0);
  sides.push_back(free_price_[group]);
  return sides;
}

void PriceBundle::hold(std::uint32_t group) {
  held_[group] = 1;
  held_by_[group] = 0;
  factor_.subtract(partsOf(group), sidesOf(group));
}

void PriceBundle::release(std::uint32_t group) {
  held_[group] = 0;
  factor_.add(partsOf(group), sidesOf(group));
}

// The weights under which every active set is worth its device and every held price is zero. With K the
// products of the active sets, h what they would be worth without weights, both over the groups whose prices
// are free, E the pool of each and n the devices of the pools, they solve t K w = h - E q, E'w = n d,
// n'q = worth of the devices. K can be singular where this has one solution, so it is K + EE' that is
// factored: q is less by t n d then.
bool PriceBundle::bestWeights() {
  const std::size_t pools = pools_.size();
  std::vector<std::vector<double>> small(pools + 1, std::vector<double>(pools + 2, 0));
  for (std::size_t k = 0; k < pools; ++k) {
    for (std::size_t j = 0; j < pools; ++j) small[k][j] = factor_.product(k, j);
    small[k][pools + 1] = factor_.product(k, pools);
    small[k][pools] = small[pools][k] = counts_[pools_[k]];
  }
  for (const std::size_t k : pools_) small[pools][pools] += counts_[k] * counts_[k];
  small[pools][pools + 1] = worth_left_;
  if (!eliminate(small)) return false;
  std::vector<double> times(pools + 1, 1);
  for (std::size_t k = 0; k < pools; ++k) {
    device_worth_[pools_[k]] = small[k][pools + 1] + counts_[pools_[k]] * small[pools][pools + 1];
    times[k] = -small[k][pools + 1];
  }
  for (double& t : times) t /= step_;
  weights_ = factor_.solve(times);
  needed_ = small[pools][pools + 1] / step_;
  cover_.clear(groups_.itemCount());
  for (std::size_t i = 0; i < active_.size(); ++i) cover_.add(sets_[active_[i].set].runs, weights_[i]);
  cover_.parts(groups_, covered_);
  holding_.resize(groups_.size());
  for (std::size_t g = 0; g < groups_.size(); ++g)
    holding_[g] = (covered_[g] - free_price_[g] / step_) / groups_.root_scale[g];
  return true;
}

// Goes towards the best weights, and drops on the way what would get less than none. False: there are no best
// ones.
bool PriceBundle::balance() {
  const auto groups = static_cast<std::uint32_t>(groups_.size());
  for (; changes < kMostChanges; ++changes) {
    if (!bestWeights()) return false;
    double way = 1;
    const auto look = [&](double from, double to) {
      if (to < 0) way = std::min(way, from / (from - to));
    };
    for (std::size_t i = 0; i < active_.size(); ++i) look(active_[i].weight, weights_[i]);
    for (std::uint32_t g = 0; g < groups; ++g) {
      if (held_[g]) look(held_by_[g], holding_[g]);
    }
    for (std::size_t i = 0; i < active_.size(); ++i)
      active_[i].weight += way * (weights_[i] - active_[i].weight);
    for (std::uint32_t g = 0; g < groups; ++g) {
      if (held_[g]) held_by_[g] += way * (holding_[g] - held_by_[g]);
    }
    devices_needed_ += way * (needed_ - devices_needed_);
    if (way == 1) break;
    // What was taken up last has no weight yet; it stays unless it would get less.
    const auto goes = [&](double weight, double to) {
      return weight <= kNoWeight * devices_needed_ && to <= 0;
    };
    for (std::size_t i = active_.size(); i-- > 0;) {
      if (!goes(active_[i].weight, weights_[i])) continue;
      active_.erase(active_.begin() + static_cast<std::ptrdiff_t>(i));
      factor_.erase(i);
    }
    for (std::uint32_t g = 0; g < groups; ++g) {
      if (held_[g] && goes(held_by_[g], holding_[g])) release(g);
    }
  }
  return true;
}

// At the best weights.
void PriceBundle::takePrices() {
  price_.resize(groups_.size());
  for (std::size_t g = 0; g < groups_.size(); ++g)
    price_[g] = held_[g] ? 0 : free_price_[g] - step_ * covered_[g];
}

// Puts the sets that are above their worth into `candidates_`, dearest first. Those that were so at the last
// look at all sets come first: a look at all takes longer than the rest of a change.
void PriceBundle::rankSets() {
  groups_.sumUp(price_, sums_);
  const auto over = [&](const KnownSet& set) {
    return counts_[set.pool] * (PriceGroups::worth(set.runs, sums_) - device_worth_[set.pool]);
  };
  for (auto& [by, s] : candidates_) by = over(sets_[s]);
  std::sort(candidates_.begin(), candidates_.end(), std::greater<>());
  if (!candidates_.empty() && candidates_.front().first > kTolerance) return;
  candidates_.clear();
  for (std::uint32_t s = 0; s < sets_.size(); ++s) {
    if (!counts(sets_[s])) continue;
    const double by = over(sets_[s]);
    if (by > kTolerance) candidates_.emplace_back(by, s);
  }
  const std::size_t kept = std::min(candidates_.size(), kMostCandidates);
  std::partial_sort(candidates_.begin(), candidates_.begin() + static_cast<std::ptrdiff_t>(kept),
                    candidates_.end(), std::greater<>());
  candidates_.resize(kept);
}

// Takes up what is most above its worth and holds what is most below zero, some together: new weights take as
// long to find as for one. False when there is nothing, or after too many changes.
bool PriceBundle::takeUp() {
  takePrices();
  rankSets();
  double most = candidates_.empty() ? kTolerance : candidates_.front().first;
  const auto below = [&](std::size_t g) {
    return -static_cast<double>(groups_.size()) * groups_.root_scale[g] * price_[g];
  };
  for (std::size_t g = 0; g < groups_.size(); ++g) most = std::max(most, below(g));
  const std::size_t before = changes;
  for (std::uint32_t g = 0; g < groups_.size() && changes < before + kHeldAtOnce; ++g) {
    if (below(g) <= kTolerance || below(g) < kAlmostAsDear * most) continue;
    hold(g);
    ++changes;
  }
  for (std::size_t i = 0; i < std::min(candidates_.size(), kSetsAtOnce); ++i) {
    const auto [by, s] = candidates_[i];
    const auto same = [&, set = s](const Active& active) { return active.set == set; };
    if (by < kAlmostAsDear * most || std::any_of(active_.begin(), active_.end(), same)) break;
    active_.push_back({s, 0});
    appendToFactor(active_.size() - 1);
    ++changes;
  }
  return changes > before && changes < kMostChanges;
}

void PriceBundle::forgetWeights() {
  active_.clear();
  held_.assign(groups_.size(), 0);
  held_by_.assign(groups_.size(), 0);
  devices_needed_ = 1;
}

bool PriceBundle::settle() {
  factorise();
  do {
    if (!balance()) return false;
  } while (takeUp());
  return true;
}

void PriceBundle::solve(std::span<const double> center_items, std::span<const double> center_devices,
                        double range) {
  center_ = groups_.groupPrices(center_items);
  const double mean =
      std::accumulate(center_items.begin(), center_items.end(), 0.0) / static_cast<double>(groups_.size());
  step_ = reach_ * range * mean;
  changes = 0;
  candidates_.clear();
  blind = !start(center_devices) || !(step_ > 0);
  if (!blind && !settle()) {
    // The last weights were no good start.
    forgetWeights();
    start(center_devices);
    if (!settle()) covered_.assign(groups_.size(), 0);
  }
  price_ = center_;
  if (!blind) takePrices();
  if (!std::all_of(price_.begin(), price_.end(), [](double price) { return std::isfinite(price); })) {
    price_ = center_;
    forgetWeights();
  }
  report();
}

std::vector<CoverSet> PriceBundle::cover() const {
  std::vector<CoverSet> sets;
  for (const auto& [set, weight] : active_) sets.push_back({sets_[set].pool, sets_[set].items, weight});
  return sets;
}

void PriceBundle::report() {
  const std::vector<double>& scale = groups_.root_scale;
  double items = 0, devices = 0;
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    price_[g] = std::max(0.0, price_[g]);
    items += price_[g] * scale[g];
  }
  device_price = device_worth_;
  for (const std::size_t k : pools_) device_price[k] = 0;
  groups_.sumUp(price_, sums_);
  for (const KnownSet& set : sets_) {
    if (counts(set))
      device_price[set.pool] = std::max(device_price[set.pool], PriceGroups::worth(set.runs, sums_));
  }
  for (std::size_t k = 0; k < counts_.size(); ++k) devices += counts_[k] * device_price[k];
  devices = std::max(devices, kLeastWorth);
  for (double& price : device_price) price /= devices;
  item_price = groups_.itemPrices(price_);
  for (double& price : item_price) price /= devices;
  promise = items / devices;
  // What the sets cover, and the devices they take.
  std::vector<double> taken(counts_.size(), 0);
  cover_.clear(groups_.itemCount());
  for (const auto& [set, weight] : active_) {
    taken[sets_[set].pool] += weight;
    cover_.add(sets_[set].runs, weight);
  }
  cover_.parts(groups_, covered_);
  double uncovered = 0, needed = 0;
  for (std::size_t g = 0; g < groups_.size(); ++g)
    uncovered = std::max(uncovered, 1 - covered_[g] / scale[g]);
  for (std::size_t k = 0; k < counts_.size(); ++k) needed = std::max(needed, taken[k] / counts_[k]);
  ceiling = blind || uncovered >= 1 ? std::numeric_limits<double>::infinity() : needed / (1 - uncovered);
}

}  // namespace allot
