#include "solve/throughput/price_sweep.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace allot {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::size_t kEntriesPerPoll = 2000000;
// Layers of fewer entries are done sooner by one thread; others are cut into so many ranges of prizes.
constexpr std::size_t kSharedEntries = 8'000;
constexpr std::int64_t kRanges = 4;
// Prices of load, in units of need / limit, that bound what can still be collected.
constexpr double kLoadPrices[] = {0, 0.7, 1, 1.4, 2.2, 4};

// The loops that take the time: target[i] = min(target[i], source[i] + cost), and the same where nothing is
// there yet.
inline __attribute__((always_inline)) void lowerAll(const double* __restrict source,
                                                    double* __restrict target, std::int64_t count,
                                                    double cost) {
  for (std::int64_t i = 0; i < count; ++i) {
    const double load = source[i] + cost;
    target[i] = load < target[i] ? load : target[i];
  }
}
inline __attribute__((always_inline)) void writeAll(const double* __restrict source,
                                                    double* __restrict target, std::int64_t count,
                                                    double cost) {
  for (std::int64_t i = 0; i < count; ++i) target[i] = source[i] + cost;
}

void lowerNarrow(const double* source, double* target, std::int64_t count, double cost) {
  lowerAll(source, target, count, cost);
}
void writeNarrow(const double* source, double* target, std::int64_t count, double cost) {
  writeAll(source, target, count, cost);
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) void lowerWide(const double* source, double* target, std::int64_t count,
                                               double cost) {
  lowerAll(source, target, count, cost);
}
__attribute__((target("avx2"))) void writeWide(const double* source, double* target, std::int64_t count,
                                               double cost) {
  writeAll(source, target, count, cost);
}

const auto lower = __builtin_cpu_supports("avx2") ? lowerWide : lowerNarrow;
const auto write = __builtin_cpu_supports("avx2") ? writeWide : writeNarrow;
#else
const auto lower = lowerNarrow, write = writeNarrow;
#endif

}  // namespace

PriceSweep::PriceSweep(const PriceDiagram& diagram, WalkCrew& crew)
    : diagram_(diagram),
      crew_(crew),
      stride_(std::max<std::size_t>(
          1, static_cast<std::size_t>(std::sqrt(static_cast<double>(diagram.layers()))))) {}

// For each node, an upper bound on the prize that the rest of a path can add: for any price of load, the best
// path by prize less paid load plus the price of all the load that is left.
std::vector<double> PriceSweep::prizeAfter(double limit) const {
  const std::size_t nodes = diagram_.nodeCount();
  std::vector<double> most(nodes, kInfinity), value(nodes);
  for (const double factor : kLoadPrices) {
    const double price = limit > 0 ? factor * need_ / limit : 0;
    for (std::size_t layer = diagram_.layers() + 1; layer-- > 0;) {
      for (std::size_t node = diagram_.layer_begin[layer]; node < diagram_.layer_begin[layer + 1]; ++node) {
        double best = layer == diagram_.layers() ? 0 : -kInfinity;
        const PriceArc &out = diagram_.without[node], &in = diagram_.with[node];
        if (out.to >= 0) best = std::max(best, value[static_cast<std::size_t>(out.to)] - price * out.cost);
        if (in.to >= 0)
          best = std::max(best, value[static_cast<std::size_t>(in.to)] - price * in.cost + prize_[layer]);
        value[node] = best;
        const double room = std::max(0.0, limit - diagram_.least_before[node]);
        most[node] = std::min(most[node], best + price * room);
      }
    }
  }
  return most;
}

// `fresh`: nothing has been spread to the child yet.
void PriceSweep::spread(std::size_t layer, std::size_t node, const PriceArc& arc, std::uint32_t gain,
                        Range range, bool fresh) {
  const auto to = static_cast<std::size_t>(arc.to);
  const double cost = arc.cost;
  // Prizes p of the node that land in the child's row, and those that reach its top and are cut to it.
  const std::int64_t low = low_[node], high = low + size_[node] - 1;
  const std::int64_t child_low = low_[to], child_high = child_low + size_[to] - 1;
  const std::int64_t range_low = std::max(child_low, range.first);
  const std::int64_t range_high = std::min(child_high, range.last);
  const double* row = &tables_[layer].entries[begin_[node]];
  double* child_row = &tables_[layer + 1].entries[begin_[to]];
  const auto from = [&](std::int64_t prize) { return row + (prize - low); };
  const auto into = [&](std::int64_t prize) { return child_row + (prize - child_low); };
  const std::int64_t first = std::max(low, range_low - gain);
  const std::int64_t last = std::min(high, range_high - gain);
  if (fresh) {
    const std::int64_t begin = std::min(std::max(first + gain, range_low), range_high + 1);
    const std::int64_t end = std::max(begin, std::min(last + gain, range_high) + 1);
    std::fill(into(range_low), into(begin), kInfinity);
    std::fill(into(end), into(range_high + 1), kInfinity);
  }
  if (first <= last) (fresh ? write : lower)(from(first), into(first + gain), last - first + 1, cost);
  if (child_high < cap_ || range.last < child_high) return;
  double best = *into(child_high);
  for (std::int64_t p = std::max(low, child_high - gain + 1); p <= high; ++p)
    best = std::min(best, *from(p) + cost);
  *into(child_high) = best;
}

void PriceSweep::spreadRange(std::size_t layer, Range range) {
  const std::size_t next = diagram_.layer_begin[layer + 1], next_end = diagram_.layer_begin[layer + 2];
  std::vector<std::uint8_t> reached(next_end - next, 0);
  const auto reaches = [&](std::size_t node) {
    return size_[node] > 0 && low_[node] <= range.last && low_[node] + size_[node] > range.first;
  };
  for (std::size_t node = diagram_.layer_begin[layer]; node < next; ++node) {
    if (size_[node] == 0) continue;
    for (const bool take : {false, true}) {
      const PriceArc& arc = (take ? diagram_.with : diagram_.without)[node];
      if (arc.to < 0 || !reaches(static_cast<std::size_t>(arc.to))) continue;
      std::uint8_t& seen = reached[static_cast<std::size_t>(arc.to) - next];
      spread(layer, node, arc, take ? prize_[layer] : 0, range, seen == 0);
      seen = 1;
    }
  }
  for (std::size_t node = next; node < next_end; ++node) {
    if (reached[node - next] != 0 || !reaches(node)) continue;
    const std::int64_t low = low_[node], high = low + size_[node] - 1;
    double* row = &tables_[layer + 1].entries[begin_[node]];
    std::fill(row + (std::max(low, range.first) - low), row + (std::min(high, range.last) + 1 - low),
              kInfinity);
  }
}

// Computes the table of the next layer, of so many entries; its rows have their places already.
void PriceSweep::spreadLayer(std::size_t layer, std::size_t entries) {
  tables_[layer + 1].makeRoom(entries);
  std::int64_t first = cap_, last = 0;
  for (std::size_t node = diagram_.layer_begin[layer + 1]; node < diagram_.layer_begin[layer + 2]; ++node) {
    if (size_[node] == 0) continue;
    first = std::min<std::int64_t>(first, low_[node]);
    last = std::max<std::int64_t>(last, low_[node] + size_[node] - 1);
  }
  if (entries < kSharedEntries || last - first < kRanges) {
    spreadRange(layer, {first, last});
    return;
  }
  const WalkCrew::Task task = [&](std::size_t, std::size_t i, const WalkPart*) {
    const auto at = [&](std::size_t part) {
      return first + (last + 1 - first) * static_cast<std::int64_t>(part) / kRanges;
    };
    spreadRange(layer, {at(i), at(i + 1) - 1});
  };
  crew_.run(kRanges, task, true);
}

bool PriceSweep::run(std::span<const std::uint32_t> prize, std::uint32_t need, std::uint32_t cap,
                     double limit, const Budget& budget) {
  need_ = need;
  cap_ = cap;
  const std::size_t layers = diagram_.layers(), nodes = diagram_.nodeCount();
  prize_.resize(layers);
  for (std::size_t i = 0; i < layers; ++i) prize_[i] = prize[diagram_.item[i]];
  const std::vector<double> after = prizeAfter(limit);
  tables_.resize(layers + 1);
  begin_.assign(nodes, 0);
  low_.assign(nodes, 0);
  size_.assign(nodes, 0);
  std::vector<std::uint32_t> high(nodes, 0);
  std::vector<std::uint8_t> reached(nodes, 0);
  tables_[0].makeRoom(1);
  tables_[0].entries[0] = 0;
  size_[0] = 1;
  reached[0] = 1;
  std::size_t entries = 0;
  entries_ = 0;
  for (std::size_t layer = 0; layer < layers; ++layer) {
    const std::size_t begin = diagram_.layer_begin[layer], end = diagram_.layer_begin[layer + 1];
    const std::size_t next_end = diagram_.layer_begin[layer + 2];
    for (std::size_t node = begin; node < end; ++node) {
      // Entries at the top from which the end cannot be reached within the limit are useless.
      if (size_[node] == 0) continue;
      const double room = limit - diagram_.least_after[node];
      const double* row = &tables_[layer].entries[begin_[node]];
      while (size_[node] > 0 && row[size_[node] - 1] > room) --size_[node];
      if (size_[node] == 0) continue;
      const std::uint32_t top = low_[node] + size_[node] - 1;
      for (const bool take : {false, true}) {
        const PriceArc& arc = (take ? diagram_.with : diagram_.without)[node];
        if (arc.to < 0) continue;
        const auto to = static_cast<std::size_t>(arc.to);
        const std::uint32_t gain = take ? prize_[layer] : 0;
        high[to] = std::max(high[to], std::min(cap_, top + gain));
        const std::uint32_t low = std::min(cap_, low_[node] + gain);
        low_[to] = reached[to] ? std::min(low_[to], low) : low;
        reached[to] = 1;
      }
    }
    std::size_t size = 0;
    for (std::size_t node = end; node < next_end; ++node) {
      if (!reached[node]) continue;
      // One unit of slack keeps rounding in the bound on the rest from cutting what is needed.
      const double floor = std::floor(need_ - after[node] * (1 + 1e-9)) - 1;
      if (floor > high[node]) continue;
      if (floor > low_[node]) low_[node] = static_cast<std::uint32_t>(floor);
      begin_[node] = size;
      size_[node] = high[node] - low_[node] + 1;
      size += size_[node];
    }
    spreadLayer(layer, size);
    // The next layer but one takes over the space.
    if (!kept(layer) && layer + 2 <= layers) std::swap(tables_[layer], tables_[layer + 2]);
    entries_ += size;
    entries += size;
    if (entries > kEntriesPerPoll) {
      entries = 0;
      if (budget.stopped()) return false;
    }
  }
  least_.assign(cap_ + 1, kInfinity);
  for (std::size_t node = diagram_.layer_begin[layers]; node < nodes; ++node) {
    for (std::uint32_t i = 0; i < size_[node]; ++i) {
      const double load = tables_[layers].entries[begin_[node] + i];
      if (load <= limit) least_[low_[node] + i] = std::min(least_[low_[node] + i], load);
    }
  }
  for (std::size_t p = cap_; p-- > 0;) least_[p] = std::min(least_[p], least_[p + 1]);
  return true;
}

double PriceSweep::leastLoad(std::uint32_t prize) const {
  return prize <= cap_ ? least_[prize] : kInfinity;
}

std::uint32_t PriceSweep::mostPrize(double load) const {
  // least_ never falls with the prize.
  const auto above = std::upper_bound(least_.begin(), least_.end(), load);
  const auto most = above == least_.begin() ? 0 : static_cast<std::uint32_t>(above - least_.begin()) - 1;
  return std::max(most, need_ > 0 ? need_ - 1 : 0);
}

void PriceSweep::stepBack(std::size_t layer, Walk& walk, double slack, Random* random,
                          std::vector<std::uint32_t>& set) const {
  Walk chosen;
  bool chosen_takes = false;
  std::uint32_t ways = 0;
  for (std::size_t parent = diagram_.layer_begin[layer]; parent < diagram_.layer_begin[layer + 1]; ++parent) {
    if (size_[parent] == 0) continue;
    for (const bool take : {false, true}) {
      const PriceArc& arc = (take ? diagram_.with : diagram_.without)[parent];
      const std::uint32_t gain = take ? prize_[layer] : 0;
      if (arc.to != static_cast<std::int32_t>(walk.node) || (walk.prize < gain && walk.prize != cap_))
        continue;
      const std::uint32_t top = low_[parent] + size_[parent] - 1;
      // At the cap several prizes of the parent lead here.
      const std::uint32_t from = std::max(low_[parent], walk.prize > gain ? walk.prize - gain : 0);
      const std::uint32_t to = std::min(top, walk.prize == cap_ ? top : walk.prize - gain);
      const double left = walk.load - arc.cost;
      for (std::uint32_t p = from; p <= to; ++p) {
        if (tables_[layer].entries[begin_[parent] + (p - low_[parent])] > left + slack) continue;
        ++ways;
        if (ways > 1 && (random == nullptr || random->below(ways) != 0)) continue;
        chosen = {parent, p, left, true};
        chosen_takes = take;
      }
    }
  }
  walk = chosen;
  if (walk.alive && chosen_takes) set.push_back(diagram_.item[layer]);
}

std::vector<std::vector<std::uint32_t>> PriceSweep::sets(std::span<const Wish> wishes, Random& random) {
  const std::size_t layers = diagram_.layers();
  std::vector<std::vector<std::uint32_t>> out(wishes.size());
  std::vector<Walk> walks(wishes.size());
  for (std::size_t i = 0; i < wishes.size(); ++i) {
    for (std::size_t last = diagram_.layer_begin[layers]; last < diagram_.nodeCount(); ++last) {
      for (std::uint32_t j = 0; j < size_[last] && !walks[i].alive; ++j) {
        if (low_[last] + j >= wishes[i].prize && tables_[layers].entries[begin_[last] + j] <= wishes[i].load)
          walks[i] = {last, low_[last] + j, wishes[i].load, true};
      }
    }
  }
  for (std::size_t end = layers; end > 0;) {
    const std::size_t begin = (end - 1) / stride_ * stride_;
    for (std::size_t layer = begin + 1; layer < end; ++layer) {
      std::size_t size = 0;
      for (std::size_t node = diagram_.layer_begin[layer]; node < diagram_.layer_begin[layer + 1]; ++node) {
        begin_[node] = size;
        size += size_[node];
      }
      spreadLayer(layer - 1, size);
    }
    for (std::size_t layer = end; layer-- > begin;) {
      for (std::size_t i = 0; i < walks.size(); ++i) {
        // Going back takes off what going forth added, but in another order.
        if (walks[i].alive)
          stepBack(layer, walks[i], 1e-12 * wishes[i].load, wishes[i].by_chance ? &random : nullptr, out[i]);
      }
    }
    // The segment before takes over the space.
    for (std::size_t layer = begin + 1; layer < end && begin > 0; ++layer)
      std::swap(tables_[layer], tables_[layer - stride_]);
    end = begin;
  }
  for (std::size_t i = 0; i < walks.size(); ++i) {
    if (!walks[i].alive) out[i].clear();
  }
  return out;
}

}  // namespace allot
