#include "solve/throughput/price_sweep.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace allot {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::size_t kNodesPerPoll = 64;
// Prices of load, in units of need / limit, that bound what can still be collected.
constexpr double kLoadPrices[] = {0, 0.7, 1, 1.4, 2.2, 4};

}  // namespace

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

void PriceSweep::spread(std::size_t node, const PriceArc& arc, std::uint32_t gain) {
  if (arc.to < 0 || size_[node] == 0) return;
  const auto to = static_cast<std::size_t>(arc.to);
  if (size_[to] == 0) return;
  const double cost = arc.cost;
  const double* from = &table_[begin_[node]];
  double* into = &table_[begin_[to]];
  // Prizes p of the node that land in the child's table, and those that reach its top and are cut to it.
  const std::int64_t low = low_[node], high = low + size_[node] - 1;
  const std::int64_t child_low = low_[to], child_high = child_low + size_[to] - 1;
  const std::int64_t first = std::max(low, child_low - gain);
  const std::int64_t last = std::min(high, child_high - gain);
  const double* source = from + (first - low);
  double* target = into + (first + gain - child_low);
  const std::int64_t count = last - first + 1;
  for (std::int64_t i = 0; i < count; ++i) {
    const double load = source[i] + cost;
    target[i] = load < target[i] ? load : target[i];
  }
  if (child_high < cap_) return;
  double best = into[child_high - child_low];
  for (std::int64_t p = std::max(first, last + 1); p <= high; ++p) best = std::min(best, from[p - low] + cost);
  into[child_high - child_low] = best;
}

bool PriceSweep::run(std::span<const std::uint32_t> prize, std::uint32_t need, std::uint32_t cap, double limit,
                     const Budget& budget) {
  need_ = need;
  cap_ = cap;
  const std::size_t layers = diagram_.layers(), nodes = diagram_.nodeCount();
  prize_.resize(layers);
  for (std::size_t i = 0; i < layers; ++i) prize_[i] = prize[diagram_.item[i]];
  const std::vector<double> after = prizeAfter(limit);
  table_.clear();
  begin_.assign(nodes, 0);
  low_.assign(nodes, 0);
  size_.assign(nodes, 0);
  std::vector<std::uint32_t> high(nodes, 0);
  std::vector<std::uint8_t> reached(nodes, 0);
  table_.push_back(0);
  size_[0] = 1;
  reached[0] = 1;
  std::size_t polled = 0;
  for (std::size_t layer = 0; layer < layers; ++layer) {
    const std::size_t begin = diagram_.layer_begin[layer], end = diagram_.layer_begin[layer + 1];
    const std::size_t next_end = diagram_.layer_begin[layer + 2];
    for (std::size_t node = begin; node < end; ++node) {
      // Entries from which the end cannot be reached within the limit are useless at either end of the table.
      if (size_[node] == 0) continue;
      const double room = limit - diagram_.least_after[node];
      const double* row = &table_[begin_[node]];
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
    for (std::size_t node = end; node < next_end; ++node) {
      if (!reached[node]) continue;
      // One unit of slack keeps rounding in the bound on the rest from cutting what is needed.
      const double floor = std::floor(need_ - after[node] * (1 + 1e-9)) - 1;
      if (floor > high[node]) continue;
      if (floor > low_[node]) low_[node] = static_cast<std::uint32_t>(floor);
      begin_[node] = table_.size();
      size_[node] = high[node] - low_[node] + 1;
      table_.resize(table_.size() + size_[node], kInfinity);
    }
    for (std::size_t node = begin; node < end; ++node) {
      spread(node, diagram_.without[node], 0);
      spread(node, diagram_.with[node], prize_[layer]);
      if (++polled % kNodesPerPoll == 0 && budget.stopped()) return false;
    }
  }
  if (getenv("PB_TRACE2")) fprintf(stderr, "table %zu of %zu x %u need %u limit %g\n", table_.size(), nodes, cap, need, limit);
  least_.assign(cap_ + 1, kInfinity);
  for (std::size_t node = diagram_.layer_begin[layers]; node < nodes; ++node) {
    for (std::uint32_t i = 0; i < size_[node]; ++i) {
      const double load = table_[begin_[node] + i];
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

std::vector<std::uint32_t> PriceSweep::set(std::uint32_t prize, double load, Random* random) const {
  struct Step {
    std::size_t node;
    std::uint32_t prize;
    double load;  // at most this up to here
    bool take;
  };
  std::vector<std::uint32_t> chosen;
  std::vector<Step> ways;
  const std::size_t layers = diagram_.layers();
  Step at{0, 0, load, false};
  for (std::size_t last = diagram_.layer_begin[layers]; last < diagram_.nodeCount(); ++last) {
    for (std::uint32_t i = 0; i < size_[last]; ++i) {
      if (low_[last] + i >= prize && table_[begin_[last] + i] <= load)
        ways.push_back({last, low_[last] + i, load, false});
    }
  }
  if (ways.empty()) return chosen;
  // Prizes stand in rising order: the first way has the least.
  at = ways.front();
  for (std::size_t layer = layers; layer-- > 0;) {
    ways.clear();
    for (std::size_t parent = diagram_.layer_begin[layer]; parent < diagram_.layer_begin[layer + 1]; ++parent) {
      if (size_[parent] == 0) continue;
      for (const bool take : {false, true}) {
        const PriceArc& arc = (take ? diagram_.with : diagram_.without)[parent];
        if (arc.to != static_cast<std::int32_t>(at.node)) continue;
        const std::uint32_t gain = take ? prize_[layer] : 0;
        const std::uint32_t top = low_[parent] + size_[parent] - 1;
        if (at.prize < gain && at.prize != cap_) continue;
        // At the cap several prizes of the parent lead here.
        const std::uint32_t from = std::max(low_[parent], at.prize > gain ? at.prize - gain : 0);
        const std::uint32_t to = std::min(top, at.prize == cap_ ? top : at.prize - gain);
        for (std::uint32_t p = from; p <= to; ++p) {
          // Going back adds what going forth added, but in another order.
          const double left = at.load - arc.cost;
          if (table_[begin_[parent] + (p - low_[parent])] <= left + 1e-12 * load) ways.push_back({parent, p, left, take});
        }
      }
    }
    if (ways.empty()) return {};
    at = ways[random != nullptr ? random->below(static_cast<std::uint32_t>(ways.size())) : 0];
    if (at.take) chosen.push_back(diagram_.item[layer]);
  }
  return chosen;
}

}  // namespace allot
