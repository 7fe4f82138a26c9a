#include "solve/throughput/price_sweep.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <limits>
#include <numeric>
#include <thread>

namespace allot {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Layers are cut into pieces of so many entries or more, a few for each thread.
constexpr std::size_t kPieceEntries = 4'000, kPiecesPerThread = 2, kMostPieces = 256;
constexpr std::size_t kEntriesPerPoll = 2'000'000;
constexpr int kSpins = 2'000;  // before a thread that waits lets others run
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
          1, static_cast<std::size_t>(std::sqrt(static_cast<double>(diagram.layers()))))),
      way_begin_(diagram.nodeCount() + 1, 0),
      kept_(diagram.layers() / stride_ + 1),
      between_(std::max<std::size_t>(stride_, 2)) {
  const auto eachArc = [&](auto visit) {
    for (std::uint32_t node = 0; node < diagram.nodeCount(); ++node) {
      if (diagram.without[node].to >= 0)
        visit(diagram.without[node], WayIn{node, false, diagram.without[node].cost});
      if (diagram.with[node].to >= 0) visit(diagram.with[node], WayIn{node, true, diagram.with[node].cost});
    }
  };
  eachArc([&](const PriceArc& arc, const WayIn&) { ++way_begin_[static_cast<std::size_t>(arc.to) + 1]; });
  std::partial_sum(way_begin_.begin(), way_begin_.end(), way_begin_.begin());
  ways_.resize(way_begin_.back());
  std::vector<std::uint32_t> place(way_begin_.begin(), way_begin_.end() - 1);
  eachArc(
      [&](const PriceArc& arc, const WayIn& way) { ways_[place[static_cast<std::size_t>(arc.to)]++] = way; });
}

// For each node, an upper bound on the prize that the rest of a path can add: for any price of load, the best
// path by prize less paid load plus the price of all the load that is left.
std::vector<double> PriceSweep::prizeAfter(double limit) const {
  const double unit = limit > 0 ? need_ / limit : 0;
  using Values = std::array<double, std::size(kLoadPrices)>;  // by price of load
  std::vector<Values> values(diagram_.nodeCount());
  std::vector<double> most(diagram_.nodeCount());
  for (std::size_t layer = diagram_.layers() + 1; layer-- > 0;) {
    for (std::size_t node = diagram_.layer_begin[layer]; node < diagram_.layer_begin[layer + 1]; ++node) {
      Values best;
      best.fill(layer == diagram_.layers() ? 0 : -kInfinity);
      const auto raise = [&](const PriceArc& arc, double prize) {
        if (arc.to < 0) return;
        const Values& after = values[static_cast<std::size_t>(arc.to)];
        for (std::size_t i = 0; i < best.size(); ++i)
          best[i] = std::max(best[i], after[i] - kLoadPrices[i] * unit * arc.cost + prize);
      };
      if (layer < diagram_.layers()) {
        raise(diagram_.without[node], 0);
        raise(diagram_.with[node], prize_[layer]);
      }
      values[node] = best;
      const double room = std::max(0.0, limit - diagram_.least_before[node]);
      most[node] = kInfinity;
      for (std::size_t i = 0; i < best.size(); ++i)
        most[node] = std::min(most[node], best[i] + kLoadPrices[i] * unit * room);
    }
  }
  return most;
}

// Entries at the top from which the end cannot be reached within the limit are useless.
void PriceSweep::trimRows(std::size_t layer, double limit) {
  for (std::size_t node = diagram_.layer_begin[layer]; node < diagram_.layer_begin[layer + 1]; ++node) {
    Row& row = rows_[node];
    const double room = limit - diagram_.least_after[node];
    const double* loads = &table(layer).entries[row.begin];
    while (row.size > 0 && loads[row.size - 1] > room) --row.size;
  }
}

// Gives the nodes of a layer rows for the prizes that the layer before leads to and that may do.
void PriceSweep::setRows(std::size_t layer, std::span<const double> prize_after) {
  std::size_t size = 0;
  for (std::size_t node = diagram_.layer_begin[layer]; node < diagram_.layer_begin[layer + 1]; ++node) {
    Range range{cap_, -1};
    for (const WayIn& way : waysInto(node)) {
      const Row& parent = rows_[way.parent];
      if (parent.size == 0) continue;
      range.first = std::min(range.first, parent.low + std::int64_t{gain(way, layer - 1)});
      range.last = std::max(range.last, parent.last() + gain(way, layer - 1));
    }
    range.last = std::min<std::int64_t>(range.last, cap_);
    // One unit of slack keeps rounding in the bound on the rest from cutting what is needed.
    const double floor = std::floor(need_ - prize_after[node] * (1 + 1e-9)) - 1;
    rows_[node] = {};
    if (floor > static_cast<double>(range.last)) continue;
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
      for (const WayIn& way : waysInto(node)) {
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

// `range`: prizes of the row. `fresh`: its entries there are not written yet.
void PriceSweep::follow(const WayIn& way, std::size_t layer, const Row& row, Range range, bool fresh) {
  const Row& parent = rows_[way.parent];
  const std::int64_t more = gain(way, layer);
  const double* parent_row = &table(layer).entries[parent.begin];
  double* own_row = &table(layer + 1).entries[row.begin];
  const auto from = [&](std::int64_t prize) { return parent_row + (prize - parent.low); };
  const auto into = [&](std::int64_t prize) { return own_row + (prize - row.low); };
  // Prizes of the parent that lead into the range.
  const Range source{std::max<std::int64_t>(parent.low, range.first - more),
                     std::min(parent.last(), range.last - more)};
  if (fresh) {
    const std::int64_t begin = std::clamp(source.first + more, range.first, range.last + 1);
    const std::int64_t end = std::clamp(source.last + more + 1, begin, range.last + 1);
    std::fill(into(range.first), into(begin), kInfinity);
    std::fill(into(end), into(range.last + 1), kInfinity);
  }
  if (source.first <= source.last)
    (fresh ? write : lower)(from(source.first), into(source.first + more), source.last - source.first + 1,
                            way.cost);
  // What goes beyond the cap is cut to it.
  if (range.last < cap_) return;
  double& top = *into(cap_);
  for (std::int64_t p = std::max<std::int64_t>(parent.low, cap_ - more + 1); p <= parent.last(); ++p)
    top = std::min(top, *from(p) + way.cost);
}

// Computes entries `first` to `last` - 1 of the next layer's table.
void PriceSweep::spreadPiece(std::size_t layer, std::size_t first, std::size_t last) {
  for (std::size_t node = diagram_.layer_begin[layer + 1]; node < diagram_.layer_begin[layer + 2]; ++node) {
    const Row& row = rows_[node];
    if (row.begin >= last) break;
    if (row.begin + row.size <= first) continue;
    const std::size_t begin = std::max(first, row.begin), end = std::min(last, row.begin + row.size);
    const Range range{row.low + static_cast<std::int64_t>(begin - row.begin),
                      row.low + static_cast<std::int64_t>(end - row.begin) - 1};
    bool fresh = true;
    for (const WayIn& way : waysInto(node)) {
      if (rows_[way.parent].size == 0) continue;
      follow(way, layer, row, range, fresh);
      fresh = false;
    }
    double* entries = table(layer + 1).entries.get();
    if (fresh) std::fill(entries + begin, entries + end, kInfinity);
  }
}

// Computes the tables after layer `begin` up to `end`. Before that of a layer, one thread lets `prepare` give
// its rows their places; where that says no, it ends.
void PriceSweep::spread(std::size_t begin, std::size_t end, const std::function<bool(std::size_t)>& prepare) {
  // The layer whose table is being computed (upper half), and which of its pieces nobody has taken: from one
  // number (lowest quarter) to before another.
  std::atomic<std::uint64_t> open = 0;
  std::atomic<std::uint64_t> undone = 0;  // pieces
  std::size_t entries = 0, pieces = 0;    // of the open layer
  const std::size_t most_pieces =
      crew_.size() == 1 ? 1 : std::min(kPiecesPerThread * crew_.size(), kMostPieces);
  const auto openNext = [&](std::size_t layer) {
    for (;; ++layer) {
      if (layer > end || !prepare(layer)) {
        open.store(std::uint64_t{end + 1} << 32, std::memory_order_release);
        return;
      }
      entries = 0;
      for (std::size_t node = diagram_.layer_begin[layer]; node < diagram_.layer_begin[layer + 1]; ++node)
        entries += rows_[node].size;
      pieces = std::clamp<std::size_t>(entries / kPieceEntries, 1, most_pieces);
      if (pieces > 1) break;
      spreadPiece(layer - 1, 0, entries);
    }
    undone.store(pieces, std::memory_order_relaxed);
    open.store(std::uint64_t{layer} << 32 | pieces << 16, std::memory_order_release);
  };
  openNext(begin + 1);
  const WalkCrew::Task task = [&](std::size_t worker, std::size_t, const WalkPart*) {
    // A node's parents are at about the same place of their layer as it is of its own: who keeps to one end
    // mostly reads what it wrote itself.
    const bool front = worker % 2 == 0;
    for (int waited = 0;;) {
      std::uint64_t seen = open.load(std::memory_order_acquire);
      const std::size_t layer = seen >> 32;
      const std::size_t from = seen & 0xffff, to = seen >> 16 & 0xffff;
      if (layer > end) return;
      if (from == to) {
        if (++waited > kSpins) std::this_thread::yield();
        continue;
      }
      if (!open.compare_exchange_weak(seen, front ? seen + 1 : seen - (1 << 16), std::memory_order_acquire))
        continue;
      waited = 0;
      const std::size_t piece = front ? from : to - 1;
      spreadPiece(layer - 1, entries * piece / pieces, entries * (piece + 1) / pieces);
      if (undone.fetch_sub(1, std::memory_order_acq_rel) == 1) openNext(layer + 1);
    }
  };
  if (open.load(std::memory_order_relaxed) >> 32 <= end) crew_.run(crew_.size(), task, true);
}

bool PriceSweep::run(std::span<const std::uint32_t> prize, std::uint32_t need, std::uint32_t cap,
                     double limit, const Budget& budget) {
  need_ = need;
  cap_ = cap;
  entries_ = 0;
  const std::size_t layers = diagram_.layers();
  prize_.resize(layers);
  for (std::size_t i = 0; i < layers; ++i) prize_[i] = prize[diagram_.item[i]];
  const std::vector<double> prize_after = prizeAfter(limit);
  rows_.assign(diagram_.nodeCount(), {});
  table(0).makeRoom(1);
  table(0).entries[0] = 0;
  rows_[0].size = 1;
  cycle_ = 2;
  std::size_t since_poll = 0;
  bool stopped = false;
  spread(0, layers, [&](std::size_t layer) {
    trimRows(layer - 1, limit);
    const std::size_t before = entries_;
    setRows(layer, prize_after);
    since_poll += entries_ - before;
    if (since_poll > kEntriesPerPoll) {
      since_poll = 0;
      stopped = budget.stopped();
    }
    return !stopped;
  });
  if (stopped) return false;
  least_.assign(cap_ + 1, kInfinity);
  for (std::size_t node = diagram_.layer_begin[layers]; node < diagram_.nodeCount(); ++node) {
    for (std::uint32_t i = 0; i < rows_[node].size; ++i) {
      const double load = table(layers).entries[rows_[node].begin + i];
      if (load <= limit) least_[rows_[node].low + i] = std::min(least_[rows_[node].low + i], load);
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
                          std::vector<std::uint32_t>& set) {
  Walk chosen;
  bool chosen_takes = false;
  std::uint32_t ways = 0;
  for (const WayIn& way : waysInto(walk.node)) {
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
    spread(begin, end - 1, [](std::size_t) { return true; });
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
