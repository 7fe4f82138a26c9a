#include "solve/throughput/price_sweep.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace allot {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::size_t kEntriesPerPoll = 2'000'000;

// A way into a node: least loads of the parent, and what the way adds.
struct Source {
  const double* loads;
  double cost;
};

// The loops that take the time: target[i] = what one way leads to, the less of what two ways lead to, or the
// less of what is there and what another way leads to.
inline __attribute__((always_inline)) void writeAll(Source a, double* __restrict target, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) target[i] = a.loads[i] + a.cost;
}
inline __attribute__((always_inline)) void joinAll(Source a, Source b, double* __restrict target,
                                                   std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    const double by_a = a.loads[i] + a.cost, by_b = b.loads[i] + b.cost;
    target[i] = by_a < by_b ? by_a : by_b;
  }
}
inline __attribute__((always_inline)) void lowerAll(Source a, double* __restrict target, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    const double load = a.loads[i] + a.cost;
    target[i] = load < target[i] ? load : target[i];
  }
}

void writeNarrow(Source a, double* target, std::int64_t count) {
  writeAll(a, target, count);
}
void joinNarrow(Source a, Source b, double* target, std::int64_t count) {
  joinAll(a, b, target, count);
}
void lowerNarrow(Source a, double* target, std::int64_t count) {
  lowerAll(a, target, count);
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) void writeWide(Source a, double* target, std::int64_t count) {
  writeAll(a, target, count);
}
__attribute__((target("avx2"))) void joinWide(Source a, Source b, double* target, std::int64_t count) {
  joinAll(a, b, target, count);
}
__attribute__((target("avx2"))) void lowerWide(Source a, double* target, std::int64_t count) {
  lowerAll(a, target, count);
}

const bool kWide = __builtin_cpu_supports("avx2");
const auto write = kWide ? writeWide : writeNarrow;
const auto join = kWide ? joinWide : joinNarrow;
const auto lower = kWide ? lowerWide : lowerNarrow;
#else
const auto write = writeNarrow;
const auto join = joinNarrow;
const auto lower = lowerNarrow;
#endif

}  // namespace

PriceSweep::PriceSweep(const PriceDiagram& diagram)
    : diagram_(diagram),
      stride_(std::max<std::size_t>(
          1, static_cast<std::size_t>(std::sqrt(static_cast<double>(diagram.layers()))))),
      kept_(diagram.layers() / stride_ + 1),
      between_(std::max<std::size_t>(stride_, 2)) {}

// For each node, an upper bound on the prize that the rest of a path can add: for any price of load, the best
// path by prize less paid load plus the price of all the load that is left.
void PriceSweep::boundPrizeAfter(double limit) {
  const double unit = limit > 0 ? need_ / limit : 0;
  best_after_.resize(diagram_.nodeCount());
  prize_after_.resize(diagram_.nodeCount());
  for (std::size_t layer = diagram_.layers() + 1; layer-- > 0;) {
    for (std::size_t node = diagram_.layer_begin[layer]; node < diagram_.layer_begin[layer + 1]; ++node) {
      auto& best = best_after_[node];
      best.fill(layer == diagram_.layers() ? 0 : -kInfinity);
      const auto raise = [&](const PriceArc& arc, double prize) {
        if (arc.to < 0) return;
        const auto& after = best_after_[static_cast<std::size_t>(arc.to)];
        for (std::size_t i = 0; i < best.size(); ++i)
          best[i] = std::max(best[i], after[i] - kLoadPrices[i] * unit * arc.cost + prize);
      };
      if (layer < diagram_.layers()) {
        raise(diagram_.without[node], 0);
        raise(diagram_.with[node], prize_[layer]);
      }
      const double room = std::max(0.0, limit - diagram_.least_before[node]);
      prize_after_[node] = kInfinity;
      for (std::size_t i = 0; i < best.size(); ++i)
        prize_after_[node] = std::min(prize_after_[node], best[i] + kLoadPrices[i] * unit * room);
    }
  }
}

// Entries at the top from which the end cannot be reached within the limit are useless.
void PriceSweep::trimRows(std::size_t layer, double limit) {
  for (std::size_t node = diagram_.layer_begin[layer]; node < diagram_.layer_begin[layer + 1]; ++node) {
    Row& row = rows_[node];
    const double room = limit - diagram_.least_after[node];
    const double* loads = table(layer).from(row.begin);
    while (row.size > 0 && loads[row.size - 1] > room) --row.size;
  }
}

// Gives the nodes of a layer rows for the prizes that the layer before leads to and that may do.
void PriceSweep::setRows(std::size_t layer) {
  std::size_t size = 0;
  for (std::size_t node = diagram_.layer_begin[layer]; node < diagram_.layer_begin[layer + 1]; ++node) {
    Range range{cap_, -1};
    for (const WayIn& way : diagram_.ways_in[node]) {
      const Row& parent = rows_[way.parent];
      if (parent.size == 0) continue;
      range.first = std::min(range.first, parent.low + std::int64_t{gain(way, layer - 1)});
      range.last = std::max(range.last, parent.last() + gain(way, layer - 1));
    }
    range.last = std::min<std::int64_t>(range.last, cap_);
    // One unit of slack keeps rounding in the bound on the rest from cutting what is needed.
    const double floor = std::floor(need_ - prize_after_[node] * (1 + 1e-9)) - 1;
    rows_[node] = {};
    if (range.last < 0 || floor > static_cast<double>(range.last)) continue;
    if (floor > static_cast<double>(range.first)) range.first = static_cast<std::int64_t>(floor);
    rows_[node] = {size, static_cast<std::uint32_t>(range.first),
                   static_cast<std::uint32_t>(range.last - range.first + 1)};
    size += rows_[node].size;
  }
  table(layer).makeRoom(size);
  entries_ += size;
}

// Leaves of the rows after layer `begin` and before `end` what ways back from `end` can come to.
void PriceSweep::narrowRows(std::size_t begin, std::size_t end, std::span<const Walk> walks) {
  const std::size_t base = diagram_.layer_begin[begin];
  std::vector<Range> wanted(diagram_.layer_begin[end + 1] - base, {cap_, -1});
  const auto want = [&](std::size_t node, Range range) {
    Range& all = wanted[node - base];
    all = {std::min(all.first, range.first), std::max(all.last, range.last)};
  };
  for (const Walk& walk : walks) {
    if (walk.alive) want(walk.node, {walk.prize, walk.prize});
  }
  for (std::size_t layer = end; layer > begin + 1; --layer) {
    for (std::size_t node = diagram_.layer_begin[layer]; node < diagram_.layer_begin[layer + 1]; ++node) {
      const Range range = wanted[node - base];
      if (range.last < 0) continue;
      for (const WayIn& way : diagram_.ways_in[node]) {
        const std::int64_t less = gain(way, layer - 1);
        // Several prizes lead to the cap.
        want(way.parent,
             {std::max<std::int64_t>(0, range.first - less), range.last == cap_ ? cap_ : range.last - less});
      }
    }
    std::size_t size = 0;
    for (std::size_t node = diagram_.layer_begin[layer - 1]; node < diagram_.layer_begin[layer]; ++node) {
      Row& row = rows_[node];
      const Range range{std::max<std::int64_t>(row.low, wanted[node - base].first),
                        std::min(row.last(), wanted[node - base].last)};
      row = {size, static_cast<std::uint32_t>(range.first),
             static_cast<std::uint32_t>(std::max<std::int64_t>(0, range.last - range.first + 1))};
      size += row.size;
    }
    table(layer - 1).makeRoom(size);
  }
}

// What goes beyond the cap is cut to it.
void PriceSweep::followToCap(const WayIn& way, std::size_t layer, double& top) {
  const Row& parent = rows_[way.parent];
  const double* loads = table(layer).from(parent.begin);
  for (std::int64_t p = std::max<std::int64_t>(parent.low, std::int64_t{cap_} - gain(way, layer) + 1);
       p <= parent.last(); ++p)
    top = std::min(top, loads[p - parent.low] + way.cost);
}

// Computes the table of the next layer; its rows have their places already. Most nodes have two ways in,
// which are followed together: the loops wait for memory.
void PriceSweep::spread(std::size_t layer) {
  for (std::size_t node = diagram_.layer_begin[layer + 1]; node < diagram_.layer_begin[layer + 2]; ++node) {
    const Row& row = rows_[node];
    if (row.size == 0) continue;
    double* own = table(layer + 1).from(row.begin);
    const auto at = [&](std::int64_t prize) { return own + (prize - row.low); };
    // A way in, and the prizes of the row that it leads to.
    struct Lead {
      const double* loads = nullptr;  // of the parent; the first one leads to prize `low`
      double cost = 0;
      std::int64_t low = 0, first, end;
      Source from(std::int64_t prize) const { return {loads + (prize - low), cost}; }
    };
    const std::int64_t row_end = row.last() + 1;
    const auto ways = diagram_.ways_in[node];
    auto way = ways.begin();
    // The next one that leads anywhere.
    const auto next = [&] {
      for (; way != ways.end(); ++way) {
        const Row& parent = rows_[way->parent];
        const std::int64_t more = gain(*way, layer);
        const std::int64_t first = std::max<std::int64_t>(parent.low + more, row.low),
                           end = std::min(parent.last() + more + 1, row_end);
        if (parent.size == 0 || end <= first) continue;
        const double* loads = table(layer).from(parent.begin);
        return Lead{loads, (way++)->cost, parent.low + more, first, end};
      }
      return Lead{nullptr, 0, 0, row_end, row_end};
    };
    Lead a = next(), b = next();
    if (b.first < a.first) std::swap(a, b);
    const Lead& longer = a.end > b.end ? a : b;
    const std::int64_t alone_end = std::min(a.end, b.first), both_end = std::min(a.end, b.end),
                       rest = std::max(both_end, b.first);
    std::fill(own, at(a.first), kInfinity);
    if (a.first < alone_end) write(a.from(a.first), at(a.first), alone_end - a.first);
    if (alone_end < b.first) std::fill(at(alone_end), at(b.first), kInfinity);
    if (b.first < both_end) join(a.from(b.first), b.from(b.first), at(b.first), both_end - b.first);
    if (rest < longer.end) write(longer.from(rest), at(rest), longer.end - rest);
    std::fill(at(std::max(rest, longer.end)), at(row_end), kInfinity);
    for (Lead more = next(); more.first < more.end; more = next())
      lower(more.from(more.first), at(more.first), more.end - more.first);
    if (row.last() < cap_) continue;
    for (const WayIn& each : ways) {
      if (rows_[each.parent].size > 0) followToCap(each, layer, own[row.size - 1]);
    }
  }
}

bool PriceSweep::run(std::span<const std::uint32_t> prize, std::uint32_t need, std::uint32_t cap,
                     double limit, const Budget& budget) {
  need_ = need;
  cap_ = cap;
  entries_ = 0;
  const std::size_t layers = diagram_.layers();
  prize_.resize(layers);
  for (std::size_t i = 0; i < layers; ++i) prize_[i] = prize[diagram_.item[i]];
  boundPrizeAfter(limit);
  rows_.assign(diagram_.nodeCount(), {});
  table(0).makeRoom(1);
  table(0).entries[0] = 0;
  rows_[0].size = 1;
  cycle_ = 2;
  std::size_t polled = 0;
  for (std::size_t layer = 0; layer < layers; ++layer) {
    trimRows(layer, limit);
    setRows(layer + 1);
    spread(layer);
    if (entries_ - polled > kEntriesPerPoll) {
      polled = entries_;
      if (budget.stopped()) return false;
    }
  }
  std::vector<double>& least = least_.by_prize_;
  least_.need_ = need_;
  least.assign(cap_ + 1, kInfinity);
  for (std::size_t node = diagram_.layer_begin[layers]; node < diagram_.nodeCount(); ++node) {
    const Row& row = rows_[node];
    for (std::uint32_t i = 0; i < row.size; ++i) {
      const double load = table(layers).entries[row.begin + i];
      if (load <= limit) least[row.low + i] = std::min(least[row.low + i], load);
    }
  }
  for (std::size_t p = cap_; p-- > 0;) least[p] = std::min(least[p], least[p + 1]);
  return true;
}

double LeastLoads::leastLoad(std::uint32_t prize) const {
  return prize < by_prize_.size() ? by_prize_[prize] : kInfinity;
}

std::uint32_t LeastLoads::mostPrize(double load) const {
  // Loads never fall with the prize.
  const auto above = std::upper_bound(by_prize_.begin(), by_prize_.end(), load);
  const auto most =
      above == by_prize_.begin() ? 0 : static_cast<std::uint32_t>(above - by_prize_.begin()) - 1;
  return std::max(most, need_ > 0 ? need_ - 1 : 0);
}

void PriceSweep::stepBack(std::size_t layer, Walk& walk, double slack, Random* random,
                          std::vector<std::uint32_t>& set) {
  Walk chosen;
  bool chosen_takes = false;
  std::uint32_t ways = 0;
  for (const WayIn& way : diagram_.ways_in[walk.node]) {
    const Row& parent = rows_[way.parent];
    const std::uint32_t less = gain(way, layer);
    if (parent.size == 0 || (walk.prize < less && walk.prize != cap_)) continue;
    // At the cap several prizes of the parent lead here.
    const std::int64_t first = std::max<std::int64_t>(parent.low, std::int64_t{walk.prize} - less);
    const std::int64_t last =
        std::min(parent.last(), walk.prize == cap_ ? cap_ : std::int64_t{walk.prize} - less);
    const double left = walk.load - way.cost;
    for (std::int64_t p = first; p <= last; ++p) {
      if (table(layer).entries[parent.begin + static_cast<std::size_t>(p - parent.low)] > left + slack)
        continue;
      ++ways;
      if (ways > 1 && (random == nullptr || random->below(ways) != 0)) continue;
      chosen = {way.parent, static_cast<std::uint32_t>(p), left, true};
      chosen_takes = way.takes;
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
      const Row& row = rows_[last];
      for (std::uint32_t j = 0; j < row.size && !walks[i].alive; ++j) {
        if (row.low + j >= wishes[i].prize && table(layers).entries[row.begin + j] <= wishes[i].load)
          walks[i] = {last, row.low + j, wishes[i].load, true};
      }
    }
  }
  cycle_ = stride_;
  for (std::size_t end = layers; end > 0;) {
    const std::size_t begin = (end - 1) / stride_ * stride_;
    narrowRows(begin, end, walks);
    for (std::size_t layer = begin; layer + 1 < end; ++layer) spread(layer);
    for (std::size_t layer = end; layer-- > begin;) {
      for (std::size_t i = 0; i < walks.size(); ++i) {
        // Going back takes off what going forth added, but in another order.
        if (walks[i].alive)
          stepBack(layer, walks[i], 1e-12 * wishes[i].load, wishes[i].by_chance ? &random : nullptr, out[i]);
      }
    }
    end = begin;
  }
  for (std::size_t i = 0; i < walks.size(); ++i) {
    if (!walks[i].alive) out[i].clear();
  }
  return out;
}

}  // namespace allot
