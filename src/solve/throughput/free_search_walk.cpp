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
constexpr std::uint32_t kSeeds = 4;    // items that are tried until one has somewhere to go with its cluster
constexpr double kNoLuck = 30;         // temperatures: no step that is higher is taken
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
        in_cluster_(model_.itemCount(), 0),
        shift_(ground.devices) {}

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
  std::vector<NetState::Sums> shift_;  // by device; all zero but for those below
  std::vector<Place> shifted_;

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

  bool hopeless(double step) const { return step > 0 && step >= kNoLuck * temperature_; }
  // To another sum of energies, as a part of this one and of its power.
  double stepTo(double total) const {
    return (total - total_) / (total_ * static_cast<double>(1u << power_));
  }

  bool accept(double total) {
    const double step = stepTo(total);
    return step <= 0 || (!hopeless(step) && random_.unit() < std::exp(-step / temperature_));
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

  // Compute and bytes of the cluster's items at the device they go to. Nets only add to that, so that most
  // moves of many items are refused before any net is looked at.
  bool tooMuch(Place to) {
    for (const Place d : shifted_) shift_[d] = {};
    shifted_.assign(1, to);
    for (const std::uint32_t item : cluster_) {
      const Place from = state_.place(item);
      if (from == to) continue;
      if (from != shifted_.back() && std::find(shifted_.begin(), shifted_.end(), from) == shifted_.end())
        shifted_.push_back(from);
      shift_[from].compute -= model_.time(item, state_.pool(from));
      shift_[from].resident -= model_.resident[item];
      shift_[to].compute += model_.time(item, state_.pool(to));
      shift_[to].resident += model_.resident[item];
    }
    double least = total_;
    for (const Place d : shifted_) {
      NetState::Sums sums = state_.sums(d);
      sums.compute += shift_[d].compute;
      sums.resident += shift_[d].resident;
      sums.communication = 0;
      least += energyOf(d, sums) - energy_[d];
    }
    return hopeless(stepTo(least));
  }

  // The items tied to one by nets at least as heavy as a random one of its nets, to go to `to`; on its device
  // only unless `anywhere`. False when they are too many to go there.
  bool growCluster(std::uint32_t seed, Place to, bool anywhere) {
    cluster_.assign(1, seed);
    const auto nets = ground_.heavy_first[seed];
    if (nets.empty()) return true;
    const double threshold =
        ground_.net_weight[nets[random_.below(static_cast<std::uint32_t>(nets.size()))]] *
        (random_.below(2) == 0 ? 1 : random_.unit());
    const std::size_t most = std::size_t{4} << random_.below(7);
    const Place home = state_.place(seed);
    const double elsewhere = anywhere ? 0 : total_ - energy_[home] - energy_[to];
    NetState::Sums sums = state_.sums(to);
    sums.communication = 0;
    const auto add = [&](std::uint32_t item) {
      if (state_.place(item) == to) return;
      sums.compute += model_.time(item, state_.pool(to));
      sums.resident += model_.resident[item];
    };
    add(seed);
    in_cluster_[seed] = 1;
    bool fits = true;
    for (std::size_t next = 0; next < cluster_.size() && cluster_.size() < most && fits; ++next) {
      for (const std::uint32_t net : ground_.heavy_first[cluster_[next]]) {
        if (ground_.net_weight[net] < threshold) break;
        for (const std::uint32_t item : model_.net_items[net]) {
          if (in_cluster_[item] || (!anywhere && state_.place(item) != home)) continue;
          in_cluster_[item] = 1;
          cluster_.push_back(item);
          add(item);
        }
      }
      fits = !hopeless(stepTo(elsewhere + energyOf(to, sums)));
    }
    for (const std::uint32_t item : cluster_) in_cluster_[item] = 0;
    return fits;
  }

  void moveCluster(bool anywhere) {
    // Most items and their neighbours share a device.
    std::uint32_t seed = pickItem();
    Place to = pickTarget(seed);
    for (std::uint32_t tries = 1; tries < kSeeds && to == state_.place(seed); ++tries) {
      seed = pickItem();
      to = pickTarget(seed);
    }
    if (!anywhere && to == state_.place(seed)) return;
    if (growCluster(seed, to, anywhere)) moveAll(to);
  }

  void moveAll(Place to) {
    for (const std::uint32_t item : cluster_) {
      if (!state_.runs(item, to)) return;
    }
    if (tooMuch(to)) return;
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

FreeOutcome walkFree(const FreeGround& ground, const FreeWalk& walk, const Budget& budget) {
  return Walker(ground, walk, budget).run();
}

}  // namespace allot
