#include "allot/packing.h"

#include <algorithm>

namespace allot {
namespace {

// Published as code, not as text; without them the published group counts do not come out.
constexpr double kFirstReach = 4;
constexpr double kLaterReach = 1;
constexpr double kLowReach = 1;
constexpr double kLeastSpeedup = 0.2;

}  // namespace

std::vector<std::size_t> packBySpeedup(std::span<const double> speedup, std::span<const double> start,
                                       const PackRule& rule) {
  std::vector<std::size_t> begins;
  for (std::size_t i = 0; i < speedup.size(); ++i) {
    if (begins.empty()) {
      begins.push_back(i);
      continue;
    }
    const double opener = speedup[begins.back()];
    const double reach = begins.size() == 1 ? kFirstReach : kLaterReach;
    const double low = std::min(opener - kLowReach, rule.low * opener);
    const double high = std::max(opener + reach, rule.high * opener);
    const bool alike = speedup[i] > low && speedup[i] < high;
    if (alike || speedup[i] <= kLeastSpeedup || start[i] - start[begins.back()] <= rule.seconds) continue;
    begins.push_back(i);
  }
  return begins;
}

}  // namespace allot
