// One thread's walk through the ideals above a state: the inner loop of ChainSearch.
//
// A walk is for one stage option, so that it knows how much work the stage must and may hold: options differ
// widely (a slow core takes little, an accelerator must be nearly full).
// Q = 1, or 2 where forward and rest are valued apart (max-parts).
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <vector>

#include "solve/throughput/chain_search.h"

namespace allot {

// What all threads of a run share.
struct ChainShared {
  const Budget& budget;
  IdealTable& table;
  std::uint64_t max_pairs;
  std::atomic<bool> stop{false};  // out of time or pairs
  std::atomic<bool> full{false};  // the table must grow
  std::atomic<std::uint64_t> pairs{0};
};

template <std::size_t Q>
class ChainWalker {
 public:
  // A reached state of the ideal that a walk starts from.
  struct Entry {
    std::uint32_t state;
    double value;
  };
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

  std::vector<Added> added;  // ideals that this walker reached first
  std::uint64_t pairs = 0;   // of the last level

  // Walks from `ideal` with every option and offers what the stages are worth. False when it was cut short.
  bool walk(std::uint32_t ideal, const std::vector<Entry>& entries, double cutoff, double forward_cutoff) {
    cutoff_[Q - 1] = cutoff;
    if constexpr (Q == 2) cutoff_[0] = forward_cutoff;
    busy_limit_ = cutoff + (Q == 2 ? forward_cutoff : 0);
    place(ideal);
    for (std::size_t o = 0; o < search_.options_.size(); ++o) {
      entries_.clear();
      for (const Entry& entry : entries) {
        const std::int32_t next = search_.next_state_[o * search_.states_ + entry.state];
        if (next >= 0) entries_.push_back({entry, static_cast<std::uint32_t>(next)});
      }
      if (entries_.empty()) continue;
      option_ = &search_.options_[o];
      if (!walkOption()) return false;
    }
    return true;
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
  struct Sums {
    double compute[Q] = {};
    double transfer[Q] = {};
    double fixed[Q] = {};  // the part of `transfer` that no further item takes back
    Works work{};
    double resident = 0, weights = 0, stash = 0;
    bool trains = false;
  };
  struct Frame {
    std::uint32_t at, end;
  };
  struct Step {
    Entry from;
    std::uint32_t next;
  };

  const ChainSearch& search_;
  const PipelineModel& model_;
  ChainShared& shared_;
  std::vector<Net> net_;
  std::vector<std::uint32_t> missing_, left_, member_, stash_held_;
  std::vector<std::uint32_t> candidates_, first_candidates_, forced_;
  std::vector<Frame> stack_;
  std::vector<Sums> sums_;
  std::vector<std::uint64_t> key_;
  std::vector<std::uint64_t> lost_;  // [depth * words]: items that the stage can no longer hold
  std::vector<Works> lost_work_;     // by depth
  const StageOption* option_ = nullptr;
  std::size_t pool_ = UINT32_MAX;
  std::vector<Step> entries_;
  std::array<double, Q> cutoff_{};
  double busy_limit_ = 0;  // most time that a device may be busy
  Works placed_work_{}, room_{}, allowed_loss_{};
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

  // Sets up what all options share: the ideal of later stages.
  void place(std::uint32_t ideal) {
    const IdealPacking& packing = search_.packing_;
    std::copy_n(shared_.table.key(ideal), key_.size(), key_.begin());
    std::fill(member_.begin(), member_.end(), 0);
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
      if (left_[v] == 0 && !member_[v]) first_candidates_.push_back(v);
    }
  }

  bool walkOption() {
    startOption();
    const std::vector<std::uint64_t> start_key = key_;
    const std::size_t forced = enterForced();
    bool whole = true;
    if (forced > 0) {
      ++pairs;
      whole = offer(sums_[0], forced);
    }
    if (whole && (forced == 0 || alive(sums_[0]))) whole = walkFrom(forced);
    key_ = start_key;
    if (whole) {
      // The forced items are still inside.
      for (const std::uint32_t v : forced_) {
        for (const std::uint32_t e : model_.item_nets[v]) --net_[e].inside;
        for (const std::uint32_t t : model_.item_stashes[v]) --stash_held_[t];
      }
    }
    return whole;
  }

  bool walkFrom(std::size_t forced) {
    std::size_t depth = 0;
    std::uint32_t at = 0;
    stack_.clear();
    std::fill_n(lost_.begin(), search_.need_words_, 0);
    lost_work_[0].fill(0);
    for (;;) {
      if (at < candidates_.size() && lossFits(depth)) {
        stack_.push_back({at, static_cast<std::uint32_t>(candidates_.size())});
        enter(candidates_[at], sums_[depth], sums_[depth + 1]);
        ++depth;
        ++pairs;
        if ((++steps_ & 4095) == 0 && !goOn()) return false;
        if (!offer(sums_[depth], forced + depth)) return false;
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
      at = frame.at + 1;
    }
  }

  void startOption() {
    candidates_ = first_candidates_;
    missing_ = left_;
    sums_[0] = {};
    if (pool_ != option_->pool) {
      pool_ = option_->pool;
      for (std::size_t e = 0; e < net_.size(); ++e) {
        net_[e].send = model_.cost(e, pool_, true);
        net_[e].receive = model_.cost(e, pool_, false);
      }
    }
    for (std::size_t y = 0; y < search_.window_.size(); ++y) {
      double before = 0, behind = 0;
      for (const Step& step : entries_) {
        before = std::max(before, search_.capacity_[step.from.state * kY + y]);
        behind = std::max(behind, search_.capacity_[step.next * kY + y]);
      }
      const double left = search_.window_.total(y) - placed_work_[y];
      // How much device time may be spent beyond what the items would need at the best use of the devices.
      room_[y] = busy_limit_ * before - left + search_.slack_[y];
      allowed_loss_[y] = busy_limit_ * behind + search_.slack_[y];
    }
  }

  // Items without which the stage would leave more work than the devices left can do: a stage without x holds
  // nothing that needs x. What such an item needs is forced too, so together they start the stage.
  std::size_t enterForced() {
    forced_.clear();
    for (const std::uint32_t x : search_.order_) {
      if (member_[x]) continue;
      bool needed = false;
      for (std::size_t y = 0; y < search_.window_.size(); ++y)
        needed = needed || search_.without_[x * kY + y] < search_.window_.total(y) - allowed_loss_[y];
      if (!needed) continue;
      enter(x, sums_[0], sums_[1]);
      std::erase(candidates_, x);
      sums_[0] = sums_[1];
      forced_.push_back(x);
    }
    return forced_.size();
  }

  // What has been left out of the stage is lost to it with all that needs it; the devices behind must do it.
  bool lossFits(std::size_t depth) const {
    for (std::size_t y = 0; y < search_.window_.size(); ++y) {
      if (lost_work_[depth][y] > allowed_loss_[y]) return false;
    }
    return true;
  }

  void inheritLoss(std::size_t depth) {
    const std::size_t words = search_.need_words_;
    std::copy_n(&lost_[(depth - 1) * words], words, &lost_[depth * words]);
    lost_work_[depth] = lost_work_[depth - 1];
  }

  void lose(std::uint32_t v, std::size_t depth) {
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

  void enter(std::uint32_t v, const Sums& from, Sums& to) {
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
      if (stash_held_[t]++ == 0) to.stash += model_.stash_bytes[t];
    }
    for (const std::uint32_t u : model_.before[v]) {
      if (--missing_[u] == 0) candidates_.push_back(u);
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
    if (sums.resident > option_->memory) return false;
    double busy = 0;
    for (std::size_t q = 0; q < Q; ++q) {
      const double least = together(sums.compute[q], sums.fixed[q]);
      if (!(least < option_->replicas * cutoff_[q])) return false;
      busy += search_.overlap_sum_ ? least : sums.compute[q];
    }
    for (std::size_t y = 0; y < search_.window_.size(); ++y) {
      if (search_.window_.weight(y, pool_) * busy - sums.work[y] > room_[y]) return false;
    }
    return true;
  }

  // Offers the stage to the states it leads to. False when the table is full.
  bool offer(const Sums& sums, std::size_t items) {
    if (sums.resident > option_->memory) return true;
    const double r = option_->replicas;
    const double sync = option_->replicas > 1 && sums.trains ? option_->sync(sums.weights) : 0;
    const double load = together(sums.compute[Q - 1], sums.transfer[Q - 1]) / r + sync;
    if (!(load < cutoff_[Q - 1])) return true;
    if constexpr (Q == 2) {
      if (!(together(sums.compute[0], sums.transfer[0]) / r < cutoff_[0])) return true;
    }
    bool looked_up = false;
    std::uint32_t target = 0;
    for (const auto& [entry, next] : entries_) {
      if (sums.stash > 0) {
        const double samples = std::ceil((search_.stagesOf(entry.state) + 1) / r);
        if (sums.resident + samples * sums.stash > option_->memory) continue;
      }
      bool fits = true;
      for (std::size_t y = 0; y < search_.window_.size(); ++y) {
        const double left = search_.window_.total(y) - placed_work_[y] - sums.work[y];
        fits = fits && left <= busy_limit_ * search_.capacity_[next * kY + y] + search_.slack_[y];
      }
      if (!fits) continue;
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
      shared_.table.lower(target, next, std::max(entry.value, load));
    }
    return true;
  }
};

}  // namespace allot
