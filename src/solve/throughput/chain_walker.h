// One thread's walk through the ideals above a state: the inner loop of ChainSearch.
//
// A walk is for one stage option, so that it knows how much work the stage must and may hold: options differ
// widely (a slow core takes little, an accelerator must be nearly full).
// Barriers: where every other item comes before or after x and no net reaches across it, the load of a stage
// that holds x is a part that depends on where the stage starts plus a part that depends on where it ends. So
// a walk never crosses the next barrier. Instead what the stage holds up to there is kept as an `Arrival`; of
// all arrivals with the same state only those that no other one beats in everything matter, and one walk from
// the barrier serves them all. Q = 1, or 2 where forward and rest are valued apart (max-parts).
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "solve/throughput/chain_crew.h"
#include "solve/throughput/chain_parts.h"
#include "solve/throughput/chain_search.h"
#include "solve/throughput/growing_stage.h"

namespace allot {

// On cache lines of its own: each thread has one.
template <std::size_t Q>
class alignas(64) ChainWalker {
 public:
  using Entry = ChainEntry;
  using Sums = ChainSums<Q>;
  using Arrival = ChainArrival<Q>;
  struct Added {
    std::uint32_t ideal, items;
  };

  ChainWalker(const ChainSearch& search, ChainShared& shared)
      : search_(search),
        shared_(shared),
        stage_(search),
        is_forced_(search.model_.itemCount()),
        sums_(search.model_.itemCount() + 1),
        lost_((search.model_.itemCount() + 1) * search.need_words_),
        lost_work_(search.model_.itemCount() + 1) {}

  std::vector<Added> added;       // ideals that this walker reached first
  std::vector<Arrival> arrivals;  // at the next barrier
  std::uint64_t pairs = 0;        // of the last level

  // The walk that comes next, or the part of it: what a part that is handed over needs to be found again.
  void begin(std::size_t walk, const WalkPart* part) {
    walk_ = walk;
    part_ = part;
    begun_ = steps_;
  }

  // Walks from `ideal` with every option up to the end of its segment and offers what the stages are worth.
  // False when it was cut short.
  bool walk(std::uint32_t ideal, const std::vector<Entry>& entries, const ChainSegment& segment,
            double cutoff, double forward_cutoff) {
    setCutoff(cutoff, forward_cutoff);
    std::copy_n(shared_.table.key(ideal), stage_.key.size(), stage_.key.begin());
    place(segment);
    for (std::uint32_t o = 0; o < search_.options_.size(); ++o) {
      if (part_ != nullptr && part_->option != o) continue;
      steps_from_.clear();
      for (const Entry& entry : entries) addStep({entry, o, {}});
      if (steps_from_.empty()) continue;
      chooseOption(o);
      if (!walkOption(false, 0)) return false;
    }
    return true;
  }

  // The same from barrier `x` before the segment for stages that have arrived there, all with one option.
  bool walkFrom(std::uint32_t x, std::span<const Arrival> from, const ChainSegment& segment, double cutoff,
                double forward_cutoff) {
    setCutoff(cutoff, forward_cutoff);
    search_.keyBefore(x, stage_.key);
    place(segment);
    steps_from_.clear();
    for (const Arrival& arrival : from) addStep(arrival);
    chooseOption(from.front().option);
    return walkOption(true, x);
  }

 private:
  static constexpr std::size_t kY = GrowingStage<Q>::kY;
  using Works = typename GrowingStage<Q>::Works;
  struct Frame {
    std::uint32_t at, end;
    bool given;  // another thread has taken the candidates behind `at`
  };
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
  ChainShared& shared_;
  GrowingStage<Q> stage_;
  const ChainSegment* segment_ = nullptr;
  std::vector<std::uint32_t> is_forced_;  // by item
  std::vector<std::uint32_t> forced_;     // items that start the stage
  std::vector<Frame> stack_;
  std::vector<Sums> sums_;
  std::vector<std::uint64_t> lost_;  // [depth * words]: items that the stage can no longer hold
  std::vector<Works> lost_work_;     // by depth
  std::size_t walk_ = 0;
  const WalkPart* part_ = nullptr;
  const StageOption* option_ = nullptr;
  std::vector<Step> steps_from_;
  std::vector<Target> targets_;
  Sums least_;  // of each sum the least over all steps
  std::array<double, Q> cutoff_{};
  double busy_limit_ = 0;  // most time that a device may be busy
  Works room_{}, allowed_loss_{};
  bool loss_counts_ = true;
  static constexpr std::uint64_t kLongWalk = 256;  // steps after which it pays to share a walk
  std::uint64_t steps_ = 0, begun_ = 0;

  bool goOn() {
    if (shared_.stop.load(std::memory_order_relaxed) || shared_.full.load(std::memory_order_relaxed))
      return false;
    if (shared_.stopped() || shared_.pairs.fetch_add(4096) > shared_.max_pairs) {
      shared_.stop = true;
      return false;
    }
    shared_.crew.startWhenLate();
    return true;
  }

  void setCutoff(double cutoff, double forward_cutoff) {
    cutoff_[Q - 1] = cutoff;
    if constexpr (Q == 2) cutoff_[0] = forward_cutoff;
    busy_limit_ = cutoff + (Q == 2 ? forward_cutoff : 0);
  }

  void place(const ChainSegment& segment) {
    segment_ = &segment;
    stage_.barrier = segment.barrier;
    stage_.place(segment);
  }

  void addStep(const Arrival& from) {
    const std::int32_t next = search_.next_state_[from.option * search_.states_ + from.from.state];
    if (next >= 0) steps_from_.push_back({from, static_cast<std::uint32_t>(next), 0});
  }

  // Makes the stages of one option. `arrived`: they start with x, what comes before it being in the steps.
  bool walkOption(bool arrived, std::uint32_t x) {
    sortSteps();
    measureRoom();
    if (stage_.barrier != kNoBarrier) {
      if (part_ == nullptr) arrive();
      // No stage of use ends before the barrier.
      if (isNeeded(stage_.barrier)) return true;
    }
    stage_.restart();
    sums_[0] = {};
    forced_.clear();
    if (arrived) force(x, NetSide::kAhead);
    bool whole = true;
    if (enterForced()) {
      if (!forced_.empty() && part_ == nullptr) {
        ++pairs;
        whole = offer(sums_[0], forced_.size());
      }
      if (whole && (forced_.empty() || alive(sums_[0]))) whole = walkCandidates();
    }
    for (const std::uint32_t v : forced_) {
      is_forced_[v] = 0;
      stage_.forget(v);
    }
    if (!whole) stage_.reset();
    return whole;
  }

  bool walkCandidates() {
    std::size_t depth = 0;
    std::uint32_t at = 0;
    stack_.clear();
    std::fill_n(lost_.begin(), search_.need_words_, 0);
    lost_work_[0].fill(0);
    // Whatever needs the barrier stays behind it.
    if (stage_.barrier != kNoBarrier) lose(stage_.barrier, 0);
    if (part_ != nullptr) {
      for (const std::uint32_t chosen : part_->path) {
        for (; at < chosen; ++at) lose(stage_.candidates[at], depth);
        stack_.push_back({at, static_cast<std::uint32_t>(stage_.candidates.size()), true});
        stage_.enter(stage_.candidates[at], sums_[depth], sums_[depth + 1], NetSide::kBoth);
        inheritLoss(++depth);
        ++at;
      }
      for (; at < part_->first; ++at) lose(stage_.candidates[at], depth);
    }
    for (;;) {
      if (at < stage_.candidates.size() && lossFits(depth)) {
        if (isTooMuch(stage_.candidates[at], sums_[depth])) {
          lose(stage_.candidates[at++], depth);
          continue;
        }
        stack_.push_back({at, static_cast<std::uint32_t>(stage_.candidates.size()), false});
        stage_.enter(stage_.candidates[at], sums_[depth], sums_[depth + 1], NetSide::kBoth);
        ++depth;
        ++pairs;
        if ((++steps_ & 63) == 0) {
          if ((steps_ & 4095) == 0 && !goOn()) return false;
          if (steps_ - begun_ >= kLongWalk && shared_.crew.hungry()) handOver();
        }
        if (!offer(sums_[depth], forced_.size() + depth)) return false;
        if (alive(sums_[depth])) {
          inheritLoss(depth);
          ++at;
          continue;
        }
      } else if (depth == 0) {
        return true;
      }
      // Leave the item entered last and go on behind it.
      const Frame frame = stack_.back();
      stack_.pop_back();
      --depth;
      lose(stage_.candidates[frame.at], depth);
      stage_.leave(stage_.candidates[frame.at], frame.end);
      at = frame.given ? frame.end : frame.at + 1;
    }
  }

  // Gives what is left nearest to the root to another thread.
  void handOver() {
    const auto open = std::find_if(stack_.begin(), stack_.end(), [](const Frame& frame) {
      return !frame.given && frame.at + 1 < frame.end;
    });
    if (open == stack_.end()) return;
    open->given = true;
    WalkPart part{walk_, static_cast<std::uint32_t>(option_ - search_.options_.data()), {}, open->at + 1};
    for (auto frame = stack_.begin(); frame != open; ++frame) part.path.push_back(frame->at);
    shared_.crew.hand(std::move(part));
  }

  // Keeps the stage that holds all that is left before the barrier as an arrival for each step.
  void arrive() {
    Sums sums;
    if (!stage_.sumUpTo(*segment_, sums) || !alive(sums)) return;
    for (const Step& step : steps_from_) {
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
      if (fits && all.resident <= option_->memory) arrivals.push_back(arrival);
    }
  }

  void chooseOption(std::uint32_t option) {
    option_ = &search_.options_[option];
    stage_.choosePool(option_->pool);
  }

  // Steps to one state side by side, the lightest first.
  void sortSteps() {
    for (Step& step : steps_from_) {
      const Sums& sums = step.from.sums;
      step.least = sums.compute[Q - 1] + (search_.overlap_sum_ ? sums.transfer[Q - 1] : 0);
    }
    const auto lighter = [](const Step& a, const Step& b) {
      return a.next != b.next ? a.next < b.next : a.least < b.least;
    };
    // Arrivals come sorted but for max-parts.
    if (!std::is_sorted(steps_from_.begin(), steps_from_.end(), lighter))
      std::stable_sort(steps_from_.begin(), steps_from_.end(), lighter);
    targets_.clear();
    for (std::uint32_t i = 0; i < steps_from_.size(); ++i) {
      const std::uint32_t next = steps_from_[i].next;
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
    least_ = steps_from_.front().from.sums;
    for (const Step& step : steps_from_) {
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
        const double room = before - left - (search_.window_.weight(y, stage_.pool) * busy - sums.work[y]);
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

  void force(std::uint32_t v, NetSide side) {
    stage_.enter(v, sums_[0], sums_[1], side);
    std::erase(stage_.candidates, v);
    sums_[0] = sums_[1];
    forced_.push_back(v);
    is_forced_[v] = 1;
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

  // Items that are needed start the stage; what they need is needed too, and nothing behind the barrier is
  // needed more than the barrier. False when no stage with all of them is of use.
  bool enterForced() {
    if (!loss_counts_) return true;
    for (std::size_t i = segment_->first; i < search_.order_.size(); ++i) {
      const std::uint32_t x = search_.order_[i];
      if (x == stage_.barrier) break;
      if (stage_.member[x] || is_forced_[x] || !isNeeded(x)) continue;
      force(x, NetSide::kBoth);
      if (!alive(sums_[0])) return false;
    }
    return true;
  }

  // What has been left out of the stage is lost to it with all that needs it; the devices behind must do it.
  bool lossFits(std::size_t depth) const {
    if (!loss_counts_) return true;
    return fits(lost_work_[depth], allowed_loss_);
  }

  void inheritLoss(std::size_t depth) {
    if (!loss_counts_) return;
    const std::size_t words = search_.need_words_;
    std::copy_n(&lost_[(depth - 1) * words], words, &lost_[depth * words]);
    lost_work_[depth] = lost_work_[depth - 1];
  }

  void lose(std::uint32_t v, std::size_t depth) {
    if (!loss_counts_) return;
    const std::size_t words = search_.need_words_;
    std::uint64_t* lost = &lost_[depth * words];
    const std::uint64_t* needs = &search_.needs_[v * words];
    Works work = lost_work_[depth];
    for (std::size_t w = 0; w < words; ++w) {
      const double* group_work = &search_.group_work_[w * 16 * 16 * kY];
      for (std::uint64_t fresh = needs[w] & ~lost[w]; fresh != 0;) {
        const auto group = static_cast<std::size_t>(std::countr_zero(fresh)) / 4;
        const std::size_t set = fresh >> group * 4 & 15;
        for (std::size_t y = 0; y < kY; ++y) work[y] += group_work[(group * 16 + set) * kY + y];
        fresh &= ~(std::uint64_t{15} << group * 4);
      }
      lost[w] |= needs[w];
    }
    lost_work_[depth] = work;
  }

  double together(double compute, double transfer) const {
    return search_.overlap_sum_ ? compute + transfer : std::max(compute, transfer);
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
      if (search_.window_.weight(y, stage_.pool) * busy - sums.work[y] > room_[y]) return false;
    }
    return true;
  }

  // Whether with this item no stage is of use, by its time alone: seen before it enters.
  bool isTooMuch(std::uint32_t v, const Sums& sums) const {
    const double seconds = stage_.lastPart(v);
    return !(together(least_.compute[Q - 1] + sums.compute[Q - 1] + seconds,
                      least_.fixed[Q - 1] + sums.fixed[Q - 1]) < option_->replicas * cutoff_[Q - 1]);
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

  // Offers the stage to the states it leads to. False when the table is full.
  bool offer(const Sums& sums, std::size_t items) {
    const double r = option_->replicas;
    const double added_least = sums.compute[Q - 1] + (search_.overlap_sum_ ? sums.transfer[Q - 1] : 0);
    Works left;
    for (std::size_t y = 0; y < kY; ++y)
      left[y] = search_.window_.total(y) - stage_.placed_work[y] - sums.work[y];
    left[0] += stage_.placed_owed + sums.owed;
    if (!fits(left, allowed_loss_)) return true;
    bool looked_up = false;
    std::uint32_t ideal = 0;
    for (const Target& target : targets_) {
      if (!fits(left, target.room)) continue;
      double best = cutoff_[Q - 1];
      bool any = false;
      for (std::size_t j = target.begin; j < target.end; ++j) {
        if (steps_from_[j].least + added_least >= r * best) break;
        const double value = valueOf(steps_from_[j].from, sums);
        if (!(value < best)) continue;
        best = value;
        any = true;
      }
      if (!any) continue;
      if (!looked_up) {
        bool is_new = false;
        ideal = shared_.table.insert(stage_.key.data(), is_new);
        if (ideal == IdealTable::kFull) {
          shared_.full = true;
          return false;
        }
        if (is_new) added.push_back({ideal, stage_.placed + static_cast<std::uint32_t>(items)});
        looked_up = true;
      }
      shared_.table.lower(ideal, target.state, best);
    }
    return true;
  }
};

}  // namespace allot
