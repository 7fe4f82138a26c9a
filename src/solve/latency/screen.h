// Proposals screened by lanes: of several moves drawn at once, the one worth decoding.
//
// Problem: a search that tries every move it draws spends most of its time on moves that fail. Method: as
// many moves as there are lanes are drawn from the same state, each with the limit that it must keep, and
// valued in one pass; the one that stays furthest below its limit is made. As limits are drawn at random by
// the temperature, so is the choice among moves that differ by less. Guarantee: none; the decoder decides.
#pragma once

#include <functional>

#include "solve/latency/lanes.h"

namespace allot {

class Screen {
 public:
  // Both must outlive this.
  Screen(Decoder& decoder, Neighbourhood& neighbourhood)
      : neighbourhood_(neighbourhood), decoder_(decoder), lanes_(decoder) {}

  // Moves drawn by each `propose`.
  std::uint32_t width() const { return lanes_.room(); }
  // Makes the best of the drawn moves; false where none seems to keep its limit. `drawLimit` is called with
  // each move made; below 0 the move is not wanted.
  bool propose(Random& random, const std::function<double()>& drawLimit);
  // Of the move made.
  double limit() const { return limit_[chosen_]; }

 private:
  Neighbourhood& neighbourhood_;
  const Decoder& decoder_;
  Lanes lanes_;
  std::array<Move, Lanes::kLanes> moves_;
  std::array<double, Lanes::kLanes> limit_;
  std::uint32_t chosen_ = 0;
};

}  // namespace allot
