// Paths over units of work: chains of stages in which neighbours agree in the units of the ideal between.
//
// Problem: given stages by the units of their ideals, the path of at most k stages from nothing to everything
// whose largest load is least; and which stages a path can use. Method: dynamic programming over the number
// of stages, from both ends. Complexity: O(stages of the table * k) time, O(units * k) space.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "solve/throughput/stage_sweep.h"

namespace allot {

class StagePaths {
 public:
  // `all`: the units of everything.
  StagePaths(std::span<const StageEntry> entries, std::uint32_t all, std::size_t stages);

  // The largest load of the best path; infinite where there is none.
  double value() const { return before_.back(); }
  // The stages of the best path.
  std::vector<StageEntry> best() const;
  // The stages that some path uses.
  StageMask used() const;

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;
  std::span<const StageEntry> entries_;
  std::size_t stages_, size_;       // size: one more than there are units
  std::vector<double> before_;      // [stages used * size + units]: from nothing to there
  std::vector<std::uint32_t> via_;  // same layout: the last entry, or none where one stage less will do
};

// The boundaries (in units) of the cheapest chain when a stage from i to j costs (j - i) units of work,
// cut[i] and cut[j]; empty when one of its stages costs `limit` or more. Complexity: O(units^2 * stages).
std::vector<std::uint32_t> cheapestBoundaries(std::span<const double> cut, double unit, std::size_t stages,
                                              double limit);

}  // namespace allot
