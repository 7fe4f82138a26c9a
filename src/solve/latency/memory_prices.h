// Prices of memory: what a byte on each device costs in seconds when devices are short of it.
//
// Problem: every unit on one allowed device, resident bytes within the devices' memory, least total time of
//   the ops; order and transfers are left out. Where memory is tight it decides most of a plan: which ops are
//   worth a place on a fast device.
// Method: Lagrangian dual of the memory limits, ascended by subgradients with geometrically shorter steps.
// Use: a rule that places ops one by one adds what a unit costs on a device above its cheapest one, so that
//   fast devices are not full of the first ops but of those that need them most.
// Guarantee: none, a guide. All prices are 0 where memory cannot bind. When time runs out: prices so far.
// Complexity: O(rounds * units * devices).
#pragma once

#include <vector>

#include "allot/solve.h"
#include "solve/latency/schedule_model.h"

namespace allot {

class MemoryPrices {
 public:
  MemoryPrices(const ScheduleModel& model, const Budget& budget);

  // What the unit costs on the device above its cheapest device, in seconds, bytes priced; kCannotRun where
  // it may not run.
  double excess(std::size_t unit, std::size_t device) const { return excess_[unit * devices_ + device]; }
  // The dearest device's memory as a whole, in seconds.
  double dearest() const;

 private:
  const ScheduleModel& model_;
  std::size_t devices_;
  std::vector<double> seconds_;  // [unit * devices + device]
  std::vector<double> price_;    // seconds by byte, by device
  std::vector<double> excess_;   // [unit * devices + device]

  void ascend(const Budget& budget);
  std::uint32_t cheapest(std::size_t unit, const std::vector<double>& price) const;
  double cost(std::size_t unit, std::size_t device, const std::vector<double>& price) const {
    return seconds_[unit * devices_ + device] + price[device] * model_.unit_bytes[unit];
  }
};

}  // namespace allot
