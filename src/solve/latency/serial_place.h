// Devices for ops when memory is tight: the least sum of op times and transfers that fits.
//
// Problem: as for a schedule, but valued as if nothing ran beside anything else. Where memory forces ops onto
//   slow devices, most of a schedule is such a sum: what goes where matters more than when.
// Method: annealing by the moves of a neighbourhood that change devices; a move costs only the nets of the
// ops
//   it moves, so it is far cheaper than a pass over a schedule. Memory above the limits has a price that
//   rises while nothing fits and falls while all does.
// Guarantee: heuristic; the result fits. The start is returned where nothing better was met. Where the budget
//   ends before the moves are made, it cools by the clock.
#pragma once

#include "allot/solve.h"
#include "solve/latency/neighbourhood.h"

namespace allot {

class SerialPlacer {
 public:
  SerialPlacer(const ScheduleModel& model, const SearchRange& range, const MemoryPrices& prices);

  // `start` has to fit.
  Sequence run(Sequence start, std::uint64_t moves, const Budget& budget, Random& random);

 private:
  const ScheduleModel& model_;
  double price_;  // of a device's whole memory, in seconds
  Neighbourhood neighbourhood_;
  std::vector<double> net_cost_;  // by net, of the accepted state
  std::vector<std::uint64_t> net_seen_, unit_seen_;
  std::uint64_t move_ = 0;
  std::vector<std::pair<std::uint32_t, double>> changed_;  // nets and what they cost after the move at hand

  double netCost(std::uint32_t net) const;
  double change();
};

}  // namespace allot
