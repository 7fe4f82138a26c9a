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

namespace allot {

template <std::size_t Q>
class ChainWalker {
 public:
  using Entry = ChainEntry;
  using Sums = ChainSums<Q>;
  using Arrival = ChainArrival<Q>;
  struct Added {
    std::uint32_t ideal, items;
  };

  ChainWalker(const ChainSearch& search, ChainShared& shared)
      : search_(search),
        model_(search.model_),
        shared_(shared),
        net_(search.model_.netCount()),
        missing_(search.model_.itemCount()),
        left_(search.model_.itemCount()),
        member_(search.model_.itemCount()),
        is_forced_(search.model_.itemCount()),
        stash_held_(search.model_.stash_bytes.size()),
        sums_(search.model_.itemCount() + 1),
        key_(search.packing_.words),
        lost_((search.model_.itemCount() + 1) * search.need_words_),
        lost_work_(search.model_.itemCount() + 1) {
    for (std::size_t e = 0; e < net_.size(); ++e) {
      net_[e].ends = static_cast<std::uint32_t>(model_.net_items[e].size());
      net_[e].producer = model_.net_producer[e];
      net_[e].part = Q == 2 ? model_.net_rest[e] : 0;
    }
  }

  std::vector<Added> added;       // ideals that this walker reached first
  std::vector<Arrival> arrivals;  // at the next barrier
  std::uint64_t pairs = 0;        // of the last level

  // The walk that comes next, or the part of it: what a part that is handed over needs to be found again.
  void begin(std::size_t walk, const WalkPart* part) {
    walk_ = walk;
    part_ = part;
  }

  // Walks from `ideal` with every option up to the barrier `next` (an item, or kNoBarrier) and offers what
  // the stages are worth. False when it was cut short.
  bool walk(std::uint32_t ideal, const std::vector<Entry>& entries, std::uint32_t next, double cutoff,
            double forward_cutoff) {
    setCutoff(cutoff, forward_cutoff);
    std::copy_n(shared_.table.key(ideal), key_.size(), key_.begin());
    barrier_ = next;
    place();
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

  // The same from barrier `x` for stages that have arrived there, all with the same option.
  bool walkFrom(std::uint32_t x, std::span<const Arrival> from, std::uint32_t next, double cutoff,
                double forward_cutoff) {
    setCutoff(cutoff, forward_cutoff);
    search_.keyBefore(x, key_);
    barrier_ = next;
    place();
    steps_from_.clear();
    for (const Arrival& arrival : from) addStep(arrival);
    chooseOption(from.front().option);
    return walkOption(true, x);
  }

 private:
  static constexpr std::size_t kY = CapacityWindow::kMost;
  using Works = std::array<double, kY>;
  struct Net {
    std::uint32_t ends = 0, producer = 0, part = 0;
    std::uint32_t inside = 0;  // ends in the stage
    std::uint32_t later = 0;   // ends in later stages
    double send = 0, receive = 0;
  };
  struct Frame {
    std::uint32_t at, end;
    bool given;  // another thread has taken the candidates behind `at`
  };
  struct Step {
    Arrival from;
    std::uint32_t next;     // state
    std::uint32_t end = 0;  // of the steps to the same state, by rising `least`
    double least = 0;       // what the arrival adds to the load at least, replicas aside
  };

  const ChainSearch& search_;
  const PipelineModel& model_;
  ChainShared& shared_;
  std::vector<Net> net_;
  std::vector<std::uint32_t> missing_, left_, member_, is_forced_, stash_held_;
  std::vector<std::uint32_t> candidates_, first_candidates_, forced_;
  std::vector<Frame> stack_;
  std::vector<Sums> sums_;
  std::vector<std::uint64_t> key_;
  std::vector<std::uint64_t> lost_;  // [depth * words]: items that the stage can no longer hold
  std::vector<Works> lost_work_;     // by depth
  std::size_t walk_ = 0;
  const WalkPart* part_ = nullptr;
  const StageOption* option_ = nullptr;
  std::size_t pool_ = UINT32_MAX;
  std::vector<Step> steps_from_;
  Sums least_;  // of each sum the least over all steps
  std::uint32_t barrier_ = kNoBarrier;
  std::array<double, Q> cutoff_{};
  double busy_limit_ = 0;  // most time that a device may be busy
  Works placed_work_{}, room_{}, allowed_loss_{};
  bool loss_counts_ = true;
  std::uint32_t placed_ = 0;
  std::uint64_t steps_ = 0;

  bool goOn() {
    if (shared_.stop.load(std::memory_order_relaxed) || shared_.full.load(std::memory_order_relaxed))
      return false;
    if (shared_.budget.stopped() || shared_.pairs.fetch_add(4096) > shared_.max_pairs) {
      shared_.stop = true;
      return false;
    }
    return true;
  }

  void setCutoff(double cutoff, double forward_cutoff) {
    cutoff_[Q - 1] = cutoff;
    if constexpr (Q == 2) cutoff_[0] = forward_cutoff;
    busy_limit_ = cutoff + (Q == 2 ? forward_cutoff : 0);
  }

  void addStep(const Arrival& from) {
    const std::int32_t next = search_.next_state_[from.option * search_.states_ + from.from.state];
    if (next >= 0) steps_from_.push_back({from, static_cast<std::uint32_t>(next), 0, 0});
  }

  // Sets up what all options share: the ideal of later stages.
  void place() {
    const IdealPacking& packing = search_.packing_;
    std::fill(member_.begin(), member_.end(), 0);
    std::fill(is_forced_.begin(), is_forced_.end(), 0);
    for (Net& net : net_) net.inside = net.later = 0;
    std::fill(stash_held_.begin(), stash_held_.end(), 0);
    placed_work_.fill(0);
    placed_ = 0;
    for (std::size_t c = 0; c < packing.chains.size(); ++c) {
      const std::uint32_t held = packing.held(key_.data(), c);
      for (std::uint32_t i = 0; i < held; ++i) {
        const std::uint32_t v = packing.chains[c][i];
        member_[v] = 1;
        ++placed_;
        for (const std::uint32_t e : model_.item_nets[v]) ++net_[e].later;
        for (std::size_t y = 0; y < kY; ++y) placed_work_[y] += search_.window_.work(v, y);
      }
    }
    first_candidates_.clear();
    for (std::uint32_t v = 0; v < left_.size(); ++v) {
      left_[v] = 0;
      for (const std::uint32_t u : model_.after[v]) left_[v] += 1 - member_[u];
      if (left_[v] == 0 && !member_[v] && v != barrier_) first_candidates_.push_back(v);
    }
  }

  // Makes the stages of one option. `arrived`: they start with x, what comes before it being in the steps.
  bool walkOption(bool arrived, std::uint32_t x) {
    sortSteps();
    measureRoom();
    candidates_ = first_candidates_;
    missing_ = left_;
    sums_[0] = {};
    forced_.clear();
    const std::vector<std::uint64_t> start_key = key_;
    if (arrived) force(x, NetSide::kAhead);
    const bool stays = enterForced();
    bool whole = true;
    // Forced across the barrier: no stage of use ends before it.
    if (stays) {
      if (!forced_.empty() && part_ == nullptr) {
        ++pairs;
        whole = offer(sums_[0], forced_.size());
      }
      if (whole && (forced_.empty() || alive(sums_[0]))) whole = walkCandidates();
    }
    if (!whole) return false;
    if (barrier_ != kNoBarrier && part_ == nullptr) arrive();
    key_ = start_key;
    for (const std::uint32_t v : forced_) {
      is_forced_[v] = 0;
      for (const std::uint32_t e : model_.item_nets[v]) net_[e].inside = 0;
      for (const std::uint32_t t : model_.item_stashes[v]) stash_held_[t] = 0;
    }
    return true;
  }

  bool walkCandidates() {
    std::size_t depth = 0;
    std::uint32_t at = 0;
    stack_.clear();
    std::fill_n(lost_.begin(), search_.need_words_, 0);
    lost_work_[0].fill(0);
    // Whatever needs the barrier stays behind it.
    if (barrier_ != kNoBarrier) lose(barrier_, 0);
    if (part_ != nullptr) {
      for (const std::uint32_t chosen : part_->path) {
        for (; at < chosen; ++at) lose(candidates_[at], depth);
        stack_.push_back({at, static_cast<std::uint32_t>(candidates_.size()), true});
        enter(candidates_[at], sums_[depth], sums_[depth + 1], NetSide::kBoth);
        inheritLoss(++depth);
        ++at;
      }
      for (; at < part_->first; ++at) lose(candidates_[at], depth);
    }
    for (;;) {
      if (at < candidates_.size() && lossFits(depth)) {
        stack_.push_back({at, static_cast<std::uint32_t>(candidates_.size()), false});
        enter(candidates_[at], sums_[depth], sums_[depth + 1], NetSide::kBoth);
        ++depth;
        ++pairs;
        if ((++steps_ & 63) == 0) {
          if ((steps_ & 4095) == 0 && !goOn()) return false;
          if (shared_.crew.hungry()) handOver();
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
      lose(candidates_[frame.at], depth);
      leave(candidates_[frame.at], frame.end);
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

  // Enters all that is left before the barrier and keeps the stage as an arrival for each step.
  void arrive() {
    for (const std::uint32_t v : search_.order_) {
      if (v == barrier_) break;
      if (member_[v] || is_forced_[v]) continue;
      force(v, NetSide::kBoth);
      if (!alive(sums_[0])) return;
    }
    // Of the barrier's own nets only those towards the start of the walk are settled.
    Sums sums = sums_[0];
    enter(barrier_, sums_[0], sums_[1], NetSide::kBehind);
    for (std::size_t q = 0; q < Q; ++q) sums.transfer[q] = sums_[1].transfer[q];
    sums.stash = sums_[1].stash;
    forced_.push_back(barrier_);
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
    if (pool_ == option_->pool) return;
    pool_ = option_->pool;
    for (std::size_t e = 0; e < net_.size(); ++e) {
      net_[e].send = model_.cost(e, pool_, true);
      net_[e].receive = model_.cost(e, pool_, false);
    }
  }

  // Steps to one state side by side, the lightest first.
  void sortSteps() {
    for (Step& step : steps_from_) {
      const Sums& sums = step.from.sums;
      step.least = sums.compute[Q - 1] + (search_.overlap_sum_ ? sums.transfer[Q - 1] : 0);
    }
    std::stable_sort(steps_from_.begin(), steps_from_.end(), [](const Step& a, const Step& b) {
      return a.next != b.next ? a.next < b.next : a.least < b.least;
    });
    auto end = static_cast<std::uint32_t>(steps_from_.size());
    for (std::size_t i = steps_from_.size(); i-- > 0;) {
      steps_from_[i].end = end;
      if (i > 0 && steps_from_[i - 1].next != steps_from_[i].next) end = static_cast<std::uint32_t>(i);
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
        const double behind = busy_limit_ * search_.capacity_[step.next * kY + y];
        // Work that was left when the stage began: that of the arrival is among what is placed by now.
        const double left = search_.window_.total(y) - placed_work_[y] + sums.work[y];
        // Device time that may be spent beyond what the items would need at the best use of the devices.
        const double room = before - left - (search_.window_.weight(y, pool_) * busy - sums.work[y]);
        room_[y] = std::max(room_[y], room + search_.slack_[y]);
        allowed_loss_[y] = std::max(allowed_loss_[y], behind + search_.slack_[y]);
      }
    }
    // Where the devices behind could do all that is left, nothing that is left out is too much.
    loss_counts_ = false;
    for (std::size_t y = 0; y < search_.window_.size(); ++y)
      loss_counts_ = loss_counts_ || search_.window_.total(y) - placed_work_[y] > allowed_loss_[y];
  }

  void force(std::uint32_t v, NetSide side) {
    enter(v, sums_[0], sums_[1], side);
    std::erase(candidates_, v);
    sums_[0] = sums_[1];
    forced_.push_back(v);
    is_forced_[v] = 1;
  }

  // Items without which the stage would leave more work than the devices left can do: a stage without x holds
  // nothing that needs x. What such an item needs is forced too, so together they start the stage. False when
  // the barrier is among them.
  bool enterForced() {
    for (const std::uint32_t x : search_.order_) {
      if (member_[x] || is_forced_[x]) continue;
      bool needed = false;
      for (std::size_t y = 0; y < search_.window_.size(); ++y)
        needed = needed || search_.without_[x * kY + y] < search_.window_.total(y) - allowed_loss_[y];
      if (!needed) continue;
      if (x == barrier_) return false;
      force(x, NetSide::kBoth);
    }
    return true;
  }

  // What has been left out of the stage is lost to it with all that needs it; the devices behind must do it.
  bool lossFits(std::size_t depth) const {
    if (!loss_counts_) return true;
    for (std::size_t y = 0; y < search_.window_.size(); ++y) {
      if (lost_work_[depth][y] > allowed_loss_[y]) return false;
    }
    return true;
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
    for (std::size_t w = 0; w < words; ++w) {
      for (std::uint64_t fresh = needs[w] & ~lost[w]; fresh != 0; fresh &= fresh - 1) {
        const std::size_t u = w * 64 + static_cast<std::size_t>(std::countr_zero(fresh));
        for (std::size_t y = 0; y < kY; ++y) lost_work_[depth][y] += search_.window_.work(u, y);
      }
      lost[w] |= needs[w];
    }
  }

  // `side`: which nets of the item count; all but those of a barrier always do.
  void enter(std::uint32_t v, const Sums& from, Sums& to, NetSide side) {
    to = from;
    const std::size_t at = v * model_.poolCount() + pool_;
    if constexpr (Q == 2) {
      to.compute[0] += model_.seconds[at] - model_.rest_seconds[at];
      to.compute[1] += model_.seconds[at] < kCannotRun ? model_.rest_seconds[at] : kCannotRun;
    } else {
      to.compute[0] += model_.seconds[at];
    }
    for (std::size_t y = 0; y < kY; ++y) to.work[y] += search_.window_.work(v, y);
    to.resident += model_.resident[v];
    to.weights += model_.weights[v];
    to.trains = to.trains || model_.trains[v] != 0;
    for (const std::uint32_t e : model_.item_nets[v]) {
      Net& net = net_[e];
      if (side != NetSide::kBoth && search_.isBehind(e, v) != (side == NetSide::kBehind)) continue;
      const bool sends = net.producer == v;
      double& transfer = to.transfer[net.part];
      if (net.inside == 0) {
        transfer += sends ? net.send : net.receive;
        if (net.later > 0) to.fixed[net.part] += std::min(net.send, net.receive);
      } else if (sends) {
        transfer += net.send - net.receive;
      }
      if (++net.inside == net.ends) transfer -= net.send;
    }
    for (const std::uint32_t t : model_.item_stashes[v]) {
      if (side != NetSide::kBoth && search_.isStashBehind(t, v) != (side == NetSide::kBehind)) continue;
      if (stash_held_[t]++ == 0) to.stash += model_.stash_bytes[t];
    }
    for (const std::uint32_t u : model_.before[v]) {
      if (--missing_[u] == 0 && u != barrier_) candidates_.push_back(u);
    }
    const IdealPacking::Place& place = search_.packing_.places[v];
    key_[place.word] += std::uint64_t{1} << place.shift;
  }

  void leave(std::uint32_t v, std::uint32_t candidates) {
    candidates_.resize(candidates);
    for (const std::uint32_t u : model_.before[v]) ++missing_[u];
    for (const std::uint32_t e : model_.item_nets[v]) --net_[e].inside;
    for (const std::uint32_t t : model_.item_stashes[v]) --stash_held_[t];
    const IdealPacking::Place& place = search_.packing_.places[v];
    key_[place.word] -= std::uint64_t{1} << place.shift;
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
      if (search_.window_.weight(y, pool_) * busy - sums.work[y] > room_[y]) return false;
    }
    return true;
  }

  double load(const Sums& a, const Sums& b, std::size_t q) const {
    return together(a.compute[q] + b.compute[q], a.transfer[q] + b.transfer[q]) / option_->replicas;
  }

  bool workLeftFits(const Sums& sums, std::uint32_t next) const {
    for (std::size_t y = 0; y < search_.window_.size(); ++y) {
      const double left = search_.window_.total(y) - placed_work_[y] - sums.work[y];
      if (left > busy_limit_ * search_.capacity_[next * kY + y] + search_.slack_[y]) return false;
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
    bool looked_up = false;
    std::uint32_t target = 0;
    for (std::size_t i = 0; i < steps_from_.size(); i = steps_from_[i].end) {
      const std::uint32_t next = steps_from_[i].next;
      if (!workLeftFits(sums, next)) continue;
      double best = cutoff_[Q - 1];
      bool any = false;
      for (std::size_t j = i; j < steps_from_[i].end; ++j) {
        if (steps_from_[j].least + added_least >= r * best) break;
        const double value = valueOf(steps_from_[j].from, sums);
        if (!(value < best)) continue;
        best = value;
        any = true;
      }
      if (!any) continue;
      if (!looked_up) {
        bool is_new = false;
        target = shared_.table.insert(key_.data(), is_new);
        if (target == IdealTable::kFull) {
          shared_.full = true;
          return false;
        }
        if (is_new) added.push_back({target, placed_ + static_cast<std::uint32_t>(items)});
        looked_up = true;
      }
      shared_.table.lower(target, next, best);
    }
    return true;
  }
};

}  // namespace allot
