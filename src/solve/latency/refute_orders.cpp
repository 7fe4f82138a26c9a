#include "solve/latency/refute_orders.h"

#include <algorithm>
#include <limits>

namespace allot {
namespace {

constexpr int kMaxRounds = 60;

}  // namespace

void OrderRefuter::clear(std::size_t machines) {
  length_.clear();
  last_.clear();
  machine_.clear();
  other_.clear();
  arcs_.clear();
  pairs_.clear();
  on_.resize(machines);
  for (auto& list : on_) list.clear();
}

std::uint32_t OrderRefuter::add(double length, double last, std::uint32_t machine, std::uint32_t other) {
  const auto index = static_cast<std::uint32_t>(length_.size());
  length_.push_back(length);
  last_.push_back(last);
  machine_.push_back(machine);
  other_.push_back(other);
  if (machine != kNoMachine) on_[machine].push_back(index);
  if (other != kNoMachine) on_[other].push_back(index);
  return index;
}

void OrderRefuter::lag(std::uint32_t from, std::uint32_t to, double seconds) {
  arcs_.push_back({from, to, seconds});
}

void OrderRefuter::sortArcs() {
  // Ends before starts: a sweep over sorted arcs settles longest paths at once.
  std::stable_sort(arcs_.begin(), arcs_.end(), [](const Arc& a, const Arc& b) { return a.from < b.from; });
  arcs_out_ = {};
  for (std::uint32_t a = 0, i = 0; i < length_.size(); ++i) {
    for (; a < arcs_.size() && arcs_[a].from == i; ++a) arcs_out_.items.push_back(a);
    arcs_out_.closeRow();
  }
}

bool OrderRefuter::list(double limit) {
  limit_ = limit;
  sortArcs();
  if (levels_.empty()) levels_.emplace_back();
  Level& root = levels_.front();
  root.tail = last_;
  for (std::size_t i = arcs_.size(); i-- > 0;) {
    double& tail = root.tail[arcs_[i].from];
    tail = std::max(tail, root.tail[arcs_[i].to] + arcs_[i].seconds);
  }
  return list(root);
}

OrderRefuter::Outcome OrderRefuter::refute(double limit, std::uint64_t& nodes_left, const Budget& budget) {
  limit_ = limit;
  next = std::numeric_limits<double>::infinity();
  sortArcs();
  std::size_t pairs = 0;
  for (const auto& list : on_) pairs += list.size() * list.size() / 2;
  for (const auto& list : on_) {
    if (pairs > kMaxPairs) break;
    for (std::size_t b = 0; b < list.size(); ++b) {
      for (std::size_t a = 0; a < b; ++a) pairs_.push_back({list[a], list[b]});
    }
  }
  if (levels_.empty()) levels_.emplace_back();
  Level& root = levels_.front();
  root.head.assign(length_.size(), 0);
  root.tail = last_;
  root.order.assign(pairs_.size(), kOpen);
  if (pairs > kMaxPairs) {
    propagate(root);
    return list(root) ? Outcome::kOrdered : Outcome::kLimit;
  }
  return descend(0, nodes_left, budget);
}

OrderRefuter::Outcome OrderRefuter::descend(std::size_t depth, std::uint64_t& nodes_left,
                                            const Budget& budget) {
  for (;;) {
    if (nodes_left == 0 || depth > kMaxDepth || budget.stopped()) return Outcome::kLimit;
    --nodes_left;
    if (!propagate(levels_[depth])) return Outcome::kRefuted;
    if (list(levels_[depth])) return Outcome::kOrdered;
    const Level& level = levels_[depth];
    // The pair with the least room in its better order among those that clash at their earliest times.
    std::size_t best = pairs_.size();
    double least = 0;
    bool forward = true;
    for (std::size_t p = 0; p < pairs_.size(); ++p) {
      if (level.order[p] != kOpen) continue;
      const auto [a, b] = pairs_[p];
      const bool clash =
          level.head[a] < level.head[b] + length_[b] && level.head[b] < level.head[a] + length_[a];
      if (!clash) continue;
      const double room_forward = limit_ - level.head[a] - length_[a] - level.tail[b];
      const double room_backward = limit_ - level.head[b] - length_[b] - level.tail[a];
      const double room = std::max(room_forward, room_backward) + std::min(room_forward, room_backward);
      if (best < pairs_.size() && room >= least) continue;
      best = p;
      least = room;
      forward = room_forward >= room_backward;
    }
    // Where nothing clashes, the heads are a schedule.
    if (best == pairs_.size()) {
      start = level.head;
      end = 0;
      for (std::size_t i = 0; i < length_.size(); ++i) end = std::max(end, start[i] + last_[i]);
      return Outcome::kOrdered;
    }
    if (levels_.size() <= depth + 1) levels_.emplace_back();
    levels_[depth + 1] = levels_[depth];
    levels_[depth + 1].order[best] = forward ? kForward : kBackward;
    const Outcome below = descend(depth + 1, nodes_left, budget);
    if (below != Outcome::kRefuted) return below;
    levels_[depth].order[best] = forward ? kBackward : kForward;
  }
}

// Of the activities that are ready and would begin before the first of them could end, the one with the
// longest tail goes next.
bool OrderRefuter::list(const Level& level) {
  const std::size_t n = length_.size();
  waits_.assign(n, 0);
  for (const Arc& arc : arcs_) ++waits_[arc.to];
  start.assign(n, 0);
  free_.assign(on_.size() + 1, 0);
  ready_.clear();
  for (std::uint32_t i = 0; i < n; ++i) {
    if (waits_[i] == 0) ready_.push_back(i);
  }
  const auto earliest = [&](std::uint32_t i) {
    double time = start[i];
    if (machine_[i] != kNoMachine) time = std::max(time, free_[machine_[i]]);
    if (other_[i] != kNoMachine) time = std::max(time, free_[other_[i]]);
    return time;
  };
  const auto shares = [&](std::uint32_t i, std::uint32_t machine) {
    return machine != kNoMachine && (machine_[i] == machine || other_[i] == machine);
  };
  end = 0;
  while (!ready_.empty()) {
    std::size_t first = 0;
    double soonest = std::numeric_limits<double>::infinity();
    for (std::size_t r = 0; r < ready_.size(); ++r) {
      const double done = earliest(ready_[r]) + length_[ready_[r]];
      if (done >= soonest) continue;
      soonest = done;
      first = r;
    }
    std::size_t chosen = first;
    for (std::size_t r = 0; r < ready_.size(); ++r) {
      const std::uint32_t i = ready_[r];
      if (r == first || level.tail[i] <= level.tail[ready_[chosen]] || earliest(i) >= soonest) continue;
      if (shares(i, machine_[ready_[first]]) || shares(i, other_[ready_[first]])) chosen = r;
    }
    const std::uint32_t i = ready_[chosen];
    ready_[chosen] = ready_.back();
    ready_.pop_back();
    start[i] = earliest(i);
    if (machine_[i] != kNoMachine) free_[machine_[i]] = start[i] + length_[i];
    if (other_[i] != kNoMachine) free_[other_[i]] = start[i] + length_[i];
    end = std::max(end, start[i] + last_[i]);
    if (end > limit_) return false;
    for (const std::uint32_t a : arcs_out_[i]) {
      const Arc& arc = arcs_[a];
      start[arc.to] = std::max(start[arc.to], start[i] + arc.seconds);
      if (--waits_[arc.to] == 0) ready_.push_back(arc.to);
    }
  }
  return true;
}

bool OrderRefuter::propagate(Level& level) {
  bool settled = false;
  for (int round = 0; round < kMaxRounds && !settled; ++round) {
    settled = true;
    for (const Arc& arc : arcs_) {
      const double head = level.head[arc.from] + arc.seconds;
      if (head <= level.head[arc.to]) continue;
      level.head[arc.to] = head;
      settled = false;
    }
    for (std::size_t i = arcs_.size(); i-- > 0;) {
      const Arc& arc = arcs_[i];
      const double tail = level.tail[arc.to] + arc.seconds;
      if (tail <= level.tail[arc.from]) continue;
      level.tail[arc.from] = tail;
      settled = false;
    }
    for (std::size_t i = 0; i < length_.size(); ++i) {
      if (late(level.head[i] + level.tail[i])) return false;
    }
    bool changed = false;
    if (!decide(level, changed)) return false;
    settled = settled && !changed;
  }
  for (const auto& machine : on_) {
    if (machine.size() < 3) continue;
    list_.clear();
    for (const std::uint32_t i : machine)
      list_.push_back({level.head[i], length_[i], level.tail[i] - length_[i]});
    if (late(windows_.overfull(list_, limit_))) return false;
  }
  return true;
}

bool OrderRefuter::decide(Level& level, bool& changed) {
  for (std::size_t p = 0; p < pairs_.size(); ++p) {
    const auto [a, b] = pairs_[p];
    if (level.order[p] == kOpen) {
      const bool forward = !late(level.head[a] + length_[a] + level.tail[b]);
      const bool backward = !late(level.head[b] + length_[b] + level.tail[a]);
      if (forward && backward) continue;
      if (!forward && !backward) return false;
      level.order[p] = forward ? kForward : kBackward;
      changed = true;
    }
    const bool forward = level.order[p] == kForward;
    const std::uint32_t first = forward ? a : b, second = forward ? b : a;
    const double head = level.head[first] + length_[first];
    const double tail = level.tail[second] + length_[first];
    if (head > level.head[second]) {
      level.head[second] = head;
      changed = true;
    }
    if (tail > level.tail[first]) {
      level.tail[first] = tail;
      changed = true;
    }
    if (late(level.head[second] + level.tail[second])) return false;
  }
  return true;
}

}  // namespace allot
