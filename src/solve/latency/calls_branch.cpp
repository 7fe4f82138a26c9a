#include "solve/latency/calls_branch.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <unordered_map>

namespace allot {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::uint64_t bit(std::size_t i) {
  return std::uint64_t{1} << i;
}

template <class Visit>
void forEachBit(std::uint64_t set, Visit&& visit) {
  for (; set != 0; set &= set - 1) visit(static_cast<std::uint32_t>(std::countr_zero(set)));
}

}  // namespace

CallBranch::CallBranch(const CallGraphFacts& facts, std::vector<std::uint32_t> items, std::uint32_t join,
                       const std::vector<std::uint32_t>& fork_nets)
    : facts_(facts), items_(facts.items), own_(std::move(items)), join_(join), fork_nets_(fork_nets) {
  if (own_.size() >= kMostItems) return;
  for (const std::uint32_t item : own_) {
    all_seconds_ += items_.onPool(item, 0);
    std::uint64_t needs = 0;
    for (const std::uint32_t b : items_.before[item]) {
      if (b >= own_.front()) needs |= bit(ownIndex(b));
    }
    needs_.push_back(needs);
  }
  usable_ = findIdeals();
  if (usable_) findCalls();
}

std::uint32_t CallBranch::ownIndex(std::uint32_t item) const {
  return static_cast<std::uint32_t>(std::lower_bound(own_.begin(), own_.end(), item) - own_.begin());
}

bool CallBranch::findIdeals() {
  std::unordered_map<std::uint64_t, std::uint32_t> number{{0, 0}};
  ideals_.emplace_back();
  // Breadth first, so that smaller ideals come before larger ones.
  for (std::uint32_t i = 0; i < ideals_.size(); ++i) {
    for (std::uint32_t v = 0; v < own_.size(); ++v) {
      const std::uint64_t set = ideals_[i].items;
      if ((set & bit(v)) != 0 || (needs_[v] & ~set) != 0) continue;
      const auto [at, made] = number.try_emplace(set | bit(v), static_cast<std::uint32_t>(ideals_.size()));
      if (made) {
        if (ideals_.size() == kMostIdeals) return false;
        ideals_.emplace_back().items = set | bit(v);
      }
      ideals_[i].cpu.emplace_back(static_cast<std::uint8_t>(v), at->second);
    }
  }
  for (Ideal& ideal : ideals_) {
    describe(ideal);
    if (ideal.frontier.size() > kMostFrontier) return false;
  }
  return true;
}

std::uint8_t CallBranch::forkReads(std::uint64_t set) const {
  std::uint8_t reads = 0;
  for (std::size_t n = 0; n < fork_nets_.size(); ++n) {
    for (const std::uint32_t c : items_.net_consumers[fork_nets_[n]]) {
      const auto at = std::lower_bound(own_.begin(), own_.end(), c);
      if (at != own_.end() && *at == c && (set & bit(static_cast<std::size_t>(at - own_.begin()))) != 0)
        reads |= static_cast<std::uint8_t>(1u << n);
    }
  }
  return reads;
}

// What a call with these items takes, what it fetches of the fork not counted; `to_join`: the join is in it
// too. `reads`: items outside that it waits for.
double CallBranch::callSeconds(std::uint64_t set, bool to_join, std::uint64_t& reads) const {
  double seconds = 0;
  reads = 0;
  for (std::uint32_t v = 0; v < own_.size(); ++v) {
    const bool inside = (set & bit(v)) != 0;
    if (inside) seconds += items_.onPool(own_[v], 0);
    for (const std::uint32_t net : items_.item_outputs[own_[v]]) {
      bool by_set = false, by_others = false;
      for (const std::uint32_t c : items_.net_consumers[net]) {
        const bool in_call = c == join_ ? to_join : (set & bit(ownIndex(c))) != 0;
        (in_call ? by_set : by_others) = true;
      }
      if (inside && by_others) seconds += items_.out(net, 0);
      if (!inside && by_set) {
        seconds += items_.in(net, 0);
        reads |= bit(v);
      }
    }
  }
  return seconds;
}

void CallBranch::describe(Ideal& ideal) const {
  const std::uint64_t rest = (bit(own_.size()) - 1) & ~ideal.items;
  for (std::uint32_t v = 0; v < own_.size(); ++v) {
    if ((ideal.items & bit(v)) == 0) continue;
    ideal.bytes += items_.bytes[own_[v]];
    // Only what is still to come counts for the time behind an item.
    double behind = -1;
    for (const std::uint32_t net : items_.item_outputs[own_[v]]) {
      for (const std::uint32_t c : items_.net_consumers[net]) {
        if (c == join_ || (rest & bit(ownIndex(c))) != 0)
          behind = std::max(behind, facts_.outside(net, c, false));
      }
    }
    if (behind < 0) continue;
    ideal.frontier.push_back(static_cast<std::uint8_t>(v));
    ideal.behind.push_back(behind);
  }
  std::uint64_t none = 0;
  ideal.entry_seconds = callSeconds(ideal.items, false, none);
  ideal.sent = forkReads(rest);
  ideal.exit_seconds = callSeconds(rest, true, ideal.exit_reads);
  ideal.fetched = ideal.sent;
}

void CallBranch::findCalls() {
  least_call_ = least_besides_fork_ = kInfinity;
  const double memory = items_.pools[0].memory;
  for (Ideal& from : ideals_) {
    from.first_call = static_cast<std::uint32_t>(calls_.size());
    for (std::uint32_t to = 0; to < ideals_.size(); ++to) {
      const std::uint64_t set = ideals_[to].items & ~from.items;
      if ((from.items & ~ideals_[to].items) != 0 || set == 0) continue;
      if (ideals_[to].bytes - from.bytes > memory) continue;
      Call call;
      call.to = to;
      call.seconds = callSeconds(set, false, call.reads);
      const std::uint8_t fork = forkReads(set);
      least_besides_fork_ = std::min(least_besides_fork_, call.seconds);
      for (std::size_t n = 0; n < fork_nets_.size(); ++n) {
        if ((fork >> n) & 1) call.seconds += items_.in(fork_nets_[n], 0);
      }
      call.reads_fork = fork != 0;
      least_call_ = std::min(least_call_, call.seconds);
      if (call.seconds < kInfinity) calls_.push_back(call);
    }
    from.end_call = static_cast<std::uint32_t>(calls_.size());
  }
}

void CallBranch::moveTimes(const Label& from, Label& to, double fresh) const {
  const Ideal& old_ideal = ideals_[from.ideal];
  const Ideal& new_ideal = ideals_[to.ideal];
  std::size_t at = 0;
  for (std::size_t f = 0; f < new_ideal.frontier.size(); ++f) {
    const std::uint8_t item = new_ideal.frontier[f];
    if ((old_ideal.items & bit(item)) == 0) {
      to.times[f] = fresh;
      continue;
    }
    while (old_ideal.frontier[at] != item) ++at;
    to.times[f] = from.times[at];
  }
}

void CallBranch::offer(const BranchRequest& request, const Label& label) {
  const Ideal& ideal = ideals_[label.ideal];
  const std::size_t n = ideal.frontier.size();
  double least = 0;
  for (std::size_t f = 0; f < n; ++f) least = std::max(least, label.times[f] + ideal.behind[f]);
  const std::uint32_t used = (label.shares + kCallShares - 1) / kCallShares;
  if (used + (request.takes_join ? 1 : 0) > request.most_calls) return;
  if (label.entry_seconds + least >= request.limit[used]) return;
  const auto beats = [n](const Label& a, const Label& b) {
    if (a.entry_seconds > b.entry_seconds || a.entry_bytes > b.entry_bytes || a.shares > b.shares ||
        (a.sent & ~b.sent) != 0 || a.relaxed > b.relaxed)
      return false;
    for (std::size_t f = 0; f < n; ++f) {
      if (a.times[f] > b.times[f]) return false;
    }
    return true;
  };
  std::vector<std::uint32_t>& kept = at_[label.ideal];
  if (std::any_of(kept.begin(), kept.end(), [&](std::uint32_t l) { return beats(labels_[l], label); }))
    return;
  std::erase_if(kept, [&](std::uint32_t l) { return beats(label, labels_[l]); });
  kept.push_back(static_cast<std::uint32_t>(labels_.size()));
  labels_.push_back(label);
}

bool CallBranch::run(const BranchRequest& request, const SharedCalls& shared, const Budget& budget) {
  labels_.clear();
  ways_.clear();
  at_.assign(ideals_.size(), {});
  for (std::uint32_t i = 0; i < (request.open ? ideals_.size() : 1); ++i) {
    const Ideal& ideal = ideals_[i];
    Label label;
    label.ideal = i;
    if (request.open) {
      if (ideal.bytes > request.entry_room || ideal.entry_seconds == kInfinity) continue;
      label.entry_seconds = ideal.entry_seconds;
      label.sent = ideal.sent;
      if (request.count_entry_bytes) label.entry_bytes = ideal.bytes;
    }
    offer(request, label);
  }
  for (std::uint32_t i = 0; i < ideals_.size(); ++i) {
    if (budget.stopped()) return false;
    const Ideal& ideal = ideals_[i];
    for (std::size_t k = 0; k < at_[i].size(); ++k) {
      const std::uint32_t number = at_[i][k];
      const Label from = labels_[number];
      const auto readyFor = [&](std::uint64_t reads) {
        double ready = 0;
        for (std::size_t f = 0; f < ideal.frontier.size(); ++f) {
          if ((reads & bit(ideal.frontier[f])) != 0) ready = std::max(ready, from.times[f]);
        }
        return ready;
      };
      Label to = from;
      to.parent = number;
      to.by_call = false;
      for (const auto& [item, next] : ideal.cpu) {
        if (items_.cpu[own_[item]] == kInfinity) continue;
        to.ideal = next;
        moveTimes(from, to, readyFor(needs_[item]) + items_.cpu[own_[item]]);
        offer(request, to);
      }
      to.by_call = true;
      for (std::uint32_t c = ideal.first_call; c < ideal.end_call; ++c) {
        const Call& call = calls_[c];
        to.ideal = call.to;
        to.shares = from.shares + kCallShares;
        to.relaxed = from.relaxed;
        const double end = readyFor(call.reads) + call.seconds;
        moveTimes(from, to, end);
        offer(request, to);
        const std::vector<double>& besides = call.reads_fork ? shared.besides_reader : shared.besides;
        for (std::uint32_t s = 0; s < besides.size(); ++s) {
          to.shares = from.shares + kCallShares / (s + 2);
          to.relaxed = true;
          moveTimes(from, to, end + besides[s]);
          offer(request, to);
        }
      }
      addWay(request, number);
    }
  }
  return true;
}

void CallBranch::addWay(const BranchRequest& request, std::uint32_t number) {
  const Label& label = labels_[number];
  const Ideal& ideal = ideals_[label.ideal];
  if (!request.takes_join && label.ideal + 1 != ideals_.size()) return;
  BranchWay way;
  way.shared = label.entry_seconds;
  way.entry_bytes = label.entry_bytes;
  way.shares = label.shares;
  way.sent = label.sent;
  way.relaxed = label.relaxed;
  way.label = number;
  if (request.takes_join) {
    if (ideal.exit_seconds == kInfinity) return;
    way.shared += ideal.exit_seconds;
    way.fetched = ideal.fetched;
    if (request.count_exit_bytes) way.exit_bytes = ideals_.back().bytes - ideal.bytes;
  }
  for (std::size_t f = 0; f < ideal.frontier.size(); ++f) {
    if (!request.takes_join || (ideal.exit_reads & bit(ideal.frontier[f])) != 0)
      way.middle = std::max(way.middle, label.times[f]);
  }
  ways_.push_back(way);
}

CallBranch::Listing CallBranch::list(const BranchWay& way) const {
  Listing listing;
  const auto itemsOf = [&](std::uint64_t set) {
    std::vector<std::uint32_t> all;
    forEachBit(set, [&](std::uint32_t v) { all.push_back(own_[v]); });
    return all;
  };
  const std::uint32_t last = labels_[way.label].ideal;
  listing.exit = itemsOf(ideals_.back().items & ~ideals_[last].items);
  std::uint32_t at = way.label;
  for (; labels_[at].parent != UINT32_MAX; at = labels_[at].parent) {
    const Label& label = labels_[at];
    const std::uint64_t before = ideals_[labels_[label.parent].ideal].items;
    listing.middle.push_back({itemsOf(ideals_[label.ideal].items & ~before), label.by_call});
  }
  std::reverse(listing.middle.begin(), listing.middle.end());
  listing.entry = itemsOf(ideals_[labels_[at].ideal].items);
  return listing;
}

}  // namespace allot
