// States of a linear dynamic programme: which devices the stages behind a position use.
//
// A state is a count of devices by pool, and where replicas make stages differ from devices and the number of
// stages matters, the number of stages too. Where that gives too many states, devices stand in one sequence
// and a state is how many of its last devices are used or skipped.
#pragma once

#include <cstdint>
#include <vector>

#include "solve/throughput/linear_dp_model.h"

namespace allot {

class LineStates {
 public:
  static constexpr std::size_t kMostStates = 4096;

  LineStates(const LineModel& model, std::size_t cells, std::uint64_t sequence_seed,
             std::size_t memory_bytes);

  std::size_t count = 1;
  bool sequence = false;  // devices may only be used in their sequence: skipping one is a step

  // Most replicas a stage before this state may have on the pool; 0 = none.
  std::uint32_t most(std::size_t state, std::size_t pool) const { return most_[state * pools_ + pool]; }
  std::size_t next(std::size_t state, std::size_t pool, std::uint32_t replicas) const {
    return state + replicas * stride_[pool] + stage_stride_;
  }
  // Number of stages of a state; where replicas are on, only if `countsStages` of the problem's modes.
  std::uint32_t stages(std::size_t state) const { return stages_[state]; }
  // Share of all device time that the devices of a state have.
  double capacity(std::size_t state) const { return capacity_[state]; }
  // States with one device less, of which any that is no worse makes this one superfluous.
  template <class Visit>
  void smaller(std::size_t state, Visit&& visit) const {
    if (sequence) return;
    for (std::size_t pool = 0; pool < pools_; ++pool) {
      if (used_[state * pools_ + pool] > 0) visit(state - stride_[pool]);
    }
  }

 private:
  std::size_t pools_ = 0;
  std::size_t stage_stride_ = 0;
  std::vector<std::size_t> stride_;         // by pool
  std::vector<std::uint32_t> used_, most_;  // [state * pools + pool]
  std::vector<std::uint32_t> stages_;
  std::vector<double> capacity_;

  void fillCounts(const LineModel& model);
  void fillSequence(const LineModel& model, std::uint64_t seed);
};

}  // namespace allot
