// Best split of one linear order of the forward graph into pipeline stages.
//
// Problem: throughput. The module order (a topological order of the forward units) is cut into consecutive
// stages, each on one
//   device or several replicas of interchangeable devices.
// Guarantee: the best split of this order under via-host transfers, load `sum` or `max` and the plain memory
// sum; a heuristic
//   for by-link transfers (mean pair times), max-parts (parts added) and samples in flight (as many stages as
//   devices). Feasible for every contiguity, since consecutive parts are a chain.
// Method: suffix dynamic programme over (position, devices used by kind), where devices of the same class,
// memory, host and
//   permissions are of one kind; the loads of all segments from a position grow by one cell at a time, first
//   end of a tensor in adds its cost, last end in takes it off. Segments whose compute alone is no better
//   than the best plan are cut off.
// Complexity: O(cells^2 * states * kinds); long orders are joined to fewer cells so that this stays near 1e8.
#pragma once

#include "allot/solve.h"

namespace allot {

SolveResult solveLinearDp(const Problem& problem, const Budget& budget, Progress& progress);

}  // namespace allot
