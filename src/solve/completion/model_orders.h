// Plans in which models go one after another: the start of the search for graphs of any kind.
//
// Problem: find an order of the models and a plan that serves them by it. Which model owns the scarce device
// next matters more than where ops go.
// Method: for an order of the models, ready ops are taken by (place of the model, longest way to the end) and
// put where weight x finish + price of the device's time is least, into idle gaps where there are some.
// Orders: all of them for few models, else from the shortest weighted work first by swaps that pay. Each is
// tried with several shares of the prices.
// Guarantee: a valid order of decisions with static memory kept; heuristic.
// When time runs out: the best plans were reported.
#pragma once

#include "allot/solve.h"
#include "solve/completion/price_search.h"

namespace allot {

// Reports what it finds; `orders` is the most orders tried. False when stopped.
bool searchModelOrders(const Problem& problem, const PriceSearch& prices, std::uint64_t orders,
                       const Budget& budget, Progress& progress);

}  // namespace allot
