// Multilevel search for chains of stages on graphs too large or too wide for the exact engine.
//
// Problem: minimise the largest load over chains of ideals that cannot be listed.
// Method: rounds of V-cycles from the best plans known, in parallel with different seeds. A V-cycle orders
// the
//   items inside their stages, joins runs of the order to one item each (which keeps the graph acyclic and
//   the plan a plan), searches the coarser graph the same way, and carries the result back. On each level
//   items move between stages (chain_refine.h), then the order that comes out is split at best again
//   (linear_dp_split.h), which also gives stages other devices.
// Guarantee: heuristic; reports every better plan. Near-linear time and space in the size of the graph for
//   each cycle. Time out: the plans reported so far stand.
#pragma once

#include "allot/solve.h"

namespace allot {

SolveResult solveMultilevel(const Problem& problem, const Budget& budget, Progress& progress);

}  // namespace allot
