// The kinds of moves.
#include <algorithm>

#include "solve/latency/neighbourhood.h"

namespace allot {
namespace {

constexpr std::uint32_t kReach = 400;  // far shifts cost as much as a pass over the schedule and seldom help
constexpr int kEjections = 8;          // units that follow a move to make room
constexpr int kEjectionTries = 6;      // units of which the one that leaves least too much goes

std::uint32_t count(const auto& items) {
  return static_cast<std::uint32_t>(items.size());
}

}  // namespace

std::uint32_t Neighbourhood::pickOp(Random& random) const {
  if (high_ != kNoLimit) return sequence_.order[low_ + random.below(high_ - low_)];
  if (!critical_.empty() && random.below(2) == 0) return critical_[random.below(count(critical_))];
  return random.below(count(unit_));
}

std::uint32_t Neighbourhood::pickDevice(std::uint32_t op, Random& random) const {
  if (random.below(2) == 0) {
    const auto before = before_[op], after = after_[op];
    const std::uint32_t around = count(before) + count(after);
    if (around > 0) {
      const std::uint32_t pick = random.below(around);
      const std::uint32_t device =
          sequence_.device[pick < before.size() ? before[pick] : after[pick - before.size()]];
      if (device != sequence_.device[op]) return device;
    }
  }
  const auto allowed = unit_devices_[unit_[op]];
  const std::uint32_t device = allowed[random.below(count(allowed))];
  if (random.below(3) == 0) return device;
  // The faster of two.
  const std::uint32_t other = allowed[random.below(count(allowed))];
  return model_.time(first_ + op, other) < model_.time(first_ + op, device) ? other : device;
}

void Neighbourhood::moveChain(Random& random) {
  const std::uint32_t start = pickOp(random), from = sequence_.device[start];
  const std::uint32_t to = pickDevice(start, random);
  if (to == from) return;
  place(start, to);
  const std::uint32_t most = 1 + random.below(30);
  std::uint32_t op = start;
  for (std::uint32_t i = 0; i < most; ++i) {
    if (after_[op].size() != 1) break;
    op = after_[op].front();
    if (before_[op].size() != 1 && random.below(2) == 0) break;
    if (sequence_.device[op] != from) break;
    place(op, to);
  }
  op = start;
  for (std::uint32_t i = 0; i < most; ++i) {
    if (before_[op].size() != 1) break;
    op = before_[op].front();
    if ((after_[op].size() != 1 && random.below(2) == 0) || sequence_.device[op] != from) break;
    place(op, to);
  }
}

// The op and what hangs together with it on its device, nearest first.
void Neighbourhood::moveCluster(Random& random) {
  const std::uint32_t start = pickOp(random), from = sequence_.device[start];
  const std::uint32_t to = pickDevice(start, random);
  if (to == from) return;
  const std::uint32_t most = 2 + random.below(2u << random.below(cluster_scale_));
  // Forward only, backward only, or both.
  const std::uint32_t ways = random.below(3);
  ++stamp_now_;
  cluster_.assign(1, start);
  stamp_[start] = stamp_now_;
  for (std::size_t next = 0; next < cluster_.size() && cluster_.size() < most; ++next) {
    const auto visit = [&](std::uint32_t op) {
      if (stamp_[op] == stamp_now_ || sequence_.device[op] != from || cluster_.size() >= most) return;
      stamp_[op] = stamp_now_;
      cluster_.push_back(op);
    };
    const std::uint32_t op = cluster_[next];
    if (ways != 1) std::for_each(after_[op].begin(), after_[op].end(), visit);
    if (ways != 0) std::for_each(before_[op].begin(), before_[op].end(), visit);
  }
  for (const std::uint32_t op : cluster_) place(op, to);
}

// An op and all that depends on nothing but it, or all that nothing but it depends on: what hangs on a hub.
void Neighbourhood::moveRegion(Random& random) {
  const std::uint32_t start = pickOp(random), from = sequence_.device[start];
  const std::uint32_t to = pickDevice(start, random);
  const bool forward = random.below(3) != 0, all = random.below(2) == 0;
  const std::uint32_t most = random.below(2) == 0 && high_ == kNoLimit
                                 ? count(unit_)
                                 : 2 + random.below(2u << random.below(cluster_scale_));
  const Csr<std::uint32_t>&next = forward ? after_ : before_, &back = forward ? before_ : after_;
  ++stamp_now_;
  cluster_.assign(1, start);
  for (std::size_t at = 0; at < cluster_.size() && cluster_.size() < most; ++at) {
    for (const std::uint32_t op : next[cluster_[at]]) {
      if (stamp_[op] != stamp_now_) {
        stamp_[op] = stamp_now_;
        seen_[op] = 0;
      }
      if (++seen_[op] == back[op].size() && cluster_.size() < most) cluster_.push_back(op);
    }
  }
  // The hub itself may stay.
  for (std::size_t at = random.below(4) == 0 ? 1 : 0; at < cluster_.size(); ++at) {
    if (all || sequence_.device[cluster_[at]] == from) place(cluster_[at], to);
  }
}

void Neighbourhood::moveWindow(Random& random) {
  const std::uint32_t op = pickOp(random), from = sequence_.device[op];
  const std::uint32_t to = pickDevice(op, random);
  if (to == from) return;
  const std::uint32_t begin = sequence_.position[op];
  const std::uint32_t stop = std::min(begin + 2 + random.below(24), count(sequence_.order));
  for (std::uint32_t p = begin; p < stop; ++p) {
    if (sequence_.device[sequence_.order[p]] == from) place(sequence_.order[p], to);
  }
}

void Neighbourhood::swapUnits(Random& random) {
  const std::uint32_t a = pickOp(random);
  // Near in the order: far ones change too much at once, unless memory asks for it.
  std::uint32_t b = random.below(count(unit_));
  if (random.below(2) == 0) {
    const std::uint32_t p = sequence_.position[a];
    const std::uint32_t low = p > 16 ? p - 16 : 0, high = std::min(p + 16, count(unit_) - 1);
    b = sequence_.order[low + random.below(high - low + 1)];
  }
  const std::uint32_t on_a = sequence_.device[a], on_b = sequence_.device[b];
  if (on_a == on_b) return;
  place(a, on_b);
  place(b, on_a);
}

std::pair<std::uint32_t, std::uint32_t> Neighbourhood::room(std::uint32_t op) const {
  std::uint32_t low = low_, high = std::min(high_, count(sequence_.order)) - 1;
  for (const std::uint32_t other : before_[op]) low = std::max(low, sequence_.position[other] + 1);
  for (const std::uint32_t other : after_[op]) high = std::min(high, sequence_.position[other] - 1);
  const std::uint32_t at = sequence_.position[op];
  return {std::max(low, at > kReach ? at - kReach : 0), std::min(high, at + kReach)};
}

void Neighbourhood::shiftOp(Random& random) {
  const std::uint32_t op = pickOp(random);
  const auto [low, high] = room(op);
  if (low == high) return;
  shift(sequence_.position[op], low + random.below(high - low + 1));
}

// Past the next few ops of its own device: all shifts in between leave the schedule as it is.
void Neighbourhood::shiftCritical(Random& random) {
  const std::uint32_t op = pickOp(random), on = sequence_.device[op];
  const auto [low, high] = room(op);
  const std::uint32_t at = sequence_.position[op];
  std::uint32_t past = 1 + random.below(random.below(4) == 0 ? 8 : 2);
  if (random.below(2) == 0) {
    for (std::uint32_t p = at; p-- > low;) {
      if (sequence_.device[sequence_.order[p]] == on && --past == 0) return shift(at, p);
    }
  } else {
    for (std::uint32_t p = at + 1; p <= high; ++p) {
      if (sequence_.device[sequence_.order[p]] == on && --past == 0) return shift(at, p);
    }
  }
}

void Neighbourhood::moveAndShift(Random& random) {
  const std::uint32_t op = pickOp(random);
  const std::uint32_t to = pickDevice(op, random);
  place(op, to);
  if (moved_.empty()) return;
  const auto [low, high] = room(op);
  if (low < high) shift(sequence_.position[op], low + random.below(high - low + 1));
}

void Neighbourhood::eject(Random& random) {
  for (int step = 0; step < kEjections; ++step) {
    std::uint32_t full = 0;
    double most = 0;
    for (std::uint32_t d = 0; d < devices_; ++d) {
      if (used_[d] - model_.memory[d] > most) {
        most = used_[d] - model_.memory[d];
        full = d;
      }
    }
    if (!(most > 0) || held_[full].empty()) return;
    std::uint32_t chosen = UINT32_MAX, to = full;
    double least = 0;
    for (int i = 0; i < kEjectionTries; ++i) {
      const std::uint32_t unit = held_[full][random.below(count(held_[full]))];
      if (moved_in_[unit] == move_) continue;
      const std::uint32_t device = pickDevice(unit_ops_[unit].front(), random);
      if (device == full) continue;
      const double too_much = std::max(0.0, most - unit_bytes_[unit]) +
                              std::max(0.0, used_[device] + unit_bytes_[unit] - model_.memory[device]);
      if (chosen == UINT32_MAX || too_much < least) {
        least = too_much;
        chosen = unit;
        to = device;
      }
    }
    if (chosen == UINT32_MAX) return;
    place(unit_ops_[chosen].front(), to);
  }
}

void Neighbourhood::restrictTo(std::uint32_t begin, std::uint32_t stop) {
  low_ = begin;
  high_ = stop;
  cluster_scale_ = 3;
}

void Neighbourhood::propose(Random& random) {
  clearMove();
  const std::uint32_t kind = random.below(memory_binds_ ? 20 : 18);
  if (kind < 4) {
    const std::uint32_t op = pickOp(random);
    place(op, pickDevice(op, random));
  } else if (kind < 6) {
    moveAndShift(random);
  } else if (kind < 8) {
    moveChain(random);
  } else if (kind < 9) {
    moveCluster(random);
  } else if (kind < 10) {
    moveRegion(random);
  } else if (kind < 11) {
    moveWindow(random);
  } else if (kind < 14) {
    shiftOp(random);
  } else if (kind < 17) {
    shiftCritical(random);
  } else {
    swapUnits(random);
  }
  if (memory_binds_ && !moved_.empty() && random.below(4) != 0) eject(random);
  // Clusters and units may reach out of the window.
  if (from_ < until_ && (from_ < low_ || until_ > high_)) undo();
}

}  // namespace allot
