// The stage that a walk through ideals is making: its items, its sums, and what may come next.
//
// A stage grows towards the start of the graph: an item may enter once all its consumers are in the stage or
// in later ones. Entering and leaving cost the nets and predecessors of one item, and beginning anew behind
// another ideal costs those of the items in which the two differ. Q = 1, or 2 where forward and rest are
// valued apart (max-parts).
#pragma once

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "solve/throughput/chain_parts.h"
#include "solve/throughput/chain_search.h"

namespace allot {

template <std::size_t Q>
class GrowingStage {
 public:
  static constexpr std::size_t kY = CapacityWindow::kMost;
  using Sums = ChainSums<Q>;
  using Works = std::array<double, kY>;

  explicit GrowingStage(const ChainSearch& search)
      : key(search.packing_.words),
        member(search.model_.itemCount()),
        search_(search),
        model_(search.model_),
        nets_(search.model_.netCount()),
        missing_(search.model_.itemCount()),
        left_(search.model_.itemCount()),
        placed_of_chain_(search.packing_.chains.size()),
        stash_held_(search.model_.stash_bytes.size()),
        stash_later_(search.model_.stash_bytes.size()) {
    for (std::uint32_t v = 0; v < left_.size(); ++v)
      left_[v] = static_cast<std::uint32_t>(model_.after[v].size());
    for (std::size_t e = 0; e < nets_.size(); ++e) {
      nets_[e].ends = static_cast<std::uint32_t>(model_.net_items[e].size());
      nets_[e].producer = model_.net_producer[e];
      nets_[e].part = Q == 2 ? model_.net_rest[e] : 0;
      nets_[e].root = search.net_root_[e];
      nets_[e].owed = search.net_owed_[e];
    }
    for (std::size_t k = 0; k < model_.poolCount(); ++k) {
      for (std::size_t e = 0; e < nets_.size(); ++e)
        all_costs_.push_back({model_.cost(e, k, true), model_.cost(e, k, false)});
    }
  }

  std::vector<std::uint32_t> candidates;  // items that may enter next
  std::vector<std::uint64_t> key;         // the ideal of this stage and later ones
  std::vector<std::uint32_t> member;      // by item: in a later stage
  std::uint32_t barrier = kNoBarrier;     // never a candidate
  std::size_t pool = UINT32_MAX;
  Works placed_work{};     // of later stages
  double placed_owed = 0;  // by stages before them, for nets that end in them
  std::uint32_t placed = 0;

  // Begins anew behind the ideal of `key`, which ends in the segment, with nothing in the stage, whatever its
  // option. Sums are taken over all chains each time, so that they do not depend on the ideal before.
  void place(const ChainSegment& segment) {
    const IdealPacking& packing = search_.packing_;
    placed_work.fill(0);
    first_candidates_.clear();
    for (std::size_t c = 0; c < packing.chains.size(); ++c) {
      const std::uint32_t held = packing.held(key.data(), c);
      std::uint32_t& placed_here = placed_of_chain_[c];
      while (placed_here < held) placeItem(packing.chains[c][placed_here++], 1);
      while (placed_here > held) placeItem(packing.chains[c][--placed_here], -1);
      const double* work = search_.chainSums(c, held) + search_.work_figure_;
      for (std::size_t y = 0; y < kY; ++y) placed_work[y] += work[y];
    }
    for (std::size_t c = 0; c < packing.chains.size(); ++c) {
      if (placed_of_chain_[c] == packing.chains[c].size()) continue;
      const std::uint32_t v = packing.chains[c][placed_of_chain_[c]];
      if (left_[v] == 0 && v != barrier) first_candidates_.push_back(v);
    }
    placed_owed = 0;
    for (const std::uint32_t e : segment.nets) {
      const Net& net = nets_[e];
      if (net.owed > 0 && net.later > 0 && member[net.root] == 0) placed_owed += net.owed;
    }
  }

  // After a walk that was cut short: no stage, nothing in later ones.
  void reset() {
    std::fill(key.begin(), key.end(), 0);
    for (Net& net : nets_) net.inside = 0;
    std::fill(stash_held_.begin(), stash_held_.end(), 0);
    place({});
  }

  // What a stage of all items up to the barrier at the end of the segment would be, the barrier's own nets
  // towards later stages included. False when some item may not run on the pool or on one of the others.
  bool sumUpTo(const ChainSegment& segment, std::span<const std::uint32_t> others, Sums& sums) const {
    sums = {};
    for (const ChainSegment::Run& run : segment.runs) {
      const double* end = search_.chainSums(run.chain, run.end);
      const double* begin = search_.chainSums(run.chain, placed_of_chain_[run.chain]);
      const auto figure = [&](std::size_t f) { return end[f] - begin[f]; };
      const auto blocked = [&](std::size_t k) { return figure(search_.blocked_figure_ + k) > 0; };
      if (blocked(pool) || std::any_of(others.begin(), others.end(), blocked)) return false;
      for (std::size_t q = 0; q < Q; ++q) sums.compute[q] += figure(pool * Q + q);
      for (std::size_t y = 0; y < kY; ++y) sums.work[y] += figure(search_.work_figure_ + y);
      sums.resident += figure(search_.resident_figure_);
      sums.weights += figure(search_.resident_figure_ + 1);
      sums.trains = sums.trains || figure(search_.resident_figure_ + 2) > 0;
    }
    for (const std::uint32_t e : segment.nets) {
      const Net& net = nets_[e];
      if (net.later > 0 && net.later < net.ends)
        sums.transfer[net.part] += member[net.producer] != 0 ? costs_[e].receive : costs_[e].send;
    }
    for (std::size_t q = 0; q < Q; ++q) sums.fixed[q] = sums.transfer[q];
    for (const std::uint32_t t : segment.stashes) {
      if (stash_later_[t] < model_.stash_readers[t].size()) sums.stash += model_.stash_bytes[t];
    }
    return true;
  }

  // Time on the pool and resident bytes of all items up to the barrier at the end of the segment.
  struct Rest {
    double seconds = 0, resident = 0;
  };
  Rest restOf(const ChainSegment& segment) const {
    Rest rest;
    for (const ChainSegment::Run& run : segment.runs) {
      const double* end = search_.chainSums(run.chain, run.end);
      const double* begin = search_.chainSums(run.chain, placed_of_chain_[run.chain]);
      for (std::size_t q = 0; q < Q; ++q) rest.seconds += end[pool * Q + q] - begin[pool * Q + q];
      rest.resident += end[search_.resident_figure_] - begin[search_.resident_figure_];
    }
    return rest;
  }

  // Costs of nets are those of this pool.
  void choosePool(std::size_t chosen) {
    pool = chosen;
    costs_ = all_costs_.data() + pool * nets_.size();
  }

  // Nothing in the stage, all that may be first as candidates.
  void restart() {
    candidates = first_candidates_;
    missing_ = left_;
  }

  // `side`: which nets of the item count; all but those of a barrier that a stage has arrived at always do.
  void enter(std::uint32_t v, const Sums& from, Sums& to, NetSide side) {
    to = from;
    const std::size_t at = v * model_.poolCount() + pool;
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
      Net& net = nets_[e];
      if (side == NetSide::kAhead && search_.isBehind(e, v)) continue;
      if (net.owed > 0) {
        const bool is_first = net.inside + net.later == 0, is_root = net.root == v;
        if (is_first != is_root) to.owed += is_root ? -net.owed : net.owed;
      }
      const bool sends = net.producer == v;
      const NetCost& cost = costs_[e];
      double& transfer = to.transfer[net.part];
      if (net.inside == 0) {
        transfer += sends ? cost.send : cost.receive;
        if (net.later > 0) to.fixed[net.part] += std::min(cost.send, cost.receive);
      } else if (sends) {
        transfer += cost.send - cost.receive;
      }
      if (++net.inside == net.ends) transfer -= cost.send;
    }
    for (const std::uint32_t t : model_.item_stashes[v]) {
      if (side == NetSide::kAhead && search_.isStashBehind(t, v)) continue;
      if (stash_held_[t]++ == 0) to.stash += model_.stash_bytes[t];
    }
    for (const std::uint32_t u : model_.before[v]) {
      if (--missing_[u] == 0 && u != barrier) candidates.push_back(u);
    }
    const IdealPacking::Place& place = search_.packing_.places[v];
    key[place.word] += std::uint64_t{1} << place.shift;
  }

  bool holds(std::uint32_t v) const {
    const IdealPacking::Place& place = search_.packing_.places[v];
    return search_.packing_.held(key.data(), place.chain) > place.position;
  }

  // Whether taking the candidate into this stage raises the load of no stage before it, whatever they are:
  // the one that would hold the candidate saves its time and the nets that end with it, and pays for those
  // that it may have had to itself. Where transfers overlap compute, its transfers alone must not rise.
  bool isGift(std::uint32_t v) const {
    if (search_.always_gift_[v] != 0) return true;
    for (std::size_t k = 0; k < model_.poolCount(); ++k) {
      if (!model_.runs(v, k)) continue;
      double saved = search_.overlap_sum_ ? model_.time(v, k) : 0;
      for (const std::uint32_t e : model_.item_nets[v]) {
        const Net& net = nets_[e];
        const double send = model_.cost(e, k, true), receive = model_.cost(e, k, false);
        const std::uint32_t others = net.inside + net.later;  // ends in this stage or behind it
        if (others + 1 == net.ends) {
          saved += net.producer == v ? send : receive;
        } else if (others == 0) {
          saved -= std::max(send, receive);
        } else if (net.producer == v) {
          saved -= std::max(0.0, receive - send);
        }
      }
      if (saved < 0) return false;
    }
    return true;
  }

  // The time of an item on the pool, of its last part where there are two.
  double lastPart(std::uint32_t v) const {
    const std::size_t at = v * model_.poolCount() + pool;
    return Q == 2 && model_.seconds[at] < kCannotRun ? model_.rest_seconds[at] : model_.seconds[at];
  }

  // Undoes the last `enter`; so many candidates were there before it.
  void leave(std::uint32_t v, std::uint32_t candidates_before) {
    candidates.resize(candidates_before);
    for (const std::uint32_t u : model_.before[v]) ++missing_[u];
    for (const std::uint32_t e : model_.item_nets[v]) --nets_[e].inside;
    for (const std::uint32_t t : model_.item_stashes[v]) --stash_held_[t];
    const IdealPacking::Place& place = search_.packing_.places[v];
    key[place.word] -= std::uint64_t{1} << place.shift;
  }

  // Takes out an item that stayed to the end; `restart` must follow.
  void forget(std::uint32_t v) {
    for (const std::uint32_t e : model_.item_nets[v]) nets_[e].inside = 0;
    for (const std::uint32_t t : model_.item_stashes[v]) stash_held_[t] = 0;
    const IdealPacking::Place& place = search_.packing_.places[v];
    key[place.word] -= std::uint64_t{1} << place.shift;
  }

 private:
  struct Net {
    std::uint32_t ends = 0, producer = 0, part = 0;
    std::uint32_t root = 0;
    double owed = 0;           // to be paid for as long as the root is not placed
    std::uint32_t inside = 0;  // ends in the stage
    std::uint32_t later = 0;   // ends in later stages
  };
  struct NetCost {
    double send, receive;
  };

  const ChainSearch& search_;
  const PipelineModel& model_;
  std::vector<Net> nets_;
  std::vector<NetCost> all_costs_;      // [pool * nets + net]
  const NetCost* costs_ = nullptr;      // of the pool
  std::vector<std::uint32_t> missing_;  // by item: consumers that are neither in the stage nor behind it
  std::vector<std::uint32_t> left_, first_candidates_;  // the same, and the candidates, of an empty stage
  std::vector<std::uint32_t> placed_of_chain_;          // by chain: items in later stages
  std::vector<std::uint32_t> stash_held_;               // by stash: items of the stage
  std::vector<std::uint32_t> stash_later_;              // by stash: readers in later stages

  // Puts an item in later stages (1), or takes it out of them (-1).
  void placeItem(std::uint32_t v, std::int32_t by) {
    const auto change = static_cast<std::uint32_t>(by);
    member[v] += change;
    placed += change;
    for (const std::uint32_t e : model_.item_nets[v]) nets_[e].later += change;
    for (const std::uint32_t t : model_.item_stashes[v]) stash_later_[t] += change;
    for (const std::uint32_t u : model_.before[v]) left_[u] -= change;
  }
};

}  // namespace allot
