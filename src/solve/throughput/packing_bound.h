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
#include "base/walk_crew.h"
#include "solve/throughput/cover_set.h"
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

// What is known of the value before: it is at least `lower`, and only plans below `upper` matter (infinite =
// unknown). Sets: those of the devices in a good plan, all items together.
struct PackingKnown {
  double upper;
  double lower = 0;
  std::vector<CoverSet> sets = {};
};
// Who hears of what it finds on the way; both may be empty.
struct PackingListener {
  std::function<void(double)> bound;  // each rise
  // Sets that cover all items, in parts, within a load that was not refuted; answers what the value is at
  // most, as plans made of them may say. The crew has nothing else to do meanwhile.
  std::function<double(std::span<const CoverSet>, WalkCrew&)> cover;
};
// The best bound found: no plan is better than that.
enum class BoundBy : std::uint8_t { kItems, kPrices };
PackingBoundReport packingBound(const PipelineModel& model, const PackingKnown& known, const Budget& budget,
                                BoundBy by, const PackingListener& listener = {});

}  // namespace allot
