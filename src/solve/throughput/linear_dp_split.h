// The best split of one linear order of items into consecutive pipeline stages, with devices for each.
//
// Problem: cut the line into consecutive parts and give each part devices of one pool (several where
//   replication is on), so that the largest load is least.
// Method: suffix dynamic programme over (position, devices used by pool). Segments from a position grow by
// one
//   cell at a time: the first end of a net in adds its cost, the last end in takes it off. A position is only
//   looked at with devices that can do the work behind it, and leave enough for the work before it, below the
//   cut-off. A long line is first cut between cells, which end where few tensors are open, then in finer and
//   finer places around the cuts found.
// Guarantee: below the cut-off, for loads as in LineModel; the best split of the order if it has at most
//   `max_cells` items. Where device counts make too
//   many states, devices are used in one fixed sequence instead, some of them skipped.
// Complexity: O(positions in the windows * ends of nets in a stage + pairs of positions in the windows *
//   states). Time out: no plan.
#pragma once

#include <cstdint>
#include <span>

#include "allot/solve.h"
#include "solve/throughput/linear_dp_model.h"

namespace allot {

struct SplitOptions {
  std::size_t max_cells = 1000;  // a longer line is cut in ever finer places around the best cuts so far
  double cutoff = std::numeric_limits<double>::infinity();
  double hope = 0.02;               // by how much a first, rough split may miss the cut-off
  std::uint64_t sequence_seed = 0;  // which device sequence is used where there are too many states
};

// `order` is a topological order of all items.
LinePlan splitLine(const LineModel& model, std::span<const std::uint32_t> order, const SplitOptions& options,
                   const Budget& budget);

}  // namespace allot
