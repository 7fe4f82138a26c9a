// A lower bound on chains from the cheapest cuts along the work of the model.
//
// Problem: throughput with contiguity `chain` on like devices that all pay for transfers, `sum` overlap and
// training load, no replicas.
// Method: the position of a boundary between stages is the work before it. The positions are divided into
// short ranges. For each range, minimum cuts say what must cross any ideal with its work in the range; a
// Lagrangian term holds the ideal near it. A stage of length R or more pays for a net that crosses its first
// boundary when an end beyond that boundary is surely before the other one, since so much work is between
// them; and in the same way for its last boundary. A net that may cross both counts half at each. So the
// least cuts at both ends and the length together are at most the load.
// A dynamic programme over stages and ranges keeps the furthest position that can be reached with
// every load below T; where the end is not reached, T is refuted. Cuts do not depend on T: they are made
// once. Guarantee: valid for every plan under the modes above (plans without some device included); cuts are
// computed by maximum flow and rounding is taken off. Complexity: some flows for each range and length, then
// O(stages * ranges^2) for each T. Out of time: the ranges without cuts count as free.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "allot/solve.h"
#include "solve/throughput/pipeline_model.h"

namespace allot {

// The work of all that an item reaches along `next`, itself included. O(items * edges).
std::vector<double> reachWork(const Csr<std::uint32_t>& next, std::span<const double> work);

// Looks for the largest value below the best one that `refutes` refutes, by bisection, and reports it.
void raiseBound(Progress& progress, std::string_view solver, const std::function<bool(double)>& refutes);

class PositionBound {
 public:
  static bool accepts(const PipelineModel& model);
  // `stages` devices of the only pool. Lengths are chosen for values around `value`.
  PositionBound(const PipelineModel& model, std::size_t stages, double value, const Budget& budget);

  // True when no chain is below `target`.
  bool refutes(double target) const;

 private:
  struct Range {
    double from = 0, to = 0;
    // By length: least cost of what crosses a boundary here to a stage of that length, behind and before it.
    std::vector<double> ahead, behind;
  };

  const PipelineModel& model_;
  std::size_t stages_;
  double total_ = 0;
  std::vector<double> before_work_, after_work_;  // of all that comes before (after) an item, itself included
  std::vector<double> first_cut_, last_cut_;      // by net: least and most work of an ideal that cuts it
  std::vector<double> lengths_;                   // rising from 0
  std::vector<Range> ranges_;

  // What counts as cut by a boundary in a range: nets with an end that is inside and an end that is outside,
  // each from a list of ends.
  struct Counted {
    std::vector<double> cost;                   // by net
    std::vector<std::uint8_t> inside, outside;  // by item: whether it can stand for its side
  };
  struct Cut {
    double cost = 0, work = 0;
  };
  // What the stage of length R or more that begins (ends) in the range pays for its boundary there.
  Counted countAhead(const Range& range, double length) const;
  Counted countBehind(const Range& range, double length) const;
  double leastCut(const Range& range, const Counted& counted) const;
  // The ideal with the least cost of cut nets plus `price` times its work, of those that may be in the range.
  Cut cheapest(const Range& range, double price, const Counted& counted) const;
};

}  // namespace allot
