// What must fit on the devices: part of `Refuter`.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "solve/latency/refute.h"

namespace allot {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr int kPriceSteps = 12;

}  // namespace

// Units bound to a device hold their bytes there; others go where there is room.
bool Refuter::fitMemory(Level& level) {
  for (bool changed = true; changed;) {
    changed = false;
    std::vector<double> room = part_.memory;
    double unbound = 0, most = 0;
    for (std::size_t u = 0; u < part_.unitCount(); ++u) {
      if (isBound(level.allowed[u]))
        room[static_cast<std::size_t>(std::countr_zero(level.allowed[u]))] -= part_.unit_bytes[u];
      else
        unbound += part_.unit_bytes[u];
    }
    for (std::size_t d = 0; d < devices_; ++d) {
      if (room[d] < -kRounding * part_.memory[d]) return false;
      most += room[d] + kRounding * part_.memory[d];
    }
    if (unbound > most * (1 + kRounding)) return false;
    for (std::size_t u = 0; u < part_.unitCount(); ++u) {
      if (isBound(level.allowed[u])) continue;
      for (std::uint32_t mask = level.allowed[u]; mask != 0; mask &= mask - 1) {
        const auto d = static_cast<std::size_t>(std::countr_zero(mask));
        if (part_.unit_bytes[u] <= room[d] + kRounding * part_.memory[d]) continue;
        level.allowed[u] &= ~(1u << d);
        changed = true;
      }
      if (level.allowed[u] == 0) return false;
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
      if (isBound(mask)) {
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
      if (!((mask >> d) & 1) || part_.busy[at] <= 0 || isBound(mask)) continue;
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
      const double tail =
          part_.busy[first] - part_.seconds[first] + part_.seconds[second] + level.tail[second];
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
