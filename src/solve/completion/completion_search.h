// Search for plans of several models: any graphs, any number of models and devices, links and memory.
//
// Method: prices of device time (price_search.h) say what an op's time on a device costs the other models.
// Chains: schedules grown at these prices (chain_beam.h), wider and wider while the prices get better, and
// two chains at a time planned anew around the others (pair_moves.h). Others: models one after another in
// many orders (model_orders.h), then small changes of the best plan (order_walk.h) and parts of it planned
// anew (window_moves.h) in rounds until they gain nothing. Guarantee: heuristic; starts from the best plan
// and reports only better ones, and the bounds of its prices. When time runs out: the best plan so far.
#pragma once

#include "allot/solve.h"

namespace allot {

bool completionSearchAccepts(const Problem& problem);
SolveResult solveCompletionSearch(const Problem& problem, const Budget& budget, Progress& progress);

}  // namespace allot
