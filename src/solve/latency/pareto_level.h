// The partial schedules of one round of the Pareto search, none of them dominated by another.
//
// One dominates another when whatever completes the other below the target completes it too, no later. Times
// of the dominated one count from the first moment on at which they can matter (ParetoBound::lift).
// Same ops done, same devices of live ops, same transfers made: each time (and used bytes) is no larger.
// Found
//   by hashing as they come.
// Same ops done only: besides, each input that the other may read somewhere is there no later than the other
//   can have it there; or neither has sent it there, both from the same device. Such pairs are looked for
//   when the round is closed, each against those of its ideal with the best bounds.
#pragma once

#include <cstdint>
#include <vector>

#include "solve/latency/pareto_bound.h"
#include "solve/latency/pareto_model.h"

namespace allot {

class ParetoLevel {
 public:
  explicit ParetoLevel(const ParetoModel& model) : model_(&model), scratch_(model.start()) {}

  // Whether none that is there dominates the partial schedule. `floor` is a bound of its value.
  bool wants(std::uint32_t ideal, const Partial& partial, double floor);
  // Takes it, with the times as they are and as lifted, and the devices left by the bound.
  void take(std::uint32_t ideal, const Partial& partial, const Partial& lifted, const ParetoBound& left,
            double bound, std::uint32_t node);
  // Drops what became dominated and keeps the `width` best (0 = all), in the order in which they came.
  void close(std::size_t width, const Budget* budget);
  void clear();

  std::size_t size() const { return states_.size(); }
  std::uint32_t idealOf(std::size_t i) const { return states_[i].ideal; }
  std::uint32_t nodeOf(std::size_t i) const { return states_[i].node; }
  double boundOf(std::size_t i) const { return states_[i].bound; }
  void read(std::size_t i, Partial& partial) const { readState(states_[i], partial); }
  std::size_t bytes() const {
    return states_.capacity() * sizeof(State) + keys_.capacity() * 2 + times_.capacity() * 8 +
           latest_.capacity() * 4 + table_.capacity() * 4;
  }

 private:
  static constexpr std::uint32_t kNone = 0xffffffff;
  struct State {
    double bound;
    std::size_t key_at, times_at, latest_at;
    std::uint64_t hash;
    std::uint32_t ideal, node, next;
    std::uint16_t key_size, times_size;
    bool dead;
  };

  const ParetoModel* model_;
  std::vector<State> states_;
  std::vector<std::uint16_t> keys_, key_;
  std::vector<double> times_, time_;
  // By state: until when devices, ports, bytes, value, each input on each device and each end may be late and
  // still be no worse; rounded down. `earliest_` is the other side for the states of one ideal, rounded up.
  std::vector<float> latest_, earliest_;
  Partial scratch_;
  std::vector<std::uint32_t> table_;

  std::uint64_t hash_ = 0;
  std::uint32_t ideal_ = 0;
  std::size_t slot_ = 0;

  void write(const Ideal& ideal, const Partial& partial, double floor);
  void readState(const State& state, Partial& partial) const;
  void grow();
  void writeLatest(const Ideal& ideal, const Partial& lifted, const ParetoBound& left, double bound);
  void writeEarliest(const Ideal& ideal, const State& state);
  bool dominates(const Ideal& ideal, const State& a, const float* earliest, const State& b) const;
  void thin(std::vector<std::uint32_t>& group, const Budget* budget);
  void thinAll(const Budget* budget);
};

}  // namespace allot
