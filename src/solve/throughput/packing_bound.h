// A lower bound on the largest load by prices: what all devices together can be worth under a load limit.
//
// Problem: bound the value of every plan of a throughput problem from below, whatever the contiguity.
// Method: give each item a price. A plan of value at most T splits the items among the devices, each with a
// set of load at most T, so the prices of all items add up to at most the sum over devices of mu(T), the
// largest price of a set of load at most T. Where mu(T) is too small for that, T is refuted. mu is computed
// by a sweep over the items (PriceDiagram, PriceSweep), the prices come from the sets that sweeps have found
// (PriceBundle). Guarantee: valid for every plan without replication under `sum` overlap; under by-link
// transfers the loads are those of the cheapest partner. The bound stands on the prices and the sweeps alone,
// not on how they were chosen. Memory counts item by item only. Complexity: some hundred sweeps of O(nodes of
// the diagram * resolution), and to every two of them a small quadratic program. Out of time: the best bound
// so far.
#pragma once

#include <functional>

#include "allot/solve.h"
#include "solve/throughput/pipeline_model.h"

namespace allot {

bool packingBoundAccepts(const Problem& problem);
// The part of it that asks, for each item alone, what load its device has at least. Milliseconds, and close
// where single tensors are heavy.
SolveResult solveItemBound(const Problem& problem, const Budget& budget, Progress& progress);
SolveResult solvePackingBound(const Problem& problem, const Budget& budget, Progress& progress);

struct PackingBoundReport {
  double bound = 0;
  double item_bound = 0;  // from single items alone
  std::uint32_t peak_open = 0;
  std::size_t nodes = 0;
  std::size_t sweeps = 0;
  bool complete = true;  // every net was counted in full
};

// The best bound found for plans of value below `upper` (infinite = unknown): no plan is better than the
// bound. `on_better` hears of each rise.
enum class BoundBy : std::uint8_t { kItems, kPrices };
PackingBoundReport packingBound(const PipelineModel& model, double upper, const Budget& budget, BoundBy by,
                                std::span<const std::vector<std::uint32_t>> known_sets = {},
                                const std::function<void(double)>& on_better = {});

}  // namespace allot
