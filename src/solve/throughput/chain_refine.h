// Moves items between neighbouring stages of a chain to lower its largest load.
//
// Problem: a plan whose stages are a chain of ideals; find a better one near it, with the same stages on the
//   same pools.
// Method: annealing over moves of one item whose predecessors (or successors) are all in other stages, so
//   that the chain stays one. Loads follow each move through counts of ends by net and stage. The energy is
//   a sum of powers of the loads, which pulls down large loads first and all communication with them. The
//   temperature follows the share of tried moves that are taken, which falls evenly from
//   `first_acceptance` to almost none: no unit of time or size of tensors has to be guessed. The power grows
//   meanwhile. The best plan met is kept.
// Guarantee: never worse than the plan it starts from; memory of stages is respected. In-flight memory is
//   not followed: such plans are returned as they are.
// Complexity: O(ends of the item's nets + degree) for each move; space 4 bytes * nets * stages.
// Time out: the best plan met so far.
#pragma once

#include <cstdint>
#include <limits>

#include "allot/solve.h"
#include "solve/throughput/linear_dp_model.h"

namespace allot {

struct RefineOptions {
  std::uint64_t moves = 1'000'000;  // tried
  // It cools faster where its moves would take longer.
  double seconds = std::numeric_limits<double>::infinity();
  double first_acceptance = 0.5;  // share of tried moves that are taken at first
  std::uint64_t seed = 1;
};

// Whether the counts fit `bytes`.
bool refineFits(const LineModel& model, std::size_t stages, double bytes);

LinePlan refineChain(const LineModel& model, LinePlan plan, const RefineOptions& options,
                     const Budget& budget);

// Value of a plan by the loads of the model.
double lineValue(const LineModel& model, const LinePlan& plan);

}  // namespace allot
