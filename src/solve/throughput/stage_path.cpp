#include "solve/throughput/stage_path.h"

#include <algorithm>
#include <limits>

namespace allot {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kRounding = 1e-10;  // of sums of work and costs, as a share of them
constexpr double kClose = 1e-7;      // of a bisection, as a share of its upper end

}  // namespace

StagePaths::StagePaths(std::span<const StageEntry> entries, const StageUnits& units, std::size_t stages)
    : entries_(entries),
      units_(units),
      stages_(stages),
      size_(units.all + 1),
      slack_(kRounding * units.most_work[units.all]) {}

std::vector<double> StagePaths::backwards(double limit, std::vector<std::uint32_t>* via) const {
  std::vector<double> needed((stages_ + 1) * size_, kInfinity);
  if (via != nullptr) via->assign(needed.size(), kNone);
  needed.back() = units_.least_work.back();
  for (std::size_t b = stages_; b-- > 0;) {
    double* here = &needed[b * size_];
    const double* next = &needed[(b + 1) * size_];
    std::copy_n(next, size_, here);
    for (std::uint32_t e = 0; e < entries_.size(); ++e) {
      const StageEntry& entry = entries_[e];
      if (entry.load > limit || next[entry.to] == kInfinity) continue;
      const double work =
          std::max(units_.least_work[entry.from], next[entry.to] + entry.cut - limit - slack_);
      if (work > units_.most_work[entry.from] + slack_ || work >= here[entry.from]) continue;
      here[entry.from] = work;
      if (via != nullptr) (*via)[b * size_ + entry.from] = e;
    }
  }
  return needed;
}

double StagePaths::value(double low, double high) const {
  const auto none = [&](double limit) { return backwards(limit)[0] == kInfinity; };
  if (none(high)) return high;
  while (high - low > kClose * high) {
    const double middle = (low + high) / 2;
    (none(middle) ? low : high) = middle;
  }
  return low;
}

std::vector<double> StagePaths::needed(double limit) const {
  const std::vector<double> all = backwards(limit);
  std::vector<double> least;
  if (all[0] == kInfinity) return least;
  for (std::size_t b = 0; b <= stages_; ++b)
    least.push_back(*std::min_element(&all[b * size_], &all[b * size_] + size_));
  return least;
}

std::vector<StageEntry> StagePaths::path(double limit) const {
  std::vector<std::uint32_t> via;
  std::vector<StageEntry> path;
  if (backwards(limit, &via)[0] == kInfinity) return path;
  std::size_t at = 0;
  for (std::size_t b = 0; b < stages_; ++b) {
    const std::uint32_t e = via[b * size_ + at];
    if (e == kNone) continue;
    path.push_back(entries_[e]);
    at = entries_[e].to;
  }
  return path;
}

StageMask StagePaths::used(double limit) const {
  StageMask mask(units_.all);
  const std::vector<double> needed = backwards(limit);
  std::vector<double> reached(size_, -kInfinity), next;  // the most work, behind ever more stages
  reached[0] = units_.most_work[0];
  for (std::size_t b = 0; b < stages_; ++b) {
    next = reached;
    for (const StageEntry& entry : entries_) {
      const double at_end = reached[entry.from] + limit - entry.cut + slack_;
      if (entry.load > limit || at_end < needed[(b + 1) * size_ + entry.to] - slack_) continue;
      next[entry.to] = std::max(next[entry.to], std::min(at_end, units_.most_work[entry.to]));
      mask.allow(entry.from, entry.to);
    }
    reached.swap(next);
  }
  mask.finish();
  return mask;
}

std::vector<std::uint32_t> cheapestBoundaries(std::span<const double> cut, double unit, std::size_t stages,
                                              double limit) {
  const std::size_t n = cut.size();
  std::vector<double> load(n, kInfinity), next;
  load[0] = 0;
  std::vector<std::vector<std::uint32_t>> via;  // [stages used][end]: where the last stage begins
  for (std::size_t b = 0; b < stages; ++b) {
    next = load;
    auto& from = via.emplace_back(n, UINT32_MAX);
    for (std::uint32_t i = 0; i < n; ++i) {
      if (load[i] == kInfinity) continue;
      for (std::uint32_t j = i + 1; j < n; ++j) {
        const double begun = unit * (j - i) + cut[i];
        if (begun >= limit) break;
        const double here = std::max(load[i], begun + cut[j]);
        if (here >= limit || here >= next[j]) continue;
        next[j] = here;
        from[j] = i;
      }
    }
    load.swap(next);
  }
  std::vector<std::uint32_t> boundaries;
  if (load[n - 1] == kInfinity) return boundaries;
  auto at = static_cast<std::uint32_t>(n - 1);
  for (std::size_t b = stages; b > 0; --b) {
    if (via[b - 1][at] == UINT32_MAX) continue;
    at = via[b - 1][at];
    if (at > 0) boundaries.push_back(at);
  }
  std::reverse(boundaries.begin(), boundaries.end());
  return boundaries;
}

}  // namespace allot
