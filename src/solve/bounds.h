// Simple lower bounds, valid in every mode they are used in.
//
// Path: no plan ends a chain of ops before each has run on its best device with the transfers between; every
// link mode, send
//   mode and memory model only adds to it. In the subgraph-calls model transfers can be hidden, so op times
//   alone count.
// Fractional load: for weights y >= 0 over the devices that sum to 1, the largest load is at least the
// weighted sum of the
//   loads, so at least the sum over ops of min over devices of y * time. Any weights are valid;
//   multiplicative updates look for good ones. Devices of a class share a weight, which keeps the bound valid
//   for replicated stages too.
// Single machine: under the same weights, models shorten each other at most as on one machine with
// preemption, where shortest
//   weighted work first is best: a bound on the sum of completions.
#pragma once

#include <vector>

#include "allot/solve.h"

namespace allot {

// By op: no plan ends the op earlier. O(edges * devices), times devices where transfers depend on the pair.
// Ops behind those it came to before the budget was used up have 0.
std::vector<double> earliestEnds(const Problem& problem, const Budget& budget);

// What can be said within the budget.
double lowerBound(const Problem& problem, const Budget& budget);

}  // namespace allot
