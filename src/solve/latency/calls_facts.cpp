#include <algorithm>
#include <bit>
#include <limits>

#include "solve/latency/calls_module.h"

namespace allot {

namespace {
constexpr double kInfinity = std::numeric_limits<double>::infinity();
}

CallGraphFacts::CallGraphFacts(const CallItems& all) : items(all), words((all.itemCount() + 63) / 64) {
  findCuts();
  findTails();
  const std::size_t n = items.itemCount();
  bytes_from.assign(n + 1, 0);
  for (std::size_t i = n; i-- > 0;) {
    bytes_from[i] = bytes_from[i + 1] + items.bytes[i];
    for (const std::uint32_t net : items.item_outputs[i]) bytes_from[i] += items.tail_bytes[net];
  }
}

void CallGraphFacts::findCuts() {
  const std::size_t n = items.itemCount();
  ancestors.assign(n * words, 0);
  std::vector<std::uint32_t> descendants(n, 0);
  std::vector<std::uint8_t> all_before(n, 0);
  for (std::uint32_t i = 0; i < n; ++i) {
    std::uint64_t* row = &ancestors[i * words];
    for (const std::uint32_t b : items.before[i]) {
      for (std::size_t w = 0; w < words; ++w) row[w] |= ancestors[b * words + w];
      row[b / 64] |= std::uint64_t{1} << (b % 64);
    }
    std::uint32_t count = 0;
    for (std::size_t w = 0; w < words; ++w) {
      for (std::uint64_t bits = row[w]; bits != 0; bits &= bits - 1) {
        ++count;
        ++descendants[w * 64 + static_cast<std::size_t>(std::countr_zero(bits))];
      }
    }
    all_before[i] = count == i;
  }
  // By item: a unit of several items goes on behind it.
  std::vector<std::uint8_t> tied(n, 0);
  for (std::size_t t = 0; t < items.tie_count; ++t) {
    const auto row = items.tie_items[t];
    std::fill(tied.begin() + row.front(), tied.begin() + row.back(), std::uint8_t{1});
  }
  cuts = {0};
  for (std::uint32_t i = 0; i + 1 < n; ++i) {
    if (all_before[i] && descendants[i] == n - 1 - i && tied[i] == 0) cuts.push_back(i + 1);
  }
  if (n > 0) cuts.push_back(static_cast<std::uint32_t>(n));
}

double CallGraphFacts::least(std::uint32_t net, std::uint32_t consumer, bool in_call, int pool,
                             bool paid) const {
  const std::size_t pools = items.poolCount();
  const double send = !in_call || paid ? 0 : [&] {
    double cheapest = kInfinity;
    for (std::size_t p = 0; p < pools; ++p) {
      if (pool < 0 || p == static_cast<std::size_t>(pool)) cheapest = std::min(cheapest, items.out(net, p));
    }
    return cheapest;
  }();
  double best = send + items.cpu[consumer] + tail_cpu[consumer];
  for (std::size_t p = 0; p < pools; ++p) {
    const double run = items.onPool(consumer, p) + tail_call[consumer];
    const bool same = in_call && (pool < 0 || p == static_cast<std::size_t>(pool));
    best = std::min(best, same ? run : run + send + (!in_call && paid ? 0 : items.in(net, p)));
  }
  return best;
}

void CallGraphFacts::findTails() {
  const std::size_t n = items.itemCount();
  tail_cpu.assign(n, 0);
  tail_call.assign(n, 0);
  for (std::size_t m = cuts.size() - 1; m-- > 0;) {
    for (std::uint32_t i = cuts[m + 1]; i-- > cuts[m];) {
      for (const std::uint32_t net : items.item_outputs[i]) {
        for (const std::uint32_t c : items.net_consumers[net]) {
          if (c >= cuts[m + 1]) continue;
          tail_cpu[i] = std::max(tail_cpu[i], least(net, c, false, -1, false));
          tail_call[i] = std::max(tail_call[i], least(net, c, true, -1, false));
        }
      }
    }
  }
}

}  // namespace allot
