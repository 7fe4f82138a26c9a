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
#include <bit>
#include <span>
#include <vector>

#include "base/walk_crew.h"
#include "solve/throughput/chain_parts.h"
#include "solve/throughput/chain_rivals.h"
#include "solve/throughput/chain_search.h"
#include "solve/throughput/chain_worth.h"
#include "solve/throughput/growing_stage.h"

namespace allot {

// On cache lines of its own: each thread has one.
template <std::size_t Q>
class alignas(64) ChainWalker {
 public:
  using Entry = ChainEntry;
  using Sums = ChainSums<Q>;
  using Arrival = ChainArrival<Q>;
  struct Reached {
    std::uint32_t ideal, state, items;
  };

  ChainWalker(const ChainSearch& search, ChainShared& shared)
      : search_(search),
        shared_(shared),
        stage_(search),
        worth_(search, stage_),
        is_forced_(search.model_.itemCount()),
        sums_(search.model_.itemCount() + 1),
        lost_((search.model_.itemCount() + 1) * search.need_words_),
        lost_work_(search.model_.itemCount() + 1),
        missed_(search.model_.itemCount() + 1),
        rivals_(shared.rivals, search.model_.itemCount()) {}

  std::vector<Reached> reached;   // states of ideals that this walker reached first
  std::vector<Arrival> arrivals;  // at the next barrier
  std::uint64_t pairs = 0;        // since they were last counted

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
    worth_.setCutoff(cutoff, forward_cutoff);
    rivals_.begin(ideal, entries, cutoff);
    std::copy_n(shared_.table.key(ideal), stage_.key.size(), stage_.key.begin());
    place(segment);
    for (std::uint32_t o = 0; o < search_.options_.size(); ++o) {
      if (part_ != nullptr && part_->option != o) continue;
      worth_.chooseOption(o);
      for (const Entry& entry : entries) worth_.addStep({entry, o, {}});
      if (worth_.hasSteps() && !walkOption(false, 0)) return false;
    }
    return true;
  }

  // The same from barrier `x` before the segment for stages that have arrived there, all with one option.
  bool walkFrom(std::uint32_t x, std::span<const Arrival> from, const ChainSegment& segment, double cutoff,
                double forward_cutoff) {
    worth_.setCutoff(cutoff, forward_cutoff);
    rivals_.beginWithout();
    search_.keyBefore(x, stage_.key);
    place(segment);
    worth_.chooseOption(from.front().option);
    for (const Arrival& arrival : from) worth_.addStep(arrival);
    return walkOption(true, x);
  }

 private:
  static constexpr std::size_t kY = GrowingStage<Q>::kY;
  using Works = typename GrowingStage<Q>::Works;
  struct Frame {
    std::uint32_t at, end;
    bool given;  // another thread has taken the candidates behind `at`
  };
  const ChainSearch& search_;
  ChainShared& shared_;
  GrowingStage<Q> stage_;
  ChainWorth<Q> worth_;
  const ChainSegment* segment_ = nullptr;
  std::vector<std::uint32_t> is_forced_;  // by item
  std::vector<std::uint32_t> forced_;     // items that start the stage
  std::vector<Frame> stack_;
  std::vector<Sums> sums_;
  Sums grown_;                       // the stage with one more item
  std::vector<std::uint64_t> lost_;  // [depth * words]: items that the stage can no longer hold
  std::vector<Works> lost_work_;     // by depth
  // What is lost before the barrier: its time on the pool, and the least that an item of it that could have
  // entered may add to the load.
  struct Missed {
    double seconds = 0, least_added = std::numeric_limits<double>::infinity();
  };
  std::vector<Missed> missed_;  // by depth
  RivalCount rivals_;
  std::size_t walk_ = 0;
  const WalkPart* part_ = nullptr;
  static constexpr std::uint64_t kLongWalk = 64;  // steps after which it pays to share a walk
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

  void place(const ChainSegment& segment) {
    segment_ = &segment;
    stage_.barrier = segment.barrier;
    stage_.place(segment);
  }

  // Makes the stages of one option. `arrived`: they start with x, what comes before it being in the steps.
  bool walkOption(bool arrived, std::uint32_t x) {
    stage_.choosePool(worth_.pool());
    worth_.prepare(*segment_, shared_.any);
    if (stage_.barrier != kNoBarrier) {
      if (part_ == nullptr) arrive();
      // No stage of use ends before the barrier.
      if (worth_.isNeeded(stage_.barrier)) return true;
    }
    stage_.restart();
    rivals_.choose(search_.options_[worth_.option()]);
    sums_[0] = {};
    forced_.clear();
    if (arrived && worth_.bars(x)) return true;
    if (arrived) force(x, NetSide::kAhead);
    bool whole = true;
    if (enterForced()) {
      if (!forced_.empty() && part_ == nullptr) {
        ++pairs;
        whole = offer(sums_[0], forced_.size());
      }
      if (whole && (forced_.empty() || worth_.alive(sums_[0]))) whole = walkCandidates();
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
    missed_[0] = {};
    // Whatever needs the barrier stays behind it.
    if (stage_.barrier != kNoBarrier) {
      std::copy_n(&search_.needs_[stage_.barrier * search_.need_words_], search_.need_words_, lost_.begin());
      for (std::size_t y = 0; y < kY; ++y)
        lost_work_[0][y] = search_.window_.total(y) - search_.without_[stage_.barrier * kY + y];
    }
    if (part_ != nullptr) {
      for (const std::uint32_t chosen : part_->path) {
        for (; at < chosen; ++at) lose(stage_.candidates[at], depth);
        stack_.push_back({at, static_cast<std::uint32_t>(stage_.candidates.size()), true});
        stage_.enter(stage_.candidates[at], sums_[depth], sums_[depth + 1], NetSide::kBoth);
        rivals_.enter(stage_.candidates[at], depth, depth + 1);
        inheritLoss(++depth);
        ++at;
      }
      for (; at < part_->first; ++at) lose(stage_.candidates[at], depth);
    }
    for (;;) {
      if (at < stage_.candidates.size() && worth_.lossFits(lost_work_[depth]) &&
          worth_.canFill(missed_[depth].seconds, missed_[depth].least_added)) {
        if (worth_.isTooMuch(stage_.candidates[at], sums_[depth]) ||
            rivals_.meets(stage_.candidates[at], depth)) {
          lose(stage_.candidates[at++], depth);
          continue;
        }
        stack_.push_back({at, static_cast<std::uint32_t>(stage_.candidates.size()), false});
        stage_.enter(stage_.candidates[at], sums_[depth], sums_[depth + 1], NetSide::kBoth);
        rivals_.enter(stage_.candidates[at], depth, depth + 1);
        ++depth;
        ++pairs;
        if ((++steps_ & 15) == 0) {
          if ((steps_ & 4095) == 0 && !goOn()) return false;
          if (steps_ - begun_ >= kLongWalk && shared_.crew.hungry()) handOver();
        }
        if (!offer(sums_[depth], forced_.size() + depth)) return false;
        if (worth_.alive(sums_[depth])) {
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
    WalkPart part{walk_, worth_.option(), {}, open->at + 1};
    for (auto frame = stack_.begin(); frame != open; ++frame) part.path.push_back(frame->at);
    shared_.crew.hand(std::move(part));
  }

  // Keeps the stage that holds all that is left before the barrier as an arrival for each step.
  void arrive() {
    Sums sums;
    if (!stage_.sumUpTo(*segment_, worth_.otherPools(), sums) || !worth_.alive(sums)) return;
    worth_.extend(sums, [&](const Arrival& arrival) { arrivals.push_back(arrival); });
  }

  void force(std::uint32_t v, NetSide side) {
    stage_.enter(v, sums_[0], sums_[1], side);
    std::erase(stage_.candidates, v);
    sums_[0] = sums_[1];
    forced_.push_back(v);
    is_forced_[v] = 1;
  }

  // Items that are needed start the stage; what they need is needed too, and nothing behind the barrier is
  // needed more than the barrier. False when no stage with all of them is of use.
  bool enterForced() {
    if (!worth_.lossCounts()) return true;
    for (std::size_t i = segment_->first; i < search_.order_.size(); ++i) {
      const std::uint32_t x = search_.order_[i];
      if (x == stage_.barrier) break;
      if (stage_.member[x] || is_forced_[x] || !worth_.isNeeded(x)) continue;
      if (rivals_.meets(x, 0) || worth_.bars(x)) return false;
      force(x, NetSide::kBoth);
      rivals_.enter(x, 0, 0);
      if (!worth_.alive(sums_[0])) return false;
    }
    return true;
  }

  // What has been left out of the stage is lost to it with all that needs it; the devices behind must do it.
  void inheritLoss(std::size_t depth) {
    if (!lossMatters()) return;
    missed_[depth] = missed_[depth - 1];
    const std::size_t words = search_.need_words_, first = segment_->first_word;
    std::copy_n(&lost_[(depth - 1) * words + first], segment_->last_word - first + 1,
                &lost_[depth * words + first]);
    lost_work_[depth] = lost_work_[depth - 1];
  }

  bool lossMatters() const { return worth_.lossCounts() || worth_.fillCounts(); }

  void lose(std::uint32_t v, std::size_t depth) {
    if (!lossMatters()) return;
    Missed& missed = missed_[depth];
    if (search_.always_gift_[v] != 0)
      missed.least_added =
          std::min(missed.least_added, search_.most_added_[v * search_.model_.poolCount() + stage_.pool]);
    const double* seconds = &search_.group_seconds_[stage_.pool * search_.need_words_ * 16 * 16];
    const std::size_t words = search_.need_words_;
    std::uint64_t* lost = &lost_[depth * words];
    const std::uint64_t* needs = &search_.needs_[v * words];
    Works work = lost_work_[depth];
    for (std::size_t w = segment_->first_word; w <= segment_->last_word; ++w) {
      const double* group_work = &search_.group_work_[w * 16 * 16 * kY];
      for (std::uint64_t fresh = needs[w] & ~lost[w]; fresh != 0;) {
        const auto group = static_cast<std::size_t>(std::countr_zero(fresh)) / 4;
        const std::size_t set = fresh >> group * 4 & 15;
        for (std::size_t y = 0; y < kY; ++y) work[y] += group_work[(group * 16 + set) * kY + y];
        missed.seconds += seconds[(w * 16 + group) * 16 + set];
        fresh &= ~(std::uint64_t{15} << group * 4);
      }
      lost[w] |= needs[w];
    }
    lost_work_[depth] = work;
  }

  // Whether the stage still fits with one more item that no stage before it would miss. Then whatever goes
  // before this stage also goes before the larger one, which leads to the same state.
  bool canGrow(const Sums& sums, const Arrival& lightest) {
    const auto count = static_cast<std::uint32_t>(stage_.candidates.size());
    for (std::uint32_t i = 0; i < count; ++i) {
      const std::uint32_t v = stage_.candidates[i];
      if (stage_.holds(v) || worth_.isTooMuch(v, sums) || !stage_.isGift(v)) continue;
      if (worth_.surelyFitsBehind(lightest, sums, v)) return true;
      stage_.enter(v, sums, grown_, NetSide::kBoth);
      stage_.leave(v, count);
      if (worth_.fitsBehind(lightest, grown_)) return true;
    }
    return false;
  }

  // Offers the stage to the states it leads to. False when the table is full.
  bool offer(const Sums& sums, std::size_t items) {
    bool looked_up = false;
    std::uint32_t ideal = 0;
    // Most states differ in nothing that decides whether the stage can grow.
    const Arrival* asked = nullptr;
    bool can_grow = false;
    return worth_.offerTo(sums, [&](std::uint32_t state, double value, const Arrival& lightest) {
      if (shared_.any) {
        if (asked == nullptr || !worth_.fitAlike(*asked, lightest)) can_grow = canGrow(sums, lightest);
        asked = &lightest;
        if (can_grow) return true;
      }
      if (!looked_up) {
        bool is_new = false;
        ideal = shared_.table.insert(stage_.key.data(), is_new);
        if (ideal == IdealTable::kFull) {
          shared_.full = true;
          return false;
        }
        looked_up = true;
      }
      if (shared_.table.lower(ideal, state, value))
        reached.push_back({ideal, state, stage_.placed + static_cast<std::uint32_t>(items)});
      return true;
    });
  }
};

}  // namespace allot
