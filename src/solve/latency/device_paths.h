// Heads and tails of ops by device: the longest chain before and behind an op, each op of the chain on its
// best device.
//
// head[op * devices + d]: the op cannot start earlier on device d. tail: time that must still pass after the
// op has ended on device d. Transfers count as if no other used the ports, so both hold in every link mode,
// send mode and memory model. Between an op and the next of its chain on the same device lies the launch.
// O(edges * devices), times devices where transfers depend on the pair. When time runs out: 0 for all that is
// left, which is never wrong.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "allot/solve.h"
#include "solve/latency/schedule_model.h"

namespace allot {

std::vector<double> deviceHeads(const ScheduleModel& model, const Budget& budget);
std::vector<double> deviceTails(const ScheduleModel& model, const Budget& budget);

// The least of some values by device, with or without that of one device.
class LeastTwo {
 public:
  void add(std::size_t device, double value) {
    if (value < least_) {
      second_ = least_;
      least_ = value;
      where_ = device;
    } else {
      second_ = std::min(second_, value);
    }
  }
  double without(std::size_t device) const { return device == where_ ? second_ : least_; }

 private:
  double least_ = kCannotRun, second_ = kCannotRun;
  std::size_t where_ = SIZE_MAX;
};

}  // namespace allot
