// One thread's walk through the ideals above a state: the inner loop of ChainSearch.
//
// P = number of pools, padded; Q = 1, or 2 where forward and rest are valued apart (max-parts). Padding pools
// have infinite times, so they are never alive.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <limits>
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

template <std::size_t P, std::size_t Q>
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

  ChainWalker(const ChainSearch& search, ChainShared& shared) : search_(search), shared_(shared) {
    const PipelineModel& model = search.model_;
    const std::size_t n = model.itemCount(), pools = model.poolCount();
    item_.resize(n);
    net_.resize(model.netCount());
    for (std::size_t v = 0; v < n; ++v) {
      for (std::size_t k = 0; k < P; ++k) {
        const double all = k < pools ? model.time(v, k) : kCannotRun;
        const double rest = k < pools ? model.rest_seconds[v * pools + k] : 0;
        item_[v].seconds[Q - 1][k] = Q == 2 && all < kCannotRun ? rest : all;
        if constexpr (Q == 2) item_[v].seconds[0][k] = all < kCannotRun ? all - rest : kCannotRun;
      }
      for (std::size_t y = 0; y < search.window_.size(); ++y) item_[v].work[y] = search.window_.work(v, y);
    }
    for (std::size_t e = 0; e < net_.size(); ++e) {
      Net& net = net_[e];
      net.ends = static_cast<std::uint32_t>(model.net_items[e].size());
      net.producer = model.net_producer[e];
      net.part = Q == 2 ? model.net_rest[e] : 0;
      for (std::size_t k = 0; k < P; ++k) {
        net.receive[k] = k < pools ? model.cost(e, k, false) : 0;
        net.send[k] = k < pools ? model.cost(e, k, true) : 0;
      }
    }
    missing_.resize(n);
    member_.resize(n);
    stash_held_.resize(model.stash_bytes.size());
    sums_.resize(n + 1);
    key_.resize(search.packing_.words);
  }

  std::vector<Added> added;  // ideals that this walker reached first
  std::uint64_t pairs = 0;   // of the last level

  // Walks through all ideals above `ideal` and offers what they are worth. False when it was cut short.
  bool walk(std::uint32_t ideal, const std::vector<Entry>& entries, double cutoff, double forward_cutoff) {
    cutoff_[Q - 1] = cutoff;
    if constexpr (Q == 2) cutoff_[0] = forward_cutoff;
    entries_ = &entries;
    place(ideal);
    measureRoom();
    std::size_t depth = 0;
    stack_.clear();
    std::uint32_t at = 0;
    const std::size_t forced = enterForced();
    if (forced > 0) {
      ++pairs;
      if (!offer(sums_[0], forced)) return false;
      if (!alive(sums_[0])) return true;
    }
    for (;;) {
      if (at < candidates_.size()) {
        const std::uint32_t v = candidates_[at];
        stack_.push_back({at, static_cast<std::uint32_t>(candidates_.size())});
        enter(v, sums_[depth], sums_[depth + 1]);
        ++depth;
        ++pairs;
        if ((++steps_ & 4095) == 0 && !goOn()) return false;
        if (!offer(sums_[depth], forced + depth)) return false;
        if (alive(sums_[depth])) {
          ++at;
          continue;
        }
      } else if (depth == 0) {
        return true;
      }
      // Leave the item entered last and go on behind it.
      const Frame frame = stack_.back();
      stack_.pop_back();
      leave(candidates_[frame.at], frame.end);
      --depth;
      at = frame.at + 1;
    }
  }

 private:
  static constexpr std::size_t kY = CapacityWindow::kMost;
  struct Item {
    double seconds[Q][P];
    double work[kY] = {};
  };
  struct Net {
    std::uint32_t ends = 0, producer = 0, part = 0;
    std::uint32_t inside = 0;  // ends in the stage
    std::uint32_t later = 0;   // ends in later stages
    double send[P], receive[P];
  };
  struct Sums {
    double compute[Q][P] = {};
    double transfer[Q][P] = {};
    double fixed[Q][P] = {};  // the part of `transfer` that no further item takes back
    double work[kY] = {};
    double resident = 0, weights = 0, stash = 0;
    bool trains = false;
  };
  struct Frame {
    std::uint32_t at, end;
  };

  const ChainSearch& search_;
  ChainShared& shared_;
  std::vector<Item> item_;
  std::vector<Net> net_;
  std::vector<std::uint32_t> missing_, member_, stash_held_;
  std::vector<std::uint32_t> candidates_;
  std::vector<Frame> stack_;
  std::vector<Sums> sums_;
  std::vector<std::uint64_t> key_;
  const std::vector<Entry>* entries_ = nullptr;
  std::array<double, Q> cutoff_{};
  std::array<double, kY> placed_work_{}, room_{};
  double window_load_ = 0;  // most time that a device may be busy
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

  // Sets everything up for the ideal of later stages.
  void place(std::uint32_t ideal) {
    const PipelineModel& model = search_.model_;
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
        for (const std::uint32_t e : model.item_nets[v]) ++net_[e].later;
        for (std::size_t y = 0; y < kY; ++y) placed_work_[y] += item_[v].work[y];
      }
    }
    candidates_.clear();
    for (std::uint32_t v = 0; v < missing_.size(); ++v) {
      missing_[v] = 0;
      for (const std::uint32_t u : model.after[v]) missing_[v] += 1 - member_[u];
      if (missing_[v] == 0 && !member_[v]) candidates_.push_back(v);
    }
    sums_[0] = {};
  }

  // How much work less than the best use the devices of some entry may still do.
  void measureRoom() {
    window_load_ = cutoff_[Q - 1];
    if constexpr (Q == 2) window_load_ += cutoff_[0];
    for (std::size_t y = 0; y < search_.window_.size(); ++y) {
      double most = -1;
      for (const Entry& entry : *entries_)
        most = std::max(most, search_.capacity_[entry.state * kY + y] * window_load_);
      room_[y] = most - (search_.window_.total(y) - placed_work_[y]) + search_.slack_[y];
    }
  }

  // Items without which the stage would leave more work than the devices left can do: a stage without x holds
  // nothing that needs x. What such an item needs is forced too, so together they start the stage.
  std::size_t enterForced() {
    std::array<double, kY> least{};
    for (std::size_t y = 0; y < search_.window_.size(); ++y) {
      double capacity = 0;
      for (const Entry& entry : *entries_) capacity = std::max(capacity, search_.next_capacity_[entry.state * kY + y]);
      least[y] = search_.window_.total(y) - window_load_ * capacity - search_.slack_[y];
    }
    std::size_t forced = 0;
    for (const std::uint32_t x : search_.order_) {
      if (member_[x]) continue;
      bool needed = false;
      for (std::size_t y = 0; y < search_.window_.size(); ++y)
        needed = needed || search_.without_[x * kY + y] < least[y];
      if (!needed) continue;
      std::erase(candidates_, x);
      enter(x, sums_[0], sums_[1]);
      sums_[0] = sums_[1];
      ++forced;
    }
    return forced;
  }

  void enter(std::uint32_t v, const Sums& from, Sums& to) {
    const PipelineModel& model = search_.model_;
    const Item& item = item_[v];
    to = from;
    for (std::size_t q = 0; q < Q; ++q) {
      for (std::size_t k = 0; k < P; ++k) to.compute[q][k] += item.seconds[q][k];
    }
    for (std::size_t y = 0; y < kY; ++y) to.work[y] += item.work[y];
    to.resident += model.resident[v];
    to.weights += model.weights[v];
    to.trains = to.trains || model.trains[v] != 0;
    for (const std::uint32_t e : model.item_nets[v]) {
      Net& net = net_[e];
      const bool sends = net.producer == v;
      double* transfer = to.transfer[net.part];
      if (net.inside == 0) {
        const double* cost = sends ? net.send : net.receive;
        for (std::size_t k = 0; k < P; ++k) transfer[k] += cost[k];
        if (net.later > 0) {
          for (std::size_t k = 0; k < P; ++k) to.fixed[net.part][k] += std::min(net.send[k], net.receive[k]);
        }
      } else if (sends) {
        for (std::size_t k = 0; k < P; ++k) transfer[k] += net.send[k] - net.receive[k];
      }
      if (++net.inside == net.ends) {
        for (std::size_t k = 0; k < P; ++k) transfer[k] -= net.send[k];
      }
    }
    for (const std::uint32_t t : model.item_stashes[v]) {
      if (stash_held_[t]++ == 0) to.stash += model.stash_bytes[t];
    }
    for (const std::uint32_t u : model.before[v]) {
      if (--missing_[u] == 0) candidates_.push_back(u);
    }
    const IdealPacking::Place& place = search_.packing_.places[v];
    key_[place.word] += std::uint64_t{1} << place.shift;
  }

  void leave(std::uint32_t v, std::uint32_t candidates) {
    const PipelineModel& model = search_.model_;
    candidates_.resize(candidates);
    for (const std::uint32_t u : model.before[v]) ++missing_[u];
    for (const std::uint32_t e : model.item_nets[v]) --net_[e].inside;
    for (const std::uint32_t t : model.item_stashes[v]) --stash_held_[t];
    const IdealPacking::Place& place = search_.packing_.places[v];
    key_[place.word] -= std::uint64_t{1} << place.shift;
  }

  double together(double compute, double transfer) const {
    return search_.overlap_sum_ ? compute + transfer : std::max(compute, transfer);
  }

  // Whether some larger stage may still be of use on some pool.
  bool alive(const Sums& sums) const {
    const double replicas = search_.most_replicas_;
    for (std::size_t k = 0; k < P; ++k) {
      bool fits = sums.resident <= search_.most_memory_[k];
      double busy = 0;
      for (std::size_t q = 0; q < Q; ++q) {
        const double least = together(sums.compute[q][k], sums.fixed[q][k]);
        fits = fits && least < replicas * cutoff_[q];
        busy += search_.overlap_sum_ ? least : sums.compute[q][k];
      }
      for (std::size_t y = 0; fits && y < search_.window_.size(); ++y)
        fits = search_.pool_weight_[y][k] * busy - sums.work[y] <= room_[y];
      if (fits) return true;
    }
    return false;
  }

  // Offers the stage to the states it leads to. False when the table is full.
  bool offer(const Sums& sums, std::size_t items) {
    bool looked_up = false;
    std::uint32_t target = 0;
    for (std::size_t o = 0; o < search_.options_.size(); ++o) {
      const StageOption& option = search_.options_[o];
      if (sums.resident > option.memory) continue;
      const double r = option.replicas;
      const double sync = option.replicas > 1 && sums.trains ? option.sync(sums.weights) : 0;
      const std::size_t k = option.pool;
      const double load = together(sums.compute[Q - 1][k], sums.transfer[Q - 1][k]) / r + sync;
      if (!(load < cutoff_[Q - 1])) continue;
      if constexpr (Q == 2) {
        if (!(together(sums.compute[0][k], sums.transfer[0][k]) / r < cutoff_[0])) continue;
      }
      for (const Entry& entry : *entries_) {
        const std::int32_t next = search_.next_state_[o * search_.states_ + entry.state];
        if (next < 0) continue;
        if (sums.stash > 0) {
          const double samples = std::ceil((search_.stagesOf(entry.state) + 1) / r);
          if (sums.resident + samples * sums.stash > option.memory) continue;
        }
        const double* capacity = &search_.capacity_[static_cast<std::size_t>(next) * kY];
        bool fits = true;
        for (std::size_t y = 0; y < search_.window_.size(); ++y) {
          const double left = search_.window_.total(y) - placed_work_[y] - sums.work[y];
          fits = fits && left <= window_load_ * capacity[y] + search_.slack_[y];
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
        shared_.table.lower(target, static_cast<std::size_t>(next), std::max(entry.value, load));
      }
    }
    return true;
  }
};

}  // namespace allot
