#include "solve/throughput/chain_refine.h"

#include <algorithm>
#include <cmath>

#include "base/random.h"

namespace allot {
namespace {

class Refiner {
 public:
  Refiner(const LineModel& model, LinePlan plan, const RefineOptions& options, const Budget& budget)
      : model_(model),
        plan_(std::move(plan)),
        options_(options),
        budget_(budget),
        stages_(plan_.stages.size()),
        random_(options.seed, 11) {
    fillStages();
    fillNets();
    fillMovable();
  }

  double value() const { return *std::max_element(load_.begin(), load_.end()); }

  LinePlan run() {
    best_ = value();
    const double first = best_;
    const std::uint64_t length = std::clamp<std::uint64_t>(options_.moves / 100, 500, kRound);
    const auto rounds = std::max<std::uint64_t>(options_.moves / length, 1);
    const double last = std::min(kLastAcceptance, options_.first_acceptance / 10);
    const double begin = budget_.elapsedSeconds();
    setEnergy(5);
    heat_ = heatOf(options_.first_acceptance);
    double done = 0;
    for (std::uint64_t round = 0; done < 1 && !movable_.empty() && !budget_.stopped(); ++round) {
      setEnergy(done < 0.3 ? 5 : done < 0.85 ? 6 : 7);  // 32, 64, 128
      tried_ = accepted_ = 0;
      for (std::uint64_t i = 0; i < length && !movable_.empty(); ++i) tryMove();
      followAcceptance(options_.first_acceptance + done * (last - options_.first_acceptance));
      done = static_cast<double>(round + 1) / static_cast<double>(rounds);
      // A moment's delay at the start must not change a run that has time enough.
      const double late = (budget_.elapsedSeconds() - begin) / options_.seconds;
      if (late > kSurelyLate) done = std::max(done, late);
    }
    plan_.stage_of = bestStages();
    plan_.value = std::min(first, best_);
    return std::move(plan_);
  }

 private:
  static constexpr std::uint64_t kRound = 4096;
  static constexpr double kLastAcceptance = 0.01;
  static constexpr double kSurelyLate = 0.1;  // of the time
  static constexpr double kLeastHeat = 1e-9, kMostHeat = 30;
  static constexpr std::size_t kProbes = 2000;
  static constexpr std::uint32_t kNone = UINT32_MAX;

  struct Step {
    std::uint32_t item, from;
  };

  const LineModel& model_;
  LinePlan plan_;
  const RefineOptions& options_;
  const Budget& budget_;
  std::size_t stages_;
  Random random_;
  std::vector<StageSums> sums_;  // by stage, on its pool
  std::vector<double> load_, resident_;
  // By stage: how much of an item's work its devices do in the time of the fastest. Without it slow stages,
  // on which every item weighs more, would stay less full than fast ones.
  std::vector<double> weight_;
  std::vector<std::uint32_t> trains_;                    // by stage: items that train
  std::vector<std::uint32_t> ends_;                      // [net * stages + stage]
  std::vector<std::uint32_t> touched_;                   // by net: stages that hold an end
  std::vector<std::uint32_t> tied_before_, tied_after_;  // by item: neighbours in its own stage
  std::vector<std::uint32_t> movable_, place_;           // items that may leave their stage; where they stand
  std::vector<Step> since_best_;                         // the way back to the best value,
  std::vector<std::uint32_t> best_stages_;               // or where it leads, once that takes less room
  std::vector<double> energy_;                           // by stage
  double best_ = 0, heat_ = 0, scale_ = 1;
  int power_ = 3;
  std::uint64_t tried_ = 0, accepted_ = 0;
  // Stages whose sums the tried move changes, and what they become.
  std::vector<std::uint32_t> changed_;
  std::vector<StageSums> next_;
  std::vector<double> next_load_, next_energy_;

  std::uint32_t& stage(std::uint32_t item) { return plan_.stage_of[item]; }
  std::size_t poolOf(std::uint32_t s) const { return plan_.stages[s].pool; }

  // What a stage pays for a net: `others` is how many other stages hold ends of it.
  double pays(std::uint32_t net, std::uint32_t s, bool sends, std::uint32_t others) const {
    if (others == 0) return 0;
    const double cost = model_.cost(net, poolOf(s), sends);
    return sends && model_.per_destination ? cost * others : cost;
  }

  void fillStages() {
    sums_.assign(stages_, {});
    load_.assign(stages_, 0);
    resident_.assign(stages_, 0);
    trains_.assign(stages_, 0);
    const double fastest = *std::max_element(model_.capacity.begin(), model_.capacity.end());
    for (std::uint32_t s = 0; s < stages_; ++s) weight_.push_back(model_.capacity[poolOf(s)] / fastest);
    for (std::uint32_t i = 0; i < model_.item_count; ++i) {
      const std::uint32_t s = stage(i);
      addItem(sums_[s], i, s, 1);
      resident_[s] += model_.resident[i];
      trains_[s] += model_.trains[i];
    }
  }

  void addItem(StageSums& sums, std::uint32_t item, std::uint32_t s, double sign) const {
    const double* time = model_.times(item, poolOf(s));
    for (std::size_t part = 0; part < model_.parts; ++part) sums.compute[part] += sign * time[part];
    sums.weights += sign * model_.weights[item];
  }

  double loadOf(StageSums sums, std::uint32_t s, std::uint32_t trains) const {
    sums.trains = trains > 0;
    return model_.load(sums, poolOf(s), plan_.stages[s].replicas);
  }

  void fillNets() {
    ends_.assign(model_.netCount() * stages_, 0);
    touched_.assign(model_.netCount(), 0);
    for (std::uint32_t net = 0; net < model_.netCount(); ++net) {
      std::uint32_t* row = &ends_[net * stages_];
      for (const std::uint32_t item : model_.net_items[net]) {
        if (row[stage(item)]++ == 0) ++touched_[net];
      }
      if (touched_[net] < 2) continue;
      const std::uint32_t home = stage(model_.net_producer[net]);
      for (std::uint32_t s = 0; s < stages_; ++s) {
        if (row[s] > 0)
          sums_[s].communication[model_.net_part[net]] += pays(net, s, s == home, touched_[net] - 1);
      }
    }
    for (std::uint32_t s = 0; s < stages_; ++s) load_[s] = loadOf(sums_[s], s, trains_[s]);
  }

  void fillMovable() {
    tied_before_.assign(model_.item_count, 0);
    tied_after_.assign(model_.item_count, 0);
    place_.assign(model_.item_count, kNone);
    for (std::uint32_t i = 0; i < model_.item_count; ++i) {
      tie(i);
      note(i);
    }
  }

  void tie(std::uint32_t item) {
    tied_before_[item] = tied_after_[item] = 0;
    for (const std::uint32_t other : model_.before[item]) tied_before_[item] += stage(other) == stage(item);
    for (const std::uint32_t other : model_.after[item]) tied_after_[item] += stage(other) == stage(item);
  }

  void note(std::uint32_t item) {
    const bool moves =
        (tied_before_[item] == 0 && stage(item) > 0) || (tied_after_[item] == 0 && stage(item) + 1 < stages_);
    if (moves == (place_[item] != kNone)) return;
    if (moves) {
      place_[item] = static_cast<std::uint32_t>(movable_.size());
      movable_.push_back(item);
      return;
    }
    const std::uint32_t last = movable_.back();
    movable_[place_[item]] = last;
    place_[last] = place_[item];
    place_[item] = kNone;
    movable_.pop_back();
  }

  // A stage that the item may go to, or kNone. Mostly the next one; now and then as far as its neighbours
  // allow.
  std::uint32_t target(std::uint32_t item) {
    const std::uint32_t s = stage(item);
    const bool down = tied_before_[item] == 0 && s > 0;
    const bool up = tied_after_[item] == 0 && s + 1 < stages_;
    const bool goes_up = up && (!down || random_.below(2) == 0);
    std::uint32_t to = goes_up ? s + 1 : s - 1;
    if (random_.below(8) == 0) {
      std::uint32_t far = goes_up ? static_cast<std::uint32_t>(stages_) - 1 : 0;
      for (const std::uint32_t other : goes_up ? model_.after[item] : model_.before[item])
        far = goes_up ? std::min(far, stage(other)) : std::max(far, stage(other));
      const std::uint32_t span = goes_up ? far - s : s - far;
      const std::uint32_t by = 1 + random_.below(span);
      to = goes_up ? s + by : s - by;
    }
    if (!model_.runs(item, poolOf(to))) return kNone;
    if (resident_[to] + model_.resident[item] > model_.pools[poolOf(to)].memory) return kNone;
    return to;
  }

  StageSums& changing(std::uint32_t s) {
    for (std::size_t i = 0; i < changed_.size(); ++i) {
      if (changed_[i] == s) return next_[i];
    }
    changed_.push_back(s);
    next_.push_back(sums_[s]);
    return next_.back();
  }

  void addNet(std::uint32_t net, std::uint32_t item, std::uint32_t from, std::uint32_t to) {
    const std::uint32_t* row = &ends_[net * stages_];
    const std::uint32_t had = touched_[net];
    const bool leaves = row[from] == 1, enters = row[to] == 0;
    const std::uint32_t has = had - (leaves ? 1 : 0) + (enters ? 1 : 0);
    const std::size_t part = model_.net_part[net];
    const bool moves_home = model_.net_producer[net] == item;
    const std::uint32_t home = moves_home ? from : stage(model_.net_producer[net]);
    const std::uint32_t next_home = moves_home ? to : home;
    if (had == 1 && has == 1) return;
    double change = -pays(net, from, home == from, had - 1);
    if (!leaves) change += pays(net, from, next_home == from, has - 1);
    if (change != 0) next_[0].communication[part] += change;
    change = pays(net, to, next_home == to, has - 1);
    if (!enters) change -= pays(net, to, home == to, had - 1);
    if (change != 0) next_[1].communication[part] += change;
    if (model_.per_destination && had != has && home != from && home != to) {
      changing(home).communication[part] += pays(net, home, true, has - 1) - pays(net, home, true, had - 1);
    }
  }

  double energy(double load) const {
    double x = load * scale_;
    for (int i = 0; i < power_; ++i) x *= x;
    return x;
  }

  void setEnergy(int power) {
    power_ = power;
    scale_ = 1 / best_;
    energy_.resize(stages_);
    for (std::size_t s = 0; s < stages_; ++s) energy_[s] = energy(load_[s]);
  }

  void followAcceptance(double wanted) {
    const double seen = static_cast<double>(accepted_ + 1) / static_cast<double>(tried_ + 1);
    heat_ = std::clamp(heat_ * std::clamp(std::sqrt(wanted / seen), 0.8, 1.25), kLeastHeat, kMostHeat);
  }

  // Of the moves possible now this share would be taken, about.
  double heatOf(double acceptance) {
    std::vector<double> rises;
    for (std::size_t i = 0; i < kProbes && !movable_.empty(); ++i) {
      const Proposal move = proposeMove();
      if (move.item != kNone) rises.push_back(std::max(0.0, move.rise));
    }
    double low = kLeastHeat, high = kMostHeat;
    while (high > 1.1 * low) {
      const double heat = std::sqrt(low * high);
      double taken = 0;
      for (const double rise : rises) taken += std::exp(-rise / heat);
      (taken < acceptance * static_cast<double>(rises.size()) ? low : high) = heat;
    }
    return low;
  }

  struct Proposal {
    std::uint32_t item = kNone, from = 0, to = 0;
    double rise = std::numeric_limits<double>::infinity();
  };

  Proposal proposeMove() {
    const std::uint32_t item = movable_[random_.below(static_cast<std::uint32_t>(movable_.size()))];
    const std::uint32_t from = stage(item), to = target(item);
    if (to == kNone) return {};
    changed_.assign({from, to});
    next_.assign({sums_[from], sums_[to]});
    addItem(next_[0], item, from, -1);
    addItem(next_[1], item, to, 1);
    for (const std::uint32_t net : model_.item_nets[item]) addNet(net, item, from, to);
    double rise = 0;
    next_load_.resize(changed_.size());
    next_energy_.resize(changed_.size());
    for (std::size_t i = 0; i < changed_.size(); ++i) {
      const std::uint32_t s = changed_[i];
      const std::uint32_t trains =
          trains_[s] + (i == 1 ? model_.trains[item] : 0) - (i == 0 ? model_.trains[item] : 0);
      next_load_[i] = loadOf(next_[i], s, trains);
      next_energy_[i] = energy(next_load_[i]);
      rise += weight_[s] * (next_energy_[i] - energy_[s]);
    }
    return {item, from, to, rise};
  }

  void tryMove() {
    const Proposal move = proposeMove();
    if (move.item == kNone) return;
    ++tried_;
    if (move.rise > 0 && !(random_.unit() < std::exp(-move.rise / heat_))) return;
    ++accepted_;
    apply(move.item, move.from, move.to);
  }

  void apply(std::uint32_t item, std::uint32_t from, std::uint32_t to) {
    double most = 0;
    for (std::size_t i = 0; i < changed_.size(); ++i) {
      sums_[changed_[i]] = next_[i];
      load_[changed_[i]] = next_load_[i];
      energy_[changed_[i]] = next_energy_[i];
      most = std::max(most, next_load_[i]);
    }
    resident_[from] -= model_.resident[item];
    resident_[to] += model_.resident[item];
    trains_[from] -= model_.trains[item];
    trains_[to] += model_.trains[item];
    for (const std::uint32_t net : model_.item_nets[item]) {
      std::uint32_t* row = &ends_[net * stages_];
      if (--row[from] == 0) --touched_[net];
      if (row[to]++ == 0) ++touched_[net];
    }
    stage(item) = to;
    for (const std::uint32_t other : model_.before[item]) retie(other, tied_after_[other], from, to);
    for (const std::uint32_t other : model_.after[item]) retie(other, tied_before_[other], from, to);
    tie(item);
    note(item);
    if (best_stages_.empty()) since_best_.push_back({item, from});
    // A long way back takes more room than what it leads to.
    if (since_best_.size() > model_.item_count) {
      best_stages_ = bestStages();
      since_best_.clear();
    }
    // Rounding drifts with the moves: only a clear gain counts.
    if (most < best_ * (1 - 1e-12) && value() < best_ * (1 - 1e-9)) {
      best_ = value();
      since_best_.clear();
      best_stages_.clear();
    }
  }

  // Those of the best value so far.
  std::vector<std::uint32_t> bestStages() const {
    if (!best_stages_.empty()) return best_stages_;
    std::vector<std::uint32_t> stages = plan_.stage_of;
    for (auto step = since_best_.rbegin(); step != since_best_.rend(); ++step)
      stages[step->item] = step->from;
    return stages;
  }

  void retie(std::uint32_t other, std::uint32_t& tied, std::uint32_t from, std::uint32_t to) {
    const std::uint32_t s = stage(other);
    if (s != from && s != to) return;
    tied += s == to ? 1 : 0;
    tied -= s == from ? 1 : 0;
    note(other);
  }
};

}  // namespace

bool refineFits(const LineModel& model, std::size_t stages, double bytes) {
  return 4.0 * static_cast<double>(model.netCount()) * static_cast<double>(stages) +
             40.0 * static_cast<double>(model.item_count) <
         bytes;
}

LinePlan refineChain(const LineModel& model, LinePlan plan, const RefineOptions& options,
                     const Budget& budget) {
  if (model.problem->modes.in_flight || plan.stages.size() < 2 || budget.stopped()) return plan;
  return Refiner(model, std::move(plan), options, budget).run();
}

double lineValue(const LineModel& model, const LinePlan& plan) {
  const Budget unlimited(RunOptions{}, nullptr);
  return Refiner(model, plan, {}, unlimited).value();
}

}  // namespace allot
