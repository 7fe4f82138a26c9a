// Linear-order dynamic programmes over many good orders: fast plans for every graph, of any size.
//
// Problem: minimise the largest load of a stage over splits of linear orders into consecutive stages.
// Assumptions: none on the shape of the graph. By-link transfers are taken as the least any pair of devices
//   pays, `max-parts` adds the parts of a stage; the receiver values each plan as it is.
// Method: several linear extensions (orders.h), each split at best (linear_dp_split.h) below the best value
//   so far; then orders that keep the stages of the best plan and re-order their insides, while that helps.
// Guarantee: heuristic; each split is the best of its order up to the cells of a long line. Feasible for
//   every contiguity, since consecutive parts are a chain.
// Complexity: about a dozen splits, up to fifty of small models while they help; with little patience only
// the first one or five. Time out: the plans reported so far stand.
#pragma once

#include <span>

#include "allot/solve.h"
#include "solve/throughput/linear_dp_model.h"
#include "solve/throughput/orders.h"

namespace allot {

SolveResult solveLinearDp(const Problem& problem, const Budget& budget, Progress& progress);

// Best split of the orders of `rules`, kept to the stages of `stage_of` unless that is empty, below `cutoff`;
// without stages where there is none. Rule i uses device sequence i where there are too many device states.
LinePlan bestSplit(const LineModel& model, std::span<const OrderRule> rules,
                   std::span<const std::uint32_t> stage_of, double cutoff, const Budget& budget);

}  // namespace allot
