// Simulated annealing of a sequence by the moves of a neighbourhood.
//
// The limit that a candidate must keep is drawn before it is decoded, so that the decoder can stop as soon as
// it is exceeded. Temperatures fall geometrically with the moves made; where the clock would cut the run
// short they fall with the time instead. Memory above the limits makes a state dearer, at a price that
// follows how many states fit; only states that fit count. Guarantee: heuristic; the result is never worse
// than a start that fits.
#pragma once

#include "allot/solve.h"
#include "solve/latency/neighbourhood.h"

namespace allot {

struct AnnealPlan {
  std::uint64_t moves;
  double hot, cold;  // temperatures as shares of the start's value
  double seconds;    // the run is over then; infinity = moves alone decide
};

struct AnnealResult {
  double value = std::numeric_limits<double>::infinity();  // infinite: nothing that fits was met
  Sequence sequence;
  std::uint64_t moves = 0;
};

class Annealer {
 public:
  Annealer(const ScheduleModel& model, const SearchRange& range);

  Neighbourhood& neighbourhood() { return neighbourhood_; }
  AnnealResult run(Sequence start, const AnnealPlan& plan, const Budget& budget, Random& random);
  double valueOf(const Sequence& sequence);

 private:
  const ScheduleModel& model_;
  bool live_;
  Decoder decoder_;
  Decoder recorder_;
  Neighbourhood neighbourhood_;
  double weight_ = 0;  // of memory above the limits

  double penalty(const Sequence& sequence);
};

}  // namespace allot
