#include "solve/throughput/free_search_walk.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace allot {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::uint64_t kPhases = 64;  // steps of temperature and power
constexpr std::uint64_t kPoll = 256;   // moves between two looks at the clock
constexpr std::uint32_t kSamples = 6;  // ways out of a full device that are compared
// Energy of one limit's worth of bytes too many: at first, and by how much it grows while memory is overfull.
constexpr double kOverflowPrice = 20, kPriceGrowth = 8;

class Walker {
 public:
  Walker(const FreeGround& ground, const FreeWalk& walk, const Budget& budget)
      : ground_(ground),
        model_(*ground.model),
        walk_(walk),
        budget_(budget),
        random_(budget.seed, walk.stream),
        state_(model_),
        devices_(static_cast<std::uint32_t>(ground.devices)),
        energy_(ground.devices),
        in_cluster_(model_.itemCount(), 0) {}

  FreeOutcome run() {
    state_.assign(walk_.start);
    note();
    if (!ground_.loose.empty() && devices_ > 1) anneal();
    FreeOutcome outcome;
    outcome.value = kInfinity;
    if (best_ < kInfinity) {
      state_.assign(best_places_);
      outcome.value = state_.value();
      outcome.places = std::move(best_places_);
    }
    return outcome;
  }

 private:
  const FreeGround& ground_;
  const PipelineModel& model_;
  const FreeWalk& walk_;
  const Budget& budget_;
  Random random_;
  NetState state_;
  std::uint32_t devices_;
  std::uint32_t power_ = 3;
  double scale_ = 1;
  double temperature_ = 0;
  double price_ = kOverflowPrice;
  std::vector<double> energy_;  // by device
  double total_ = 0;
  double best_ = kInfinity;
  std::vector<Place> best_places_;
  std::vector<std::uint32_t> cluster_;
  std::vector<std::uint8_t> in_cluster_;

  double energyOf(Place device, const NetState::Sums& sums) const {
    double x = state_.load(sums) / scale_;
    for (std::uint32_t k = 0; k < power_; ++k) x *= x;
    return ground_.speed[state_.pool(device)] * x + price_ * state_.overflow(device, sums);
  }

  void takeEnergies() {
    scale_ = std::max(state_.value(), 1e-300);
    total_ = 0;
    for (Place d = 0; d < devices_; ++d) total_ += energy_[d] = energyOf(d, state_.sums(d));
  }

  void note() {
    const double value = state_.value();
    if (value >= best_ || state_.overflow() > 0) return;
    best_ = value;
    best_places_.assign(state_.places().begin(), state_.places().end());
  }

  bool accept(double total) {
    const double step = (total - total_) / (total_ * static_cast<double>(1u << power_));
    return step <= 0 || (step < 30 * temperature_ && random_.unit() < std::exp(-step / temperature_));
  }

  void anneal() {
    const std::uint64_t per_phase = std::max<std::uint64_t>(1, walk_.moves / kPhases);
    for (std::uint64_t phase = 0; phase < kPhases; ++phase) {
      const double t = static_cast<double>(phase) / static_cast<double>(kPhases - 1);
      temperature_ = walk_.hot * std::pow(walk_.cold / walk_.hot, t);
      power_ =
          walk_.first_power + static_cast<std::uint32_t>(t * (walk_.last_power - walk_.first_power) + 0.5);
      state_.refresh();
      price_ = state_.overflow() > 0 ? price_ * kPriceGrowth : std::max(kOverflowPrice, price_ / 2);
      takeEnergies();
      for (std::uint64_t m = 0; m < per_phase; ++m) {
        if (m % kPoll == 0 && (budget_.stopped() || budget_.elapsedSeconds() > walk_.deadline)) return;
        step();
      }
    }
  }

  void step() {
    const std::uint32_t kind = random_.below(100);
    if (kind < 30) {
      moveOne();
    } else if (kind < 40) {
      exchange();
    } else if (kind < 58) {
      moveCluster(false);
    } else if (kind < 63) {
      moveCluster(true);
    } else if (kind < 68) {
      moveRun();
    } else if (kind < 83) {
      shiftBorder();
    } else if (kind < 99) {
      eject();
    } else {
      exchangeDevices();
    }
  }

  std::uint32_t pickItem() {
    return ground_.loose[random_.below(static_cast<std::uint32_t>(ground_.loose.size()))];
  }
  // A device that the item may go to: one that touches its nets, or any.
  Place pickTarget(std::uint32_t item) {
    const auto nets = model_.item_nets[item];
    if (!nets.empty() && random_.below(4) != 0) {
      const std::uint32_t net = nets[random_.below(static_cast<std::uint32_t>(nets.size()))];
      const auto ends = model_.net_items[net];
      return state_.place(ends[random_.below(static_cast<std::uint32_t>(ends.size()))]);
    }
    return static_cast<Place>(random_.below(devices_));
  }
  void moveOne() {
    const std::uint32_t item = pickItem();
    const Place from = state_.place(item), to = pickTarget(item);
    if (to == from || !state_.runs(item, to)) return;
    const NetState::Change change = state_.probe(item, to);
    const double here = energyOf(from, change.from), there = energyOf(to, change.to);
    const double total = total_ - energy_[from] - energy_[to] + here + there;
    if (!accept(total)) return;
    state_.mark();
    state_.apply(item, to, change);
    energy_[from] = here;
    energy_[to] = there;
    finish();
  }

  // Judges the moves since the mark.
  void judge() {
    double total = total_;
    for (const Place d : state_.touched()) total += energyOf(d, state_.sums(d)) - energy_[d];
    if (!accept(total)) {
      state_.undo();
      return;
    }
    for (const Place d : state_.touched()) energy_[d] = energyOf(d, state_.sums(d));
    finish();
  }

  void finish() {
    total_ = std::accumulate(energy_.begin(), energy_.end(), 0.0);
    note();
  }

  void exchange() {
    const std::uint32_t a = pickItem(), b = pickItem();
    const Place at_a = state_.place(a), at_b = state_.place(b);
    if (at_a == at_b || !state_.runs(a, at_b) || !state_.runs(b, at_a)) return;
    state_.mark();
    state_.move(a, at_b);
    state_.move(b, at_a);
    judge();
  }

  // The items tied to one by nets at least as heavy as a random one of its nets; on its device only unless
  // `anywhere`.
  void growCluster(std::uint32_t seed, bool anywhere) {
    cluster_.assign(1, seed);
    in_cluster_[seed] = 1;
    const auto nets = ground_.heavy_first[seed];
    if (!nets.empty()) {
      const double threshold =
          ground_.net_weight[nets[random_.below(static_cast<std::uint32_t>(nets.size()))]] *
          (random_.below(2) == 0 ? 1 : random_.unit());
      const std::size_t most = std::size_t{4} << random_.below(7);
      const Place home = state_.place(seed);
      for (std::size_t next = 0; next < cluster_.size() && cluster_.size() < most; ++next) {
        for (const std::uint32_t net : ground_.heavy_first[cluster_[next]]) {
          if (ground_.net_weight[net] < threshold) break;
          for (const std::uint32_t item : model_.net_items[net]) {
            if (in_cluster_[item] || (!anywhere && state_.place(item) != home)) continue;
            in_cluster_[item] = 1;
            cluster_.push_back(item);
          }
        }
      }
    }
    for (const std::uint32_t item : cluster_) in_cluster_[item] = 0;
  }

  void moveCluster(bool anywhere) {
    const std::uint32_t seed = pickItem();
    growCluster(seed, anywhere);
    const std::uint32_t at = cluster_[random_.below(static_cast<std::uint32_t>(cluster_.size()))];
    moveAll(pickTarget(at));
  }

  void moveAll(Place to) {
    for (const std::uint32_t item : cluster_) {
      if (!state_.runs(item, to)) return;
    }
    state_.mark();
    for (const std::uint32_t item : cluster_) {
      if (state_.place(item) != to) state_.move(item, to);
    }
    if (!state_.touched().empty()) judge();
  }

  // A run of the topological order that sits on one device, up to a random length.
  void moveRun() {
    const std::uint32_t seed = pickItem();
    const Place home = state_.place(seed);
    const std::size_t most = std::size_t{2} << random_.below(6);
    const bool up = random_.below(2) == 0;
    cluster_.assign(1, seed);
    std::size_t skipped = 0;
    for (std::size_t at = ground_.position[seed]; cluster_.size() < most && skipped < 8;) {
      if (up ? ++at == ground_.order.size() : at-- == 0) break;
      const std::uint32_t item = ground_.order[at];
      if (state_.place(item) == home) {
        cluster_.push_back(item);
      } else {
        ++skipped;
      }
    }
    moveAll(pickTarget(random_.below(2) == 0 ? seed : cluster_.back()));
  }

  // Moves the end of a run of the topological order to the device that follows it there.
  void shiftBorder() {
    const std::uint32_t seed = pickItem();
    const Place home = state_.place(seed);
    const bool up = random_.below(2) == 0;
    std::size_t at = ground_.position[seed];
    Place to = home;
    for (std::size_t last = at;; last = at) {
      if (up ? ++at == ground_.order.size() : at-- == 0) return;
      to = state_.place(ground_.order[at]);
      if (to == home) continue;
      at = last;
      break;
    }
    std::size_t length = 1;
    while (length < 32 && random_.below(3) != 0) ++length;
    cluster_.clear();
    for (;; up ? --at : ++at) {
      const std::uint32_t item = ground_.order[at];
      if (state_.place(item) != home) break;
      cluster_.push_back(item);
      if (cluster_.size() == length || (up ? at == 0 : at + 1 == ground_.order.size())) break;
    }
    moveAll(to);
  }

  // Moves an item, then another out of the device that took it, and so on.
  void eject() {
    const std::uint32_t first = pickItem();
    const Place to = pickTarget(first);
    if (to == state_.place(first) || !state_.runs(first, to)) return;
    state_.mark();
    state_.move(first, to);
    cluster_.assign(1, first);
    in_cluster_[first] = 1;
    Place full = to;
    for (std::uint32_t depth = 1 + random_.below(4); depth > 0; --depth) {
      double least = kInfinity;
      std::uint32_t chosen = 0;
      Place target = 0;
      NetState::Change chosen_change;
      for (std::uint32_t tries = 0, found = 0; tries < 8 * devices_ && found < kSamples; ++tries) {
        const std::uint32_t item = pickItem();
        if (state_.place(item) != full || in_cluster_[item]) continue;
        const Place there = pickTarget(item);
        if (there == full || !state_.runs(item, there)) continue;
        ++found;
        const NetState::Change change = state_.probe(item, there);
        const double energy =
            energyOf(full, change.from) + energyOf(there, change.to) - energyOf(there, state_.sums(there));
        if (energy >= least) continue;
        least = energy;
        chosen = item;
        target = there;
        chosen_change = change;
      }
      if (least == kInfinity) break;
      state_.apply(chosen, target, chosen_change);
      cluster_.push_back(chosen);
      in_cluster_[chosen] = 1;
      full = target;
    }
    for (const std::uint32_t item : cluster_) in_cluster_[item] = 0;
    judge();
  }

  void exchangeDevices() {
    const Place a = static_cast<Place>(random_.below(devices_)),
                b = static_cast<Place>(random_.below(devices_));
    if (state_.pool(a) == state_.pool(b)) return;
    cluster_.clear();
    for (std::uint32_t item = 0; item < model_.itemCount(); ++item) {
      const Place at = state_.place(item);
      if (at != a && at != b) continue;
      if (!state_.runs(item, at == a ? b : a)) return;
      cluster_.push_back(item);
    }
    state_.mark();
    for (const std::uint32_t item : cluster_) state_.move(item, state_.place(item) == a ? b : a);
    if (!state_.touched().empty()) judge();
  }
};

}  // namespace

FreeGround::FreeGround(const PipelineModel& m)
    : model(&m), position(m.itemCount()), devices(m.problem->deviceCount()) {
  const std::size_t n = m.itemCount();
  net_weight.assign(m.netCount(), 0);
  for (std::size_t net = 0; net < m.netCount(); ++net) {
    for (std::size_t k = 0; k < m.poolCount(); ++k)
      net_weight[net] = std::max({net_weight[net], m.cost(net, k, true), m.cost(net, k, false)});
  }
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t first = heavy_first.items.size();
    heavy_first.items.insert(heavy_first.items.end(), m.item_nets[i].begin(), m.item_nets[i].end());
    std::stable_sort(heavy_first.items.begin() + static_cast<std::ptrdiff_t>(first), heavy_first.items.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return net_weight[a] > net_weight[b]; });
    heavy_first.closeRow();
    std::size_t homes = 0;
    for (std::size_t k = 0; k < m.poolCount(); ++k) homes += m.runs(i, k) ? m.pools[k].devices.size() : 0;
    if (homes > 1) loose.push_back(static_cast<std::uint32_t>(i));
  }
  for (std::size_t k = 0; k < m.poolCount(); ++k) {
    double least = 0, here = 0;
    for (std::size_t i = 0; i < n; ++i) {
      if (!m.runs(i, k)) continue;
      const auto times = std::span(m.seconds).subspan(i * m.poolCount(), m.poolCount());
      least += *std::min_element(times.begin(), times.end());
      here += m.time(i, k);
    }
    speed.push_back(here > 0 ? std::max(1e-4, least / here) : 1);
  }
  // Depth first, so that branches stay together. Items on a cycle of units follow in their own order.
  std::vector<std::uint32_t> open(n), stack;
  std::vector<std::uint8_t> done(n, 0);
  const auto run = [&] {
    while (!stack.empty()) {
      const std::uint32_t item = stack.back();
      stack.pop_back();
      if (done[item]) continue;
      done[item] = 1;
      order.push_back(item);
      for (const std::uint32_t next : m.after[item]) {
        if (open[next] > 0 && --open[next] == 0) stack.push_back(next);
      }
    }
  };
  for (std::size_t i = 0; i < n; ++i) open[i] = static_cast<std::uint32_t>(m.before[i].size());
  for (std::size_t i = n; i-- > 0;) {
    if (open[i] == 0) stack.push_back(static_cast<std::uint32_t>(i));
  }
  run();
  for (std::uint32_t i = 0; i < n; ++i) {
    if (done[i]) continue;
    stack.push_back(i);
    run();
  }
  for (std::uint32_t at = 0; at < n; ++at) position[order[at]] = at;
}

FreeOutcome walkFree(const FreeGround& ground, const FreeWalk& walk, const Budget& budget) {
  return Walker(ground, walk, budget).run();
}

}  // namespace allot
