// The partial schedules of one round of the Pareto search, none of them dominated by another.
//
// Two partial schedules are compared when the same ops are done, live ops stand on the same devices and the
// same transfers have been made; one dominates when each of its times (and used bytes) is no larger. Before
// that, times that can no longer matter are raised to the point where they start to: what is free before the
// last start counts as free at the last start, because activities are taken in the order of their starts; an
// input that is there before its device is free counts as there when it is free. Raising such times changes
// no completion and lets far more partial schedules meet.
#pragma once

#include <cstdint>
#include <vector>

#include "solve/latency/pareto_model.h"

namespace allot {

class ParetoLevel {
 public:
  explicit ParetoLevel(const ParetoModel& model) : model_(&model) {}

  // Whether none that is there dominates the partial schedule. `floor` is a bound of its value.
  bool wants(std::uint32_t ideal, const Partial& partial, double floor);
  // Takes what `wants` was last asked about; `node` is remembered.
  void take(double bound, std::uint32_t node);
  // Drops what became dominated and keeps the `width` best (0 = all), best bounds first.
  void close(std::size_t width);
  void clear();

  std::size_t size() const { return states_.size(); }
  std::uint32_t idealOf(std::size_t i) const { return states_[i].ideal; }
  std::uint32_t nodeOf(std::size_t i) const { return states_[i].node; }
  double boundOf(std::size_t i) const { return states_[i].bound; }
  void read(std::size_t i, Partial& partial) const;
  std::size_t bytes() const {
    return states_.capacity() * sizeof(State) + keys_.capacity() * 2 + times_.capacity() * 8 +
           table_.capacity() * 4;
  }

 private:
  static constexpr std::uint32_t kNone = 0xffffffff;
  struct State {
    double bound;
    std::size_t key_at, times_at;
    std::uint64_t hash;
    std::uint32_t ideal, node, next;
    std::uint16_t key_size, times_size;
    bool dead;
  };

  const ParetoModel* model_;
  std::vector<State> states_;
  std::vector<std::uint16_t> keys_, key_;
  std::vector<double> times_, time_;
  std::vector<std::uint32_t> table_;

  std::uint64_t hash_ = 0;
  std::uint32_t ideal_ = 0;
  std::size_t slot_ = 0;

  void write(const Ideal& ideal, const Partial& partial, double floor);
  void grow();
};

}  // namespace allot
