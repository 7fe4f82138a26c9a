// What must pass the ports of devices: part of `Refuter` for one-port modes.
#include <algorithm>
#include <bit>
#include <limits>

#include "solve/latency/refute.h"

namespace allot {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace

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

// Transfers that are sure to pass a port: of each net that leaves device d one to each device where a
// consumer is bound, or one in all.
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
        if (isBound(mask)) sure |= mask;
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

}  // namespace allot
