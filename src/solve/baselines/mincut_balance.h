// Least cut under balance, as graph partitioners split a model (the family of METIS and SCOTCH).
//
// Problem: parts of equal work with the least weight of cut tensors between them. Assumptions, the
// partitioners' and not ours: what counts is the sum of all cuts, not the load of the busiest device; memory
// does not count. The work of an item is its time on the first device; a device is due a share in proportion
// to its speed on the whole model.
// Method: recursive bisection of the devices, each with Fiduccia-Mattheyses passes: the free move of largest
// gain that keeps the balance, every item moved once, back to the best state seen. Where stages must be
// contiguous the first half of each bisection stays an ideal of the forward graph, so that the parts are a
// chain. Starts from the prefix of the module order that comes nearest to its share.
// Guarantee: heuristic; the plan is judged by the real costs and limits like any other.
// Complexity: O(passes * ends of nets * log items) for each of log2(devices) levels.
// When time runs out: nothing is reported.
#pragma once

#include "allot/solve.h"

namespace allot::baseline {

// Above this many ops and tensor ends a partitioner needs coarsening, which this one has not.
inline constexpr std::size_t kMinCutLimit = 300'000;

SolveResult minCutBalance(const Problem& problem, const Budget& budget, Progress& progress);

}  // namespace allot::baseline
