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

double CallGraphFacts::inCall(std::uint32_t item, std::size_t pool, double bytes) const {
  const double* row = &behind_in_call_[(item * items.poolCount() + pool) * (kByteSteps + 1)];
  const double memory = items.pools[pool].memory;
  if (bytes > memory) return kInfinity;
  return row[memory < kInfinity ? static_cast<std::size_t>(bytes / memory * kByteSteps) : 0];
}

double CallGraphFacts::alone(std::uint32_t item) const {
  double best = items.cpu[item] + tail_cpu[item];
  for (std::size_t p = 0; p < items.poolCount(); ++p)
    best = std::min(best, items.onPool(item, p) + inCall(item, p, enter_bytes_[item]));
  return best;
}

double CallGraphFacts::outside(std::uint32_t net, std::uint32_t consumer, bool fetched) const {
  double best = items.cpu[consumer] + tail_cpu[consumer];
  for (std::size_t p = 0; p < items.poolCount(); ++p) {
    best = std::min(best, (fetched ? 0 : items.in(net, p)) + items.onPool(consumer, p) +
                              inCall(consumer, p, enter_bytes_[consumer]));
  }
  return best;
}

void CallGraphFacts::findTails() {
  const std::size_t n = items.itemCount(), pools = items.poolCount();
  // Bytes that an item brings to its accelerator: all of its unit with the first of it, where a path that has
  // left the unit does not come back.
  enter_bytes_ = items.bytes;
  std::vector<double> more = items.bytes;
  for (std::uint32_t t = 0; t < items.tie_count; ++t) {
    const auto row = items.tie_items[t];
    bool comes_back = false;
    double all = 0;
    for (const std::uint32_t last : row) {
      all += items.bytes[last];
      for (std::uint32_t i = row.front() + 1; i < last; ++i) {
        comes_back = comes_back || (items.tie[i] != t && isAncestor(i, last) &&
                                    std::any_of(row.begin(), row.end(),
                                                [&](std::uint32_t first) { return isAncestor(first, i); }));
      }
    }
    for (const std::uint32_t i : row) {
      if (comes_back) continue;
      enter_bytes_[i] = all;
      more[i] = 0;
    }
  }
  tail_cpu.assign(n, 0);
  behind_in_call_.assign(n * pools * (kByteSteps + 1), 0);
  for (std::size_t m = cuts.size() - 1; m-- > 0;) {
    for (std::uint32_t i = cuts[m + 1]; i-- > cuts[m];) {
      for (const std::uint32_t net : items.item_outputs[i]) {
        for (const std::uint32_t c : items.net_consumers[net]) {
          if (c >= cuts[m + 1]) continue;
          // Of one unit, both are on the cpu or both on one accelerator.
          const bool tied = items.tie[i] != CallItems::kNone && items.tie[i] == items.tie[c];
          const double apart = outside(net, c, false);
          tail_cpu[i] = std::max(tail_cpu[i], tied ? items.cpu[c] + tail_cpu[c] : apart);
          for (std::size_t p = 0; p < pools; ++p) {
            double* row = &behind_in_call_[(i * pools + p) * (kByteSteps + 1)];
            // Steps are exact where memory is infinite: there is only one.
            const double memory = items.pools[p].memory;
            const double step = memory < kInfinity ? memory / kByteSteps : 0;
            for (std::size_t k = 0; k <= kByteSteps; ++k) {
              const double taken = static_cast<double>(k) * step + (tied ? more[c] : enter_bytes_[c]);
              const double inside = items.onPool(c, p) + inCall(c, p, taken);
              const double other = tied ? items.in(net, p) + inside : apart;
              row[k] = std::max(row[k], std::min(items.out(net, p) + other, inside));
            }
          }
        }
      }
    }
  }
}

}  // namespace allot
