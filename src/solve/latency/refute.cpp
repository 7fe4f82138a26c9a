#include "solve/latency/refute.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace allot {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr int kMaxRounds = 12;  // of propagation at one node
constexpr int kPolishMoves = 2000, kMovesPerNode = 4;
constexpr double kPolishStep = 1e-9;  // least gain of a move

}  // namespace

Refuter::Refuter(const BoundModule& part, const Budget& budget)
    : part_(part), budget_(budget), devices_(part.devices), price_(part.devices, 1) {}

Refuter::Outcome Refuter::refute(double target, std::uint32_t entry_device, std::uint32_t exit_device,
                                 std::uint64_t node_limit) {
  limit_ = target * (1 + kRounding);
  last_node_ = nodes + node_limit;
  next = kInfinity;
  const Outcome outcome = setRoot(entry_device, exit_device) ? descend(0) : Outcome::kRefuted;
  if (outcome == Outcome::kOpen) polish();
  // The same steps refute every time up to the least that broke the limit.
  next = std::max(target, next * (1 - 2 * kRounding));
  return outcome;
}

// False when no device is left to some unit.
bool Refuter::setRoot(std::uint32_t entry_device, std::uint32_t exit_device) {
  if (levels_.empty()) levels_.emplace_back();
  Level& root = levels_.front();
  root.allowed = part_.unit_devices;
  root.head.assign(part_.opCount() * devices_, 0);
  root.tail.assign(part_.opCount() * devices_, 0);
  if (part_.has_entry && entry_device != kAnyDevice) root.allowed[part_.unit.front()] &= 1u << entry_device;
  if (part_.has_exit && exit_device != kAnyDevice) root.allowed[part_.unit.back()] &= 1u << exit_device;
  return std::find(root.allowed.begin(), root.allowed.end(), 0u) == root.allowed.end();
}

std::vector<double> Refuter::paths(std::uint32_t entry_device) {
  std::vector<double> least(part_.has_exit ? devices_ : 1, kInfinity);
  if (!setRoot(entry_device, kAnyDevice)) return least;
  Level& root = levels_.front();
  heads(root);
  if (part_.has_exit) {
    const std::size_t exit = part_.opCount() - 1;
    for (std::size_t d = 0; d < devices_; ++d) {
      if ((root.allowed[part_.unit[exit]] >> d) & 1) least[d] = root.head[exit * devices_ + d];
    }
    return least;
  }
  least[0] = 0;
  for (std::size_t op = 0; op < part_.opCount(); ++op) {
    double end = kInfinity;
    for (std::uint32_t mask = root.allowed[part_.unit[op]]; mask != 0; mask &= mask - 1) {
      const std::size_t at = op * devices_ + static_cast<std::size_t>(std::countr_zero(mask));
      end = std::min(end, root.head[at] + part_.seconds[at]);
    }
    least[0] = std::max(least[0], end);
  }
  return least;
}

// Decides one device of one unit at a time: either it runs there, or it does not.
Refuter::Outcome Refuter::descend(std::size_t depth) {
  for (;;) {
    if (++nodes > last_node_) return Outcome::kLimit;
    if (budget_.stopped()) return Outcome::kStopped;
    if (!propagate(levels_[depth])) return Outcome::kRefuted;
    const std::uint32_t unit = pickUnit(levels_[depth]);
    if (unit == BoundModule::kNone) return order(levels_[depth]);
    // First where it fits best, so that a target that cannot be refuted is recognised early.
    const std::uint32_t op = part_.unit_ops[unit].front();
    double least = kInfinity;
    std::size_t device = 0;
    for (std::size_t d = 0; d < devices_; ++d) {
      if (!((levels_[depth].allowed[unit] >> d) & 1)) continue;
      const std::size_t at = op * devices_ + d;
      const double length = levels_[depth].head[at] + part_.seconds[at] + levels_[depth].tail[at];
      if (length >= least) continue;
      least = length;
      device = d;
    }
    if (levels_.size() <= depth + 1) levels_.emplace_back();
    levels_[depth + 1] = levels_[depth];
    levels_[depth + 1].allowed[unit] = 1u << device;
    const Outcome below = descend(depth + 1);
    if (below != Outcome::kRefuted) return below;
    levels_[depth].allowed[unit] &= ~(1u << device);
  }
}

// All devices are decided: the ops and transfers as activities.
void Refuter::listActivities(const Level& level) {
  const bool ports = part_.link_mode != LinkMode::kFree;
  const bool half = part_.link_mode == LinkMode::kHalfDuplex;
  orders_.clear(3 * devices_);
  activity_.resize(part_.opCount());
  std::vector<std::uint32_t> sent(devices_);
  sends_.clear();
  std::vector<std::vector<std::pair<std::uint32_t, double>>> arriving(part_.opCount());
  for (std::size_t op = 0; op < part_.opCount(); ++op) {
    const auto d = static_cast<std::uint32_t>(std::countr_zero(level.allowed[part_.unit[op]]));
    const std::size_t at = op * devices_ + d;
    const double seconds = part_.seconds[at];
    activity_[op] = orders_.add(part_.busy[at], seconds, part_.busy[at] > 0 ? d : OrderRefuter::kNoMachine);
    for (const auto& [from, lag] : arriving[op]) orders_.lag(from, activity_[op], lag);
    std::uint32_t net = BoundModule::kNone;
    for (const std::uint32_t e : part_.edges_out[op]) {
      const BoundModule::Edge& edge = part_.edges[e];
      if (edge.net != net) std::fill(sent.begin(), sent.end(), OrderRefuter::kNoMachine);
      net = edge.net;
      const auto to = static_cast<std::uint32_t>(std::countr_zero(level.allowed[part_.unit[edge.to]]));
      const double length = part_.transfer(net, d, to);
      if (d == to || !ports || length <= 0) {
        arriving[edge.to].emplace_back(activity_[op],
                                       seconds + part_.delay[(e * devices_ + d) * devices_ + to]);
        continue;
      }
      if (sent[to] == OrderRefuter::kNoMachine) {
        const std::size_t send = devices_ + d, receive = (half ? devices_ : 2 * devices_) + to;
        sent[to] = orders_.add(length, length, static_cast<std::uint32_t>(send),
                               static_cast<std::uint32_t>(receive));
        orders_.lag(activity_[op], sent[to], seconds);
        sends_.push_back({part_.model_net[net], to, sent[to], length});
      }
      arriving[edge.to].emplace_back(sent[to], length);
    }
  }
}

// Can they be ordered?
Refuter::Outcome Refuter::order(const Level& level) {
  listActivities(level);
  std::uint64_t left = last_node_ > nodes ? last_node_ - nodes : 0;
  const std::uint64_t before = left;
  const OrderRefuter::Outcome outcome = orders_.refute(limit_, left, budget_);
  nodes += before - left;
  next = std::min(next, orders_.next);
  if (outcome == OrderRefuter::Outcome::kOrdered) record(level);
  return outcome == OrderRefuter::Outcome::kRefuted   ? Outcome::kRefuted
         : outcome == OrderRefuter::Outcome::kOrdered ? Outcome::kOpen
                                                      : Outcome::kLimit;
}

void Refuter::record(const Level& level) {
  open = orders_.end;
  schedule = {};
  for (std::size_t op = 0; op < part_.opCount(); ++op) {
    schedule.device.push_back(static_cast<std::uint32_t>(std::countr_zero(level.allowed[part_.unit[op]])));
    schedule.start.push_back(orders_.start[activity_[op]]);
  }
  for (const Send& send : sends_) {
    const double start = orders_.start[send.activity];
    schedule.transfers.push_back({send.net, send.to, start, start + send.length});
  }
}

// Moves single units of the schedule to other devices as long as list schedules get shorter.
void Refuter::polish() {
  if (part_.memory_binds) return;  // moves do not look at it
  Level trial;
  trial.allowed.resize(part_.unitCount());
  for (std::size_t op = 0; op < part_.opCount(); ++op)
    trial.allowed[part_.unit[op]] = 1u << schedule.device[op];
  int left = kPolishMoves;
  for (bool better = true; better && left > 0;) {
    better = false;
    for (std::uint32_t u = 0; u < part_.unitCount(); ++u) {
      if ((part_.has_entry && u == part_.unit.front()) || (part_.has_exit && u == part_.unit.back()))
        continue;
      for (std::uint32_t mask = part_.unit_devices[u] & ~trial.allowed[u]; mask != 0; mask &= mask - 1) {
        if (left-- <= 0 || budget_.stopped()) return;
        if (left % kMovesPerNode == 0) ++nodes;
        const std::uint32_t before = trial.allowed[u];
        trial.allowed[u] = mask & ~(mask - 1);
        listActivities(trial);
        if (orders_.list(open * (1 - kPolishStep))) {
          record(trial);
          better = true;
        } else {
          trial.allowed[u] = before;
        }
      }
    }
  }
}

std::uint32_t Refuter::pickUnit(const Level& level) const {
  double most = -1;
  std::uint32_t best = BoundModule::kNone;
  for (std::uint32_t u = 0; u < part_.unitCount(); ++u) {
    if (isBound(level.allowed[u])) continue;
    double first = kInfinity, second = kInfinity, work = 0;
    for (std::size_t d = 0; d < devices_; ++d) {
      if (!((level.allowed[u] >> d) & 1)) continue;
      double length = 0, time = 0;
      for (const std::uint32_t op : part_.unit_ops[u]) {
        const std::size_t at = op * devices_ + d;
        length = std::max(length, level.head[at] + part_.seconds[at] + level.tail[at]);
        time += part_.busy[at];
      }
      if (length < first) {
        second = first;
        first = length;
        work = time;
      } else {
        second = std::min(second, length);
      }
    }
    // The second best device counts most: the branch there should fail soon.
    const double score = 2 * second + (second - first) + work;
    if (score <= most) continue;
    most = score;
    best = u;
  }
  return best;
}

bool Refuter::drop(Level& level, std::size_t op, std::size_t device) {
  std::uint32_t& allowed = level.allowed[part_.unit[op]];
  allowed &= ~(1u << device);
  return allowed != 0;
}

bool Refuter::propagate(Level& level) {
  for (int round = 0; round < kMaxRounds; ++round) {
    if (budget_.stopped()) return true;
    bool changed = false;
    if (part_.memory_binds && !fitMemory(level)) return false;
    for (int inner = 0; inner < kMaxRounds; ++inner) {
      bool late = false;
      heads(level);
      tails(level);
      if (!dropLate(level, late)) return false;
      if (!late) break;
    }
    if (!fitDevices(level, changed)) return false;
    if (part_.link_mode != LinkMode::kFree && !fitPorts(level, changed)) return false;
    if (!changed) break;
  }
  return fitLoad(level);
}

void Refuter::heads(Level& level) {
  const bool ports = part_.link_mode != LinkMode::kFree;
  for (std::size_t op = 0; op < part_.opCount(); ++op) {
    const std::uint32_t unit = part_.unit[op];
    for (std::size_t to = 0; to < devices_; ++to) {
      if (!((level.allowed[unit] >> to) & 1)) continue;
      double latest = level.head[op * devices_ + to];
      for (const std::uint32_t e : part_.edges_in[op]) {
        const std::size_t from_op = part_.edges[e].from;
        const double* delay = &part_.delay[e * devices_ * devices_];
        std::uint32_t mask = level.allowed[part_.unit[from_op]];
        if (part_.unit[from_op] == unit) mask = 1u << to;
        double earliest = kInfinity;
        for (; mask != 0; mask &= mask - 1) {
          const auto from = static_cast<std::size_t>(std::countr_zero(mask));
          const std::size_t at = from_op * devices_ + from;
          earliest = std::min(earliest, level.head[at] + part_.seconds[at] + delay[from * devices_ + to]);
        }
        latest = std::max(latest, earliest);
      }
      if (ports && part_.edges_in[op].size() > 1) latest = std::max(latest, receiveAll(level, op, to));
      level.head[op * devices_ + to] = latest;
    }
  }
}

void Refuter::tails(Level& level) {
  const bool ports = part_.link_mode != LinkMode::kFree;
  for (std::size_t op = part_.opCount(); op-- > 0;) {
    const std::uint32_t unit = part_.unit[op];
    for (std::size_t from = 0; from < devices_; ++from) {
      if (!((level.allowed[unit] >> from) & 1)) continue;
      double longest = level.tail[op * devices_ + from];
      for (const std::uint32_t e : part_.edges_out[op]) {
        const std::size_t to_op = part_.edges[e].to;
        const double* delay = &part_.delay[(e * devices_ + from) * devices_];
        std::uint32_t mask = level.allowed[part_.unit[to_op]];
        if (part_.unit[to_op] == unit) mask = 1u << from;
        double shortest = kInfinity;
        for (; mask != 0; mask &= mask - 1) {
          const auto to = static_cast<std::size_t>(std::countr_zero(mask));
          const std::size_t at = to_op * devices_ + to;
          shortest = std::min(shortest, delay[to] + part_.seconds[at] + level.tail[at]);
        }
        longest = std::max(longest, shortest);
      }
      if (ports && part_.nets_out[op].size() > 1) longest = std::max(longest, sendAll(level, op, from));
      level.tail[op * devices_ + from] = longest;
    }
  }
}

bool Refuter::dropLate(Level& level, bool& changed) {
  for (std::size_t op = 0; op < part_.opCount(); ++op) {
    for (std::uint32_t mask = level.allowed[part_.unit[op]]; mask != 0; mask &= mask - 1) {
      const auto d = static_cast<std::size_t>(std::countr_zero(mask));
      const std::size_t at = op * devices_ + d;
      if (!late(level.head[at] + part_.seconds[at] + level.tail[at])) continue;
      if (!drop(level, op, d)) return false;
      changed = true;
    }
  }
  return true;
}

}  // namespace allot
