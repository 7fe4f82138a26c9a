// Multilevel search for chains of stages on graphs too large or too wide for the exact engine.
//
// Problem: minimise the largest load over chains of ideals that cannot be listed.
// Method: rounds of annealing from the best plans known, in parallel with different seeds, each with more
//   moves than the one before: items move between stages (chain_refine.h), then the order that comes out is
//   split at best again (linear_dp_split.h), which also gives stages other devices. Hot ones make the plan
//   anew. Cold ones are V-cycles: items are ordered inside their stages, runs of the order become one item
//   each (which keeps the graph acyclic and the plan a plan), the coarser graph is searched the same way, and
//   the result carried back. A second plan of its own grows up beside the best one.
// Guarantee: heuristic; reports every better plan. Near-linear time and space in the size of the graph for
//   each cycle. Time out: the plans reported so far stand.
#pragma once

#include "allot/solve.h"

namespace allot {

SolveResult solveMultilevel(const Problem& problem, const Budget& budget, Progress& progress);

}  // namespace allot
