#include "solve/latency/refute.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace allot {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Sums along paths and over sets are taken in other orders than a plan's.
constexpr double kRounding = 1e-11;
constexpr int kMaxRounds = 12;  // of propagation at one node
constexpr int kPriceSteps = 12;

bool bound(std::uint32_t mask) {
  return std::has_single_bit(mask);
}

}  // namespace

Refuter::Refuter(const BoundModule& part, const Budget& budget)
    : part_(part), budget_(budget), devices_(part.devices), price_(part.devices, 1) {}

Refuter::Outcome Refuter::refute(double target, std::uint32_t entry_device, std::uint32_t exit_device,
                                 std::uint64_t node_limit) {
  limit_ = target * (1 + kRounding);
  last_node_ = nodes + node_limit;
  next = kInfinity;
  const Outcome outcome = setRoot(entry_device, exit_device) ? descend(0) : Outcome::kRefuted;
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

// All devices are decided: can the ops and transfers be ordered?
Refuter::Outcome Refuter::order(const Level& level) {
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

std::uint32_t Refuter::pickUnit(const Level& level) const {
  double most = -1;
  std::uint32_t best = BoundModule::kNone;
  for (std::uint32_t u = 0; u < part_.unitCount(); ++u) {
    if (bound(level.allowed[u])) continue;
    // What is lost on the second best device, and how much work is decided.
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
    const double score = first + (second - first) + work;
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

// When all inputs that cannot be on the device have passed its port, one after the other.
double Refuter::receiveAll(const Level& level, std::size_t op, std::size_t device) {
  list_.clear();
  for (const std::uint32_t e : part_.edges_in[op]) {
    const std::size_t from_op = part_.edges[e].from;
    std::uint32_t mask = level.allowed[part_.unit[from_op]];
    if ((mask >> device) & 1) continue;
    double release = kInfinity, length = kInfinity;
    for (; mask != 0; mask &= mask - 1) {
      const auto from = static_cast<std::size_t>(std::countr_zero(mask));
      const std::size_t at = from_op * devices_ + from;
      release = std::min(release, level.head[at] + part_.seconds[at]);
      length = std::min(length, part_.transfer(part_.edges[e].net, from, device));
    }
    if (length > 0) list_.push_back({release, length, 0});
  }
  if (list_.size() < 2) return 0;
  std::sort(list_.begin(), list_.end(), [](const Activity& a, const Activity& b) { return a.head < b.head; });
  double end = 0;
  for (const Activity& transfer : list_) end = std::max(end, transfer.head) + transfer.length;
  return end;
}

// Time from the op's end until everything behind those transfers is done that must leave the device, one
// after the other. Of each net the transfer to one consumer counts.
double Refuter::sendAll(const Level& level, std::size_t op, std::size_t device) {
  list_.clear();
  std::uint32_t net = BoundModule::kNone;
  for (const std::uint32_t e : part_.edges_out[op]) {
    const std::size_t to_op = part_.edges[e].to;
    std::uint32_t mask = level.allowed[part_.unit[to_op]];
    if ((mask >> device) & 1) continue;
    double length = kInfinity, tail = kInfinity;
    for (; mask != 0; mask &= mask - 1) {
      const auto to = static_cast<std::size_t>(std::countr_zero(mask));
      const std::size_t at = to_op * devices_ + to;
      length = std::min(length, part_.transfer(part_.edges[e].net, device, to));
      tail = std::min(tail, part_.seconds[at] + level.tail[at]);
    }
    if (!(length > 0)) continue;
    if (part_.edges[e].net == net) {
      if (length + tail > list_.back().length + list_.back().tail) list_.back() = {0, length, tail};
    } else {
      list_.push_back({0, length, tail});
      net = part_.edges[e].net;
    }
  }
  if (list_.size() < 2) return 0;
  std::sort(list_.begin(), list_.end(), [](const Activity& a, const Activity& b) { return a.tail > b.tail; });
  double end = 0, longest = 0;
  for (const Activity& transfer : list_) {
    end += transfer.length;
    longest = std::max(longest, end + transfer.tail);
  }
  return longest;
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

bool Refuter::fitDevices(Level& level, bool& changed) {
  for (std::size_t d = 0; d < devices_; ++d) {
    list_.clear();
    bound_ops_.clear();
    bool others = false;
    for (std::size_t op = 0; op < part_.opCount(); ++op) {
      const std::size_t at = op * devices_ + d;
      const std::uint32_t mask = level.allowed[part_.unit[op]];
      if (!((mask >> d) & 1) || part_.busy[at] <= 0) continue;
      if (bound(mask)) {
        list_.push_back(
            {level.head[at], part_.busy[at], level.tail[at] - (part_.busy[at] - part_.seconds[at])});
        bound_ops_.push_back(op);
      } else {
        others = true;
      }
    }
    if (list_.empty()) continue;
    if (late(windows_.overfull(list_, limit_))) return false;
    if (!orderPairs(level, d, changed)) return false;
    if (!others) continue;
    windows_.prepare(list_);
    for (std::size_t op = 0; op < part_.opCount(); ++op) {
      const std::size_t at = op * devices_ + d;
      const std::uint32_t mask = level.allowed[part_.unit[op]];
      if (!((mask >> d) & 1) || part_.busy[at] <= 0 || bound(mask)) continue;
      const Activity more{level.head[at], part_.busy[at],
                          level.tail[at] - (part_.busy[at] - part_.seconds[at])};
      if (!late(windows_.overfullWith(more, limit_))) continue;
      if (!drop(level, op, d)) return false;
      changed = true;
    }
  }
  return true;
}

// Of two ops bound to a device, one that cannot come first comes second.
bool Refuter::orderPairs(Level& level, std::size_t d, bool& changed) {
  for (std::size_t x = 0; x < bound_ops_.size(); ++x) {
    for (std::size_t y = x + 1; y < bound_ops_.size(); ++y) {
      const std::size_t a = bound_ops_[x] * devices_ + d, b = bound_ops_[y] * devices_ + d;
      const double forward = level.head[a] + part_.busy[a] + part_.seconds[b] + level.tail[b];
      const double backward = level.head[b] + part_.busy[b] + part_.seconds[a] + level.tail[a];
      if (forward <= limit_ && backward <= limit_) continue;
      if (forward > limit_ && backward > limit_) {
        late(forward);
        late(backward);
        return false;
      }
      const bool swapped = late(forward);
      if (!swapped) late(backward);
      const std::size_t first = swapped ? b : a, second = swapped ? a : b;
      const double head = level.head[first] + part_.busy[first];
      const double tail = part_.busy[first] - part_.seconds[first] + part_.seconds[second] + level.tail[second];
      if (head > level.head[second]) {
        level.head[second] = head;
        changed = true;
      }
      if (tail > level.tail[first]) {
        level.tail[first] = tail;
        changed = true;
      }
    }
  }
  return true;
}

// Transfers that are sure to pass a port: of each net that leaves device d one to each device where a consumer
// is bound, or one in all.
void Refuter::listSends(const Level& level, std::size_t d) {
  for (std::uint32_t op = 0; op < part_.opCount(); ++op) {
    if (level.allowed[part_.unit[op]] != 1u << d) continue;
    const double release = level.head[op * devices_ + d] + part_.seconds[op * devices_ + d];
    const auto out = part_.edges_out[op];
    for (std::size_t first = 0, last; first < out.size(); first = last) {
      const std::uint32_t net = part_.edges[out[first]].net;
      for (last = first; last < out.size() && part_.edges[out[last]].net == net;) ++last;
      std::uint32_t sure = 0, reader = BoundModule::kNone;
      double length = 0, tail = 0;
      for (std::size_t k = first; k < last; ++k) {
        const std::uint32_t to_op = part_.edges[out[k]].to;
        std::uint32_t mask = level.allowed[part_.unit[to_op]];
        if ((mask >> d) & 1) continue;
        if (bound(mask)) sure |= mask;
        double least_length = kInfinity, least_tail = kInfinity;
        for (; mask != 0; mask &= mask - 1) {
          const auto to = static_cast<std::size_t>(std::countr_zero(mask));
          const std::size_t at = to_op * devices_ + to;
          least_length = std::min(least_length, part_.transfer(net, d, to));
          least_tail = std::min(least_tail, part_.seconds[at] + level.tail[at]);
        }
        if (reader != BoundModule::kNone && least_length + least_tail <= length + tail) continue;
        length = least_length;
        tail = least_tail;
        reader = to_op;
      }
      if (sure == 0) {
        if (length > 0) uses_.push_back({{release, length, tail}, op, reader});
        continue;
      }
      for (; sure != 0; sure &= sure - 1) {
        const auto to = static_cast<std::size_t>(std::countr_zero(sure));
        length = part_.transfer(net, d, to);
        if (length <= 0) continue;
        tail = -1;
        for (std::size_t k = first; k < last; ++k) {
          const std::uint32_t to_op = part_.edges[out[k]].to;
          const std::size_t at = to_op * devices_ + to;
          if (level.allowed[part_.unit[to_op]] != 1u << to || part_.seconds[at] + level.tail[at] <= tail)
            continue;
          tail = part_.seconds[at] + level.tail[at];
          reader = to_op;
        }
        uses_.push_back({{release, length, tail}, op, reader});
      }
    }
  }
}

// Of each net that comes to device d from elsewhere one transfer.
void Refuter::listReceives(const Level& level, std::size_t d) {
  for (std::uint32_t net = 0; net < part_.netCount(); ++net) {
    const std::uint32_t from_op = part_.net_from[net];
    std::uint32_t mask = level.allowed[part_.unit[from_op]], reader = 0;
    if ((mask >> d) & 1) continue;
    double tail = -1;
    for (const std::uint32_t e : part_.edges_out[from_op]) {
      const std::uint32_t to_op = part_.edges[e].to;
      const std::size_t at = to_op * devices_ + d;
      if (part_.edges[e].net != net || level.allowed[part_.unit[to_op]] != 1u << d) continue;
      if (part_.seconds[at] + level.tail[at] <= tail) continue;
      tail = part_.seconds[at] + level.tail[at];
      reader = to_op;
    }
    if (tail < 0) continue;
    double release = kInfinity, length = kInfinity;
    for (; mask != 0; mask &= mask - 1) {
      const auto from = static_cast<std::size_t>(std::countr_zero(mask));
      const std::size_t at = from_op * devices_ + from;
      release = std::min(release, level.head[at] + part_.seconds[at]);
      length = std::min(length, part_.transfer(net, from, d));
    }
    if (length > 0) uses_.push_back({{release, length, tail}, from_op, reader});
  }
}

bool Refuter::fitPorts(Level& level, bool& changed) {
  const bool half = part_.link_mode == LinkMode::kHalfDuplex;
  for (std::size_t d = 0; d < devices_; ++d) {
    uses_.clear();
    listSends(level, d);
    if (!half) {
      if (!orderUses(level, changed)) return false;
      uses_.clear();
    }
    listReceives(level, d);
    if (!orderUses(level, changed)) return false;
  }
  return true;
}

// Transfers through one port must fit together, and of two, one that cannot come first comes second: its
// reader waits for both, and behind the other's producer both follow.
bool Refuter::orderUses(Level& level, bool& changed) {
  if (uses_.size() < 2) return true;
  list_.clear();
  for (const PortUse& use : uses_) list_.push_back(use.transfer);
  if (late(windows_.overfull(list_, limit_))) return false;
  const auto raise = [&](std::vector<double>& times, std::uint32_t op, double least) {
    for (std::uint32_t mask = level.allowed[part_.unit[op]]; mask != 0; mask &= mask - 1) {
      double& time = times[op * devices_ + static_cast<std::size_t>(std::countr_zero(mask))];
      if (time >= least) continue;
      time = least;
      changed = true;
    }
  };
  for (std::size_t x = 0; x < uses_.size(); ++x) {
    for (std::size_t y = x + 1; y < uses_.size(); ++y) {
      const Activity &a = uses_[x].transfer, &b = uses_[y].transfer;
      const double forward = a.head + a.length + b.length + b.tail;
      const double backward = b.head + b.length + a.length + a.tail;
      if (forward <= limit_ && backward <= limit_) continue;
      const bool swapped = late(forward);
      if (late(backward) && swapped) return false;
      const PortUse &first = uses_[swapped ? y : x], &second = uses_[swapped ? x : y];
      const double both = first.transfer.length + second.transfer.length;
      raise(level.head, second.to, first.transfer.head + both);
      raise(level.tail, first.from, both + second.transfer.tail);
    }
  }
  return true;
}

// Prices of device time: if the ops cost more, each where it is cheapest, than all the time there is, they do
// not fit.
bool Refuter::fitLoad(const Level& level) {
  std::vector<double> room(devices_, -kInfinity), head(devices_, kInfinity), tail(devices_, kInfinity);
  for (std::size_t op = 0; op < part_.opCount(); ++op) {
    for (std::uint32_t mask = level.allowed[part_.unit[op]]; mask != 0; mask &= mask - 1) {
      const auto d = static_cast<std::size_t>(std::countr_zero(mask));
      const std::size_t at = op * devices_ + d;
      if (part_.busy[at] <= 0) continue;
      head[d] = std::min(head[d], level.head[at]);
      tail[d] = std::min(tail[d], level.tail[at] - (part_.busy[at] - part_.seconds[at]));
    }
  }
  for (std::size_t d = 0; d < devices_; ++d) {
    if (head[d] < kInfinity) room[d] = std::max(0.0, limit_ - head[d] - tail[d]);
  }
  std::vector<double> load(devices_);
  for (int step = 0; step < kPriceSteps; ++step) {
    std::fill(load.begin(), load.end(), 0);
    double cost = 0, worth = 0, slope = 0;
    for (std::size_t op = 0; op < part_.opCount(); ++op) {
      double least = kInfinity;
      std::size_t where = 0;
      for (std::uint32_t mask = level.allowed[part_.unit[op]]; mask != 0; mask &= mask - 1) {
        const auto d = static_cast<std::size_t>(std::countr_zero(mask));
        const double price = price_[d] * part_.busy[op * devices_ + d];
        if (price >= least) continue;
        least = price;
        where = d;
      }
      cost += least;
      load[where] += part_.busy[op * devices_ + where];
    }
    for (std::size_t d = 0; d < devices_; ++d) {
      if (room[d] == -kInfinity) continue;
      worth += price_[d] * room[d];
      slope += price_[d];
    }
    // With more time the devices are worth more, by their prices.
    if (cost > worth * (1 + kRounding) && slope > 0) {
      next = std::min(next, limit_ + (cost - worth) / slope);
      return false;
    }
    // Raise the price where more work went than fits.
    double sum = 0;
    for (std::size_t d = 0; d < devices_; ++d) {
      if (room[d] == -kInfinity) continue;
      const double excess = room[d] > 0 ? load[d] / room[d] - 1 : 1;
      price_[d] *= std::exp(std::clamp(0.5 * excess / std::sqrt(1.0 + step), -1.0, 1.0));
      price_[d] = std::clamp(price_[d], 1e-9, 1e9);
      sum += price_[d];
    }
    if (sum <= 0) return true;
    for (double& price : price_) price /= sum;
  }
  return true;
}

}  // namespace allot
