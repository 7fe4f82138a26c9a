// What the stage that a walk makes is worth, with one stage option, to the states that it leads to.
//
// The stage goes before the states of an ideal, or carries on what has arrived at a barrier: each is a step
// to a state that uses more devices. Steps to one state form a target. From all of them together follows what
// a stage must and may hold: tests that drop a stage only do so when it is of use to none of them. Q = 1, or
// 2 where forward and rest are valued apart (max-parts).
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "solve/throughput/chain_parts.h"
#include "solve/throughput/chain_search.h"
#include "solve/throughput/growing_stage.h"

namespace allot {

template <std::size_t Q>
class ChainWorth {
 public:
  using Sums = ChainSums<Q>;
  using Arrival = ChainArrival<Q>;
  using Works = typename GrowingStage<Q>::Works;

  ChainWorth(const ChainSearch& search, const GrowingStage<Q>& stage) : search_(search), stage_(stage) {}
  ChainWorth(const ChainWorth&) = delete;
  ChainWorth& operator=(const ChainWorth&) = delete;

  void setCutoff(double cutoff, double forward_cutoff) {
    cutoff_[Q - 1] = cutoff;
    if constexpr (Q == 2) cutoff_[0] = forward_cutoff;
    busy_limit_ = cutoff + (Q == 2 ? forward_cutoff : 0);
  }

  void chooseOption(std::uint32_t option) {
    option_ = &search_.options_[option];
    steps_.clear();
  }
  std::uint32_t option() const { return static_cast<std::uint32_t>(option_ - search_.options_.data()); }
  std::size_t pool() const { return option_->pool; }

  // Where the stage may start, for as long as there are devices.
  void addStep(const Arrival& from) {
    const std::int32_t next = search_.next_state_[from.option * search_.states_ + from.from.state];
    if (next >= 0) steps_.push_back({from, static_cast<std::uint32_t>(next), 0});
  }
  bool hasSteps() const { return !steps_.empty(); }

  // All steps are there and the stage is empty. `any`: stages of use are as full as can be.
  void prepare(const ChainSegment& segment, bool any) {
    sortSteps();
    measureRoom();
    measureFill(segment, any);
  }

  // Whether what is left out of the stage can be too much for the devices behind.
  bool lossCounts() const { return loss_counts_; }
  bool lossFits(const Works& lost) const { return !loss_counts_ || fits(lost, allowed_loss_); }

  // Whether a stage that leaves something out must be so full that it does not fit any more.
  bool fillCounts() const { return fill_counts_; }
  // Whether it can be, when all that is lost takes so long, and something lost adds so much at most.
  bool canFill(double lost_seconds, double least_added) const {
    return !fill_counts_ || most_load_ - lost_seconds + least_added >= cutoff_[0] * (1 - kSpare);
  }

  // Whether a stage without x would leave more work than the devices left can do: it holds nothing that needs
  // x.
  bool isNeeded(std::uint32_t x) const {
    if (!loss_counts_) return false;
    for (std::size_t y = 0; y < search_.window_.size(); ++y) {
      if (search_.without_[x * kY + y] < search_.window_.total(y) - allowed_loss_[y]) return true;
    }
    return false;
  }

  // Whether some larger stage may still be of use.
  bool alive(const Sums& sums) const {
    if (least_.resident + sums.resident > option_->memory) return false;
    double busy = 0;
    for (std::size_t q = 0; q < Q; ++q) {
      const double least = together(least_.compute[q] + sums.compute[q], least_.fixed[q] + sums.fixed[q]);
      if (!(least < option_->replicas * cutoff_[q])) return false;
      busy += sums.compute[q] + (search_.overlap_sum_ ? sums.fixed[q] : 0);
    }
    for (std::size_t y = 0; y < search_.window_.size(); ++y) {
      if (option_->weight[y] * busy - sums.work[y] > room_[y]) return false;
    }
    return true;
  }

  // Whether some replica may not run the item.
  std::span<const std::uint32_t> otherPools() const { return option_->other_pools; }
  bool bars(std::uint32_t v) const { return option_->bars(search_.model_, v); }

  // Whether with this item no stage is of use, by its time alone: seen before it enters.
  bool isTooMuch(std::uint32_t v, const Sums& sums) const {
    if (bars(v)) return true;
    const double seconds = stage_.lastPart(v);
    return !(together(least_.compute[Q - 1] + sums.compute[Q - 1] + seconds,
                      least_.fixed[Q - 1] + sums.fixed[Q - 1]) < option_->replicas * cutoff_[Q - 1]);
  }

  // Adds the stage to each step; `keep` takes what is not too much already.
  template <class Keep>
  void extend(const Sums& sums, Keep&& keep) const {
    for (const Step& step : steps_) {
      Arrival arrival = step.from;
      Sums& all = arrival.sums;
      bool fits = true;
      for (std::size_t q = 0; q < Q; ++q) {
        all.compute[q] += sums.compute[q];
        all.transfer[q] += sums.transfer[q];
        all.fixed[q] = all.transfer[q];
        fits = fits && together(all.compute[q], all.transfer[q]) < option_->replicas * cutoff_[q];
      }
      for (std::size_t y = 0; y < kY; ++y) all.work[y] += sums.work[y];
      all.resident += sums.resident;
      all.weights += sums.weights;
      all.stash += sums.stash;
      all.trains = all.trains || sums.trains;
      if (fits && all.resident <= option_->memory) keep(arrival);
    }
  }

  // Whether the stage may go before the arrival.
  bool fitsBehind(const Arrival& from, const Sums& sums) const {
    return valueOf(from, sums) < cutoff_[Q - 1];
  }

  // Whether whatever fits behind one of two arrivals fits behind the other.
  bool fitAlike(const Arrival& a, const Arrival& b) const {
    return Q == 1 && search_.model_.stash_bytes.empty() && a.sums.compute[0] == b.sums.compute[0] &&
           a.sums.transfer[0] == b.sums.transfer[0] && a.sums.resident == b.sums.resident &&
           a.sums.weights == b.sums.weights && a.sums.trains == b.sums.trains;
  }

  // Whether the stage with one more item surely may go before it; false where that takes a closer look.
  bool surelyFitsBehind(const Arrival& from, const Sums& sums, std::uint32_t v) const {
    const double added = search_.most_added_[v * search_.model_.poolCount() + stage_.pool];
    return option_->replicas == 1 && search_.model_.stash_bytes.empty() &&
           from.sums.resident + sums.resident + search_.model_.resident[v] <= option_->memory &&
           from.sums.compute[0] + from.sums.transfer[0] + sums.compute[0] + sums.transfer[0] + added <
               cutoff_[0] * (1 - kSpare);
  }

  // Calls offer(state, value, arrival) for every state that the stage leads to below the cut-off, until it
  // says false. Of the arrivals that lead to the state it is the one with the least load.
  template <class Offer>
  bool offerTo(const Sums& sums, Offer&& offer) const {
    const double r = option_->replicas;
    const double added_least = sums.compute[Q - 1] + (search_.overlap_sum_ ? sums.transfer[Q - 1] : 0);
    Works left;
    for (std::size_t y = 0; y < kY; ++y)
      left[y] = search_.window_.total(y) - stage_.placed_work[y] - sums.work[y];
    left[0] += stage_.placed_owed + sums.owed;
    if (!fits(left, allowed_loss_)) return true;
    for (const Target& target : targets_) {
      if (!fits(left, target.room)) continue;
      double best = cutoff_[Q - 1];
      bool any = false;
      for (std::size_t j = target.begin; j < target.end; ++j) {
        if (steps_[j].least + added_least >= r * best) break;
        const double value = valueOf(steps_[j].from, sums);
        if (!(value < best)) continue;
        best = value;
        any = true;
      }
      if (any && !offer(target.state, best, steps_[target.begin].from)) return false;
    }
    return true;
  }

 private:
  static constexpr std::size_t kY = GrowingStage<Q>::kY;
  static constexpr double kSpare = 1e-9;  // for rounding
  struct Step {
    Arrival from;
    std::uint32_t next;  // state
    double least = 0;    // what the arrival adds to the load at least, replicas aside
  };
  // Steps to the same state, by rising `least`.
  struct Target {
    std::uint32_t state;
    std::uint32_t begin, end;
    Works room;  // most work that may be left
  };

  const ChainSearch& search_;
  const GrowingStage<Q>& stage_;
  const StageOption* option_ = nullptr;
  std::vector<Step> steps_;
  std::vector<Target> targets_;
  Sums least_;  // of each sum the least over all steps
  std::array<double, Q> cutoff_{};
  double busy_limit_ = 0;  // most time that a device may be busy
  Works room_{}, allowed_loss_{};
  bool loss_counts_ = true;
  double most_load_ = 0;  // of a stage that holds all up to the barrier
  bool fill_counts_ = false;

  // Steps to one state side by side, the lightest first.
  void sortSteps() {
    for (Step& step : steps_) {
      const Sums& sums = step.from.sums;
      step.least = sums.compute[Q - 1] + (search_.overlap_sum_ ? sums.transfer[Q - 1] : 0);
    }
    const auto lighter = [](const Step& a, const Step& b) {
      return a.next != b.next ? a.next < b.next : a.least < b.least;
    };
    // Arrivals come sorted but for max-parts.
    if (!std::is_sorted(steps_.begin(), steps_.end(), lighter))
      std::stable_sort(steps_.begin(), steps_.end(), lighter);
    targets_.clear();
    for (std::uint32_t i = 0; i < steps_.size(); ++i) {
      const std::uint32_t next = steps_[i].next;
      if (targets_.empty() || targets_.back().state != next) {
        Target& target = targets_.emplace_back(Target{next, i, i, {}});
        for (std::size_t y = 0; y < search_.window_.size(); ++y)
          target.room[y] = busy_limit_ * search_.capacity_[next * kY + y] + search_.slack_[y];
      }
      targets_.back().end = i + 1;
    }
  }

  void measureRoom() {
    room_.fill(-1e300);
    allowed_loss_.fill(0);
    least_ = steps_.front().from.sums;
    for (const Step& step : steps_) {
      const Sums& sums = step.from.sums;
      double busy = 0;
      for (std::size_t q = 0; q < Q; ++q) {
        least_.compute[q] = std::min(least_.compute[q], sums.compute[q]);
        least_.fixed[q] = std::min(least_.fixed[q], sums.fixed[q]);
        busy += search_.overlap_sum_ ? sums.compute[q] + sums.fixed[q] : sums.compute[q];
      }
      least_.resident = std::min(least_.resident, sums.resident);
      for (std::size_t y = 0; y < search_.window_.size(); ++y) {
        const double before = busy_limit_ * search_.capacity_[step.from.from.state * kY + y];
        // Work that was left when the stage began: that of the arrival is among what is placed by now.
        const double left = search_.window_.total(y) - stage_.placed_work[y] + sums.work[y];
        // Device time that may be spent beyond what the items would need at the best use of the devices.
        const double room = before - left - (option_->weight[y] * busy - sums.work[y]);
        room_[y] = std::max(room_[y], room + search_.slack_[y]);
      }
    }
    for (const Target& target : targets_) {
      for (std::size_t y = 0; y < kY; ++y) allowed_loss_[y] = std::max(allowed_loss_[y], target.room[y]);
    }
    // Where the devices behind could do all that is left, nothing that is left out is too much.
    loss_counts_ = false;
    for (std::size_t y = 0; y < search_.window_.size(); ++y)
      loss_counts_ = loss_counts_ || search_.window_.total(y) - stage_.placed_work[y] > allowed_loss_[y];
  }

  void measureFill(const ChainSegment& segment, bool any) {
    const auto rest = stage_.restOf(segment);
    double heaviest = 0, resident = 0;
    for (const Target& target : targets_) heaviest = std::max(heaviest, steps_[target.begin].least);
    for (const Step& step : steps_) resident = std::max(resident, step.from.sums.resident);
    most_load_ = heaviest + rest.seconds + segment.most_transfer[stage_.pool];
    // Where memory may be what keeps an item out, a stage need not be full.
    fill_counts_ = Q == 1 && any && search_.overlap_sum_ && option_->replicas == 1 &&
                   search_.model_.stash_bytes.empty() && resident + rest.resident <= option_->memory;
  }

  double together(double compute, double transfer) const {
    return search_.overlap_sum_ ? compute + transfer : std::max(compute, transfer);
  }

  double load(const Sums& a, const Sums& b, std::size_t q) const {
    const double all = together(a.compute[q] + b.compute[q], a.transfer[q] + b.transfer[q]);
    return option_->replicas == 1 ? all : all / option_->replicas;
  }

  bool fits(const Works& work, const Works& room) const {
    for (std::size_t y = 0; y < search_.window_.size(); ++y) {
      if (work[y] > room[y]) return false;
    }
    return true;
  }

  // The largest load when this stage goes before what the arrival came from; infinite when it does not fit.
  double valueOf(const Arrival& from, const Sums& sums) const {
    constexpr double kNoFit = std::numeric_limits<double>::infinity();
    const double resident = from.sums.resident + sums.resident;
    if (resident > option_->memory) return kNoFit;
    double value = load(from.sums, sums, Q - 1);
    if (option_->replicas > 1 && (from.sums.trains || sums.trains))
      value += option_->sync(from.sums.weights + sums.weights);
    if constexpr (Q == 2) {
      if (!(load(from.sums, sums, 0) < cutoff_[0])) return kNoFit;
    }
    const double stash = from.sums.stash + sums.stash;
    if (stash > 0) {
      const double samples =
          std::ceil((search_.stagesOf(from.from.state) + 1) / static_cast<double>(option_->replicas));
      if (resident + samples * stash > option_->memory) return kNoFit;
    }
    return std::max(from.from.value, value);
  }
};

}  // namespace allot
