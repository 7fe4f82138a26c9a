// Subgraph-calls latency: exact search with proof for one call per accelerator; a bound and packed plans for
// several.
//
// Problem: cpu ops on unlimited cores, accelerators that run at most q whole subgraphs as calls
// (docs/semantics). Method: a beam of the label search (calls_search.h) for a first plan; then the search
// below it with modules taken apart into branches (calls_branches.h), which is whole unless calls that touch
// several branches might help; then the whole search. All of it first without items that run beside
// everything (calls_aside.h). For q > 1 the search runs with q times as many accelerators of one call each,
// where calls that share a unit share memory too; it leaves out that other calls of one accelerator do, and
// that calls run one after the other: its value is a bound; the calls it finds are then packed onto the
// accelerators. Guarantee: q = 1 optimal when complete and cpu memory does not bind; q > 1 a valid bound,
// optimal where the packed plan meets it. When time runs out: the best plan so far, and the bound of the
// modules that were run whole.
#pragma once

#include "allot/solve.h"

namespace allot {

bool callsAccepts(const Problem& problem);
SolveResult solveCalls(const Problem& problem, const Budget& budget, Progress& progress);

}  // namespace allot
