// Paths over units of work: chains of stages in which neighbours agree in how much the ideal between them
// has.
//
// Problem: given stages by the units of their ideals, the least limit on loads for which a path of at most k
// stages leads from nothing to everything; and which stages such paths use. Neighbours agree in units and in
// work: a stage of cost c of nets that ends with work w begins with at least w + c - limit. Units alone would
// let each stage choose the ideals of those units that have the most work before it and the least in it.
// Method: for each number of stages and of units the least work with which the rest of a path is possible,
// and the most that a path up to there can have; bisection over the limit. Guarantee: every chain of stages
// within a limit is a path. Complexity: O(stages of the table * k) time for each limit, O(units * k) space.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "solve/throughput/stage_sweep.h"

namespace allot {

class StagePaths {
 public:
  StagePaths(std::span<const StageEntry> entries, const StageUnits& units, std::size_t stages);

  // A limit between `low` and `high` for which there is no path, close to the least for which there is one:
  // `high` where there is none at all, `low` where there may be one for every limit.
  double value(double low, double high) const;
  // By boundary, behind nothing first: the least work of one behind so many stages. Empty without a path.
  std::vector<double> needed(double limit) const;
  // The stages of a path. Empty when there is none.
  std::vector<StageEntry> path(double limit) const;
  // The stages that some path uses.
  StageMask used(double limit) const;

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;
  // [boundary * size + units]: the least work there with which the rest is possible, infinite where it is
  // not. Fills `via` where it is given, with the entry that comes next, or none where one stage less will do.
  std::vector<double> backwards(double limit, std::vector<std::uint32_t>* via = nullptr) const;

  std::span<const StageEntry> entries_;
  const StageUnits& units_;
  std::size_t stages_, size_;  // size: one more than there are units
  double slack_;               // seconds that rounding may cost
};

// The boundaries (in units) of the cheapest chain when a stage from i to j costs (j - i) units of work,
// cut[i] and cut[j]; empty when one of its stages costs `limit` or more. Complexity: O(units^2 * stages).
std::vector<std::uint32_t> cheapestBoundaries(std::span<const double> cut, double unit, std::size_t stages,
                                              double limit);

}  // namespace allot
