#include "solve/throughput/stage_path.h"

#include <algorithm>
#include <limits>

namespace allot {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace

StagePaths::StagePaths(std::span<const StageEntry> entries, std::uint32_t all, std::size_t stages)
    : entries_(entries),
      stages_(stages),
      size_(all + 1),
      before_((stages + 1) * size_, kInfinity),
      via_((stages + 1) * size_, kNone) {
  before_[0] = 0;
  for (std::size_t b = 0; b < stages; ++b) {
    const double* here = &before_[b * size_];
    double* next = &before_[(b + 1) * size_];
    std::copy_n(here, size_, next);
    for (std::uint32_t e = 0; e < entries.size(); ++e) {
      const double value = std::max(here[entries[e].from], entries[e].load);
      if (value >= next[entries[e].to]) continue;
      next[entries[e].to] = value;
      via_[(b + 1) * size_ + entries[e].to] = e;
    }
  }
}

std::vector<StageEntry> StagePaths::best() const {
  std::vector<StageEntry> path;
  std::size_t at = size_ - 1;
  for (std::size_t b = stages_; b > 0; --b) {
    const std::uint32_t e = via_[b * size_ + at];
    if (e == kNone) continue;
    path.push_back(entries_[e]);
    at = entries_[e].from;
  }
  std::reverse(path.begin(), path.end());
  return path;
}

StageMask StagePaths::used() const {
  StageMask mask(static_cast<std::uint32_t>(size_ - 1));
  // Whether everything is in reach from there, for ever more stages behind an entry and ever fewer before it.
  std::vector<std::uint8_t> reaches(size_, 0), next;
  reaches.back() = 1;
  for (std::size_t b = stages_; b-- > 0;) {
    const double* before = &before_[b * size_];
    next = reaches;
    for (const StageEntry& entry : entries_) {
      if (reaches[entry.to] == 0) continue;
      next[entry.from] = 1;
      if (before[entry.from] < kInfinity) mask.allow(entry.from, entry.to);
    }
    reaches.swap(next);
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
