#include "solve/throughput/price_bundle.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>

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

PriceBundle::PriceBundle(std::size_t items, std::span<const double> counts, std::uint32_t variety)
    : items_(items), counts_(counts.begin(), counts.end()), reach_(kReach[variety % kReach.size()]) {}

bool PriceBundle::add(std::size_t pool, std::vector<std::uint32_t> items, double load) {
  std::sort(items.begin(), items.end());
  if (!known_.emplace(pool, items).second) return false;
  sets_.push_back({pool, std::move(items), load, {}});
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

void PriceBundle::tie(std::span<const std::uint32_t> group_of, std::span<const double> base) {
  group_of_.assign(group_of.begin(), group_of.end());
  groups_ = 1 + *std::max_element(group_of.begin(), group_of.end());
  std::vector<double> total(groups_, 0);
  for (std::size_t v = 0; v < items_; ++v) total[group_of[v]] += base[v];
  share_.resize(items_);
  double mean = 0;
  for (std::size_t v = 0; v < items_; ++v) {
    share_[v] = base[v] / total[group_of[v]];
    mean += base[v] / static_cast<double>(groups_);
  }
  root_scale_.resize(groups_);
  for (std::size_t g = 0; g < groups_; ++g) root_scale_[g] = std::sqrt((total[g] + mean) / (2 * mean));
  forgetWeights();
  made_ = 0;
}

void PriceBundle::makeParts() {
  std::vector<double> part(groups_, 0);
  for (; made_ < sets_.size(); ++made_) {
    KnownSet& set = sets_[made_];
    set.parts.clear();
    for (const std::uint32_t v : set.items) part[group_of_[v]] += share_[v] * root_scale_[group_of_[v]];
    for (const std::uint32_t v : set.items) {
      const std::uint32_t g = group_of_[v];
      if (part[g] > 0) set.parts.push_back({g, part[g]});
      part[g] = 0;
    }
  }
}

double PriceBundle::worth(const KnownSet& set, std::span<const double> prices) const {
  double sum = 0;
  for (const Part& part : set.parts) sum += part.value * prices[part.group];
  return sum;
}

// What an active one has in each right-hand side: whether it is a set of the pool, for each pool, and what it
// would be worth without weights. Nothing while these are not known yet.
std::vector<double> PriceBundle::sidesOf(const Active& active) const {
  std::vector<double> sides;
  if (!sides_known_) return sides;
  for (const std::size_t k : pools_) sides.push_back(active.is_set && sets_[active.index].pool == k);
  if (active.is_set) {
    const KnownSet& set = sets_[active.index];
    sides.push_back(worth(set, center_) + step_ * worth(set, root_scale_));
  } else {
    const double scale = root_scale_[active.index];
    sides.push_back(-scale * (center_[active.index] + step_ * scale));
  }
  return sides;
}

void PriceBundle::setSides() {
  sides_known_ = true;
  std::vector<std::vector<double>> columns(pools_.size() + 1);
  for (const Active& active : active_) {
    const std::vector<double> sides = sidesOf(active);
    for (std::size_t k = 0; k < columns.size(); ++k) columns[k].push_back(sides[k]);
  }
  factor_.setSides(std::move(columns));
}

void PriceBundle::activate(bool is_set, std::uint32_t index, double weight) {
  // As a vector by group: that of a group points the other way, for it keeps its price up.
  std::vector<double> vector(groups_, 0);
  if (is_set) {
    for (const Part& part : sets_[index].parts) vector[part.group] = part.value;
  } else {
    vector[index] = -root_scale_[index];
  }
  active_.push_back({is_set, index, weight});
  std::vector<double> products;
  for (const Active& other : active_) {
    if (!other.is_set) {
      products.push_back(-root_scale_[other.index] * vector[other.index]);
      continue;
    }
    const KnownSet& set = sets_[other.index];
    products.push_back(worth(set, vector) + (is_set && set.pool == sets_[index].pool ? 1 : 0));
  }
  products.back() *= 1 + kRidge;
  factor_.append(std::move(products), sidesOf(active_.back()));
}

void PriceBundle::deactivate(std::size_t at) {
  active_.erase(active_.begin() + static_cast<std::ptrdiff_t>(at));
  factor_.erase(at);
}

// Makes the last weights fit: those of a pool add up to its devices that are needed. False: there are no
// sets.
bool PriceBundle::start(std::span<const double> center_devices) {
  sides_known_ = false;
  factor_.setSides({});
  for (std::size_t i = active_.size(); i-- > 0;) {
    if (active_[i].is_set && sets_[active_[i].index].load > limit_) deactivate(i);
  }
  std::vector<const KnownSet*> dearest(counts_.size(), nullptr);
  for (const KnownSet& set : sets_) {
    const KnownSet*& best = dearest[set.pool];
    if (set.load <= limit_ && (best == nullptr || worth(set, center_) > worth(*best, center_))) best = &set;
  }
  // As far as sets are known, all devices are worth 1 at the center.
  device_worth_.assign(center_devices.begin(), center_devices.end());
  double devices = 0;
  for (std::size_t k = 0; k < counts_.size(); ++k) {
    if (dearest[k] != nullptr) device_worth_[k] = worth(*dearest[k], center_);
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
    for (const Active& active : active_)
      sum += active.is_set && sets_[active.index].pool == k ? active.weight : 0;
    if (sum <= 0) activate(true, static_cast<std::uint32_t>(dearest[k] - sets_.data()), sum = wanted);
    for (Active& active : active_) {
      if (active.is_set && sets_[active.index].pool == k) active.weight *= wanted / sum;
    }
  }
  return !pools_.empty() && worth_left_ > 0;
}

// The weights under which every active set is worth its device and every active group nothing. With K the
// products of the active ones, h what they would be worth without weights, E the pool of each and n the
// devices of the pools, they solve t K w = h - E q, E'w = n d, n'q = worth of the devices. K can be singular
// where this has one solution, so it is K + EE' that is factored: q is less by t n d then.
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
  return true;
}

// Goes towards the best weights, and drops on the way what would get less than none. False: there are no best
// ones.
bool PriceBundle::balance() {
  for (; changes < kMostChanges; ++changes) {
    if (!bestWeights()) return false;
    double way = 1;
    for (std::size_t i = 0; i < active_.size(); ++i) {
      const double from = active_[i].weight;
      if (weights_[i] < 0) way = std::min(way, from / (from - weights_[i]));
    }
    for (std::size_t i = 0; i < active_.size(); ++i)
      active_[i].weight += way * (weights_[i] - active_[i].weight);
    devices_needed_ += way * (needed_ - devices_needed_);
    if (way == 1) break;
    for (std::size_t i = active_.size(); i-- > 0;) {
      if (active_[i].weight <= kNoWeight * devices_needed_) deactivate(i);
    }
  }
  return true;
}

void PriceBundle::takePrices() {
  price_.assign(root_scale_.begin(), root_scale_.end());
  for (const Active& active : active_) {
    if (active.is_set) {
      for (const Part& part : sets_[active.index].parts) price_[part.group] -= active.weight * part.value;
    } else {
      price_[active.index] += active.weight * root_scale_[active.index];
    }
  }
  for (std::size_t g = 0; g < groups_; ++g) price_[g] = center_[g] + step_ * price_[g];
}

// The set that is most above its worth, by how much. Those that were so at the last look at all sets come
// first: a look at all takes longer than the rest of a change.
std::pair<double, std::size_t> PriceBundle::dearestSet() {
  const auto over = [&](std::size_t s) {
    return counts_[sets_[s].pool] * (worth(sets_[s], price_) - device_worth_[sets_[s].pool]);
  };
  std::pair<double, std::size_t> dearest{kTolerance, std::numeric_limits<std::size_t>::max()};
  const auto look = [&](std::size_t s, double by) {
    if (by > dearest.first) dearest = {by, s};
  };
  for (const auto& [by, s] : candidates_) look(s, over(s));
  if (dearest.first > kTolerance) return dearest;
  candidates_.clear();
  for (std::size_t s = 0; s < sets_.size(); ++s) {
    if (sets_[s].load > limit_) continue;
    const double by = over(s);
    if (by > kTolerance) candidates_.emplace_back(by, s);
    look(s, by);
  }
  if (candidates_.size() > kMostCandidates) {
    std::nth_element(candidates_.begin(), candidates_.begin() + kMostCandidates, candidates_.end(),
                     std::greater<>());
    candidates_.resize(kMostCandidates);
  }
  return dearest;
}

// Activates what is most above its worth; false when nothing is, or after too many changes.
bool PriceBundle::takeUp() {
  takePrices();
  auto [most, found] = dearestSet();
  bool is_set = true;
  for (std::size_t g = 0; g < groups_; ++g) {
    const double over = -static_cast<double>(groups_) * root_scale_[g] * price_[g];
    if (over > most) {
      most = over;
      found = g;
      is_set = false;
    }
  }
  const auto same = [&](const Active& active) { return active.is_set == is_set && active.index == found; };
  if (most == kTolerance || std::any_of(active_.begin(), active_.end(), same)) return false;
  activate(is_set, static_cast<std::uint32_t>(found), 0);
  return ++changes < kMostChanges;
}

void PriceBundle::forgetWeights() {
  active_.clear();
  factor_.clear();
  devices_needed_ = 1;
}

bool PriceBundle::settle() {
  do {
    if (!balance()) return false;
  } while (takeUp());
  return true;
}

void PriceBundle::solve(std::span<const double> center_items, std::span<const double> center_devices,
                        double range) {
  makeParts();
  center_.assign(groups_, 0);
  double mean = 0;
  for (std::size_t v = 0; v < items_; ++v) {
    center_[group_of_[v]] += center_items[v] / root_scale_[group_of_[v]];
    mean += center_items[v] / static_cast<double>(groups_);
  }
  step_ = reach_ * range * mean;
  changes = 0;
  candidates_.clear();
  blind = !start(center_devices) || !(step_ > 0);
  if (!blind) setSides();
  if (!blind && !settle()) {
    // The last weights were no good start.
    forgetWeights();
    start(center_devices);
    setSides();
    settle();
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
  for (const Active& active : active_) {
    if (active.is_set) sets.push_back({sets_[active.index].pool, sets_[active.index].items, active.weight});
  }
  return sets;
}

void PriceBundle::report() {
  double items = 0, devices = 0;
  for (std::size_t g = 0; g < groups_; ++g) {
    price_[g] = std::max(0.0, price_[g]);
    items += price_[g] * root_scale_[g];
  }
  device_price = device_worth_;
  for (const std::size_t k : pools_) device_price[k] = 0;
  for (const KnownSet& set : sets_) {
    if (set.load <= limit_) device_price[set.pool] = std::max(device_price[set.pool], worth(set, price_));
  }
  for (std::size_t k = 0; k < counts_.size(); ++k) devices += counts_[k] * device_price[k];
  devices = std::max(devices, kLeastWorth);
  for (double& price : device_price) price /= devices;
  item_price.resize(items_);
  for (std::size_t v = 0; v < items_; ++v)
    item_price[v] = share_[v] * price_[group_of_[v]] * root_scale_[group_of_[v]] / devices;
  promise = items / devices;
  // What the sets cover, and the devices they take.
  std::vector<double> left(root_scale_), taken(counts_.size(), 0);
  for (const Active& active : active_) {
    if (!active.is_set) continue;
    taken[sets_[active.index].pool] += active.weight;
    for (const Part& part : sets_[active.index].parts) left[part.group] -= active.weight * part.value;
  }
  double uncovered = 0, needed = 0;
  for (std::size_t g = 0; g < groups_; ++g) uncovered = std::max(uncovered, left[g] / root_scale_[g]);
  for (std::size_t k = 0; k < counts_.size(); ++k) needed = std::max(needed, taken[k] / counts_[k]);
  ceiling = blind || uncovered >= 1 ? std::numeric_limits<double>::infinity() : needed / (1 - uncovered);
}

}  // namespace allot
