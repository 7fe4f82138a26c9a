// An order of the items in which few nets are open at once.
//
// Problem: a sweep over the items must remember every net that has items before and after the sweep line, so
// its work grows with the number of such open nets; those that have the same items before it count once, for
// they are in the same state. Method: grow the order one item at a time, always by the item that leaves the
// fewest nets open, from several first items, with and without counting alike nets once; keep the order with
// the smallest sum of 2^open. Guarantee: heuristic; any order is right, a bad one is slow or loses strength.
// Complexity: O(starts * items of all nets * log); where alike nets are counted once, O(starts * items * open
// nets * items of a net), up to a fixed amount of work. When time runs out: any order.
#pragma once

#include <cstdint>
#include <vector>

#include "allot/solve.h"
#include "solve/throughput/pipeline_model.h"

namespace allot {

struct SweepOrder {
  std::vector<std::uint32_t> items;
  std::uint32_t peak_open = 0;  // most nets that are open at once, alike ones counted once
};

SweepOrder sweepOrder(const PipelineModel& model, const Budget& budget);

}  // namespace allot
