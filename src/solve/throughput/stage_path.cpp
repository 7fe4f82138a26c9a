#include "solve/throughput/stage_path.h"

#include <algorithm>
#include <limits>

namespace allot {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace

StagePaths::StagePaths(std::span<const StageEntry> entries, std::uint32_t all, std::size_t stages)
    : entries_(entries), stages_(stages), labels_{0, all} {
  for (const StageEntry& entry : entries) {
    labels_.push_back(entry.from);
    labels_.push_back(entry.to);
  }
  std::sort(labels_.begin(), labels_.end());
  labels_.erase(std::unique(labels_.begin(), labels_.end()), labels_.end());
  const auto place = [&](std::uint32_t label) {
    return static_cast<std::uint32_t>(std::lower_bound(labels_.begin(), labels_.end(), label) -
                                      labels_.begin());
  };
  end_ = place(all);
  for (const StageEntry& entry : entries) {
    from_.push_back(place(entry.from));
    to_.push_back(place(entry.to));
  }
  const std::size_t n = labels_.size();
  load_.assign(n, kInfinity);
  load_[place(0)] = 0;
  via_.assign(n, kNone);
  for (std::size_t b = 0; b < stages; ++b) {
    load_.resize((b + 2) * n);
    std::copy_n(load_.begin() + static_cast<std::ptrdiff_t>(b * n), n,
                load_.begin() + static_cast<std::ptrdiff_t>((b + 1) * n));
    via_.resize((b + 2) * n, kNone);
    for (std::uint32_t e = 0; e < entries.size(); ++e) {
      const double load = std::max(load_[b * n + from_[e]], entries[e].load);
      double& there = load_[(b + 1) * n + to_[e]];
      if (load >= there) continue;
      there = load;
      via_[(b + 1) * n + to_[e]] = e;
    }
  }
}

double StagePaths::bound() const {
  return load_[stages_ * labels_.size() + end_];
}

bool StagePaths::found() const {
  return bound() < kInfinity;
}

std::vector<StageEntry> StagePaths::best() const {
  std::vector<StageEntry> path;
  std::uint32_t at = end_;
  for (std::size_t b = stages_; b > 0; --b) {
    const std::uint32_t e = via_[b * labels_.size() + at];
    if (e == kNone) continue;
    path.push_back(entries_[e]);
    at = from_[e];
  }
  std::reverse(path.begin(), path.end());
  return path;
}

std::vector<std::uint8_t> StagePaths::used() const {
  // Fewest stages from nothing to a label and from a label to everything.
  const std::size_t n = labels_.size();
  constexpr std::size_t kFar = SIZE_MAX / 4;
  std::vector<std::size_t> before(n, kFar), after(n, kFar), next;
  before[std::lower_bound(labels_.begin(), labels_.end(), 0u) - labels_.begin()] = 0;
  after[end_] = 0;
  for (std::size_t b = 0; b < stages_; ++b) {
    next = before;
    for (std::size_t e = 0; e < entries_.size(); ++e)
      next[to_[e]] = std::min(next[to_[e]], before[from_[e]] + 1);
    before.swap(next);
    next = after;
    for (std::size_t e = 0; e < entries_.size(); ++e)
      next[from_[e]] = std::min(next[from_[e]], after[to_[e]] + 1);
    after.swap(next);
  }
  std::vector<std::uint8_t> used;
  for (std::size_t e = 0; e < entries_.size(); ++e)
    used.push_back(before[from_[e]] + 1 + after[to_[e]] <= stages_ ? 1 : 0);
  return used;
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
      if (load[i] == kInfinity || cut[i] == kInfinity) continue;
      for (std::uint32_t j = i + 1; j < n; ++j) {
        const double work = unit * (j - i) + cut[i];
        if (work >= limit) break;
        const double here = std::max(load[i], work + cut[j]);
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
