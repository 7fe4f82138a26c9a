// Paths over labels of ideals: chains of stages in which neighbours agree in a label only.
//
// Problem: given stages from label to label with their loads, the path of at most k stages from nothing to
// everything whose largest load is least; and which stages such a path can use at all. Method: dynamic
// programming over the number of stages. Complexity: O(stages of the table * k) time, O(labels * k) space.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "solve/throughput/stage_sweep.h"

namespace allot {

class StagePaths {
 public:
  // `all`: the label of the ideal that holds everything.
  StagePaths(std::span<const StageEntry> entries, std::uint32_t all, std::size_t stages);

  // The largest load of the best path; infinite where there is none.
  double bound() const;
  bool found() const;
  // The stages of the best path.
  std::vector<StageEntry> best() const;
  // By entry: whether some path uses it.
  std::vector<std::uint8_t> used() const;

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;
  std::span<const StageEntry> entries_;
  std::size_t stages_;
  std::vector<std::uint32_t> labels_;     // rising
  std::vector<std::uint32_t> from_, to_;  // by entry: places in labels_
  std::vector<double> load_;              // [stages used * labels + label]
  std::vector<std::uint32_t> via_;        // same layout: the last entry, or none where one stage less will do
  std::uint32_t end_ = kNone;             // the place of everything
};

// The boundaries (in units) of the cheapest chain when a stage from i to j costs (j - i) units of work,
// cut[i] and cut[j]. Empty when there is none below `limit`.
std::vector<std::uint32_t> cheapestBoundaries(std::span<const double> cut, double unit, std::size_t stages,
                                              double limit);

}  // namespace allot
