// Several changes of one sequence valued in a single pass: the screen in front of the decoder.
//
// Problem: most of what a search proposes is no good, and the decoder values one proposal at a time.
// Method: up to kLanes proposals, all made from the decoder's accepted sequence, are lanes of one sweep over
// the decoder's window: every time is an array with one entry by lane, so that one vector instruction serves
// several proposals. An op that a lane runs elsewhere, reads from elsewhere or takes at another place is done
// lane by lane; all others, nearly all, are done for all lanes at once. Ports only append here: no idle
// times. Guarantee: without ports a lane is worth what `Decoder::tryChange` says, up to the rounding of a
// mean, except where a move takes an op over the first of the last ends that count. With ports it is an
// estimate, to be compared with `base`, the estimate of the accepted sequence. The decoder decides in any
// case. Complexity: O(ops + edges) between the last checkpoint before the first change and the end of the
// window, for all lanes together.
#pragma once

#include <array>

#include "solve/latency/decoder.h"
#include "solve/latency/lane_times.h"
#include "solve/latency/neighbourhood.h"

namespace allot {

class Lanes {
 public:
  static constexpr std::uint32_t kLanes = LaneTimes::kLanes;

  // The decoder must have a window whenever `run` is called, and outlive this.
  explicit Lanes(const Decoder& decoder);

  // Forgets all proposals.
  void clear();
  // Takes one more proposal; at most `room` of them.
  void add(const Move& move);
  std::uint32_t room() const { return kLanes - first_lane_; }
  std::uint32_t count() const { return used_ - first_lane_; }
  // Values all of them, as changes of the decoder's accepted sequence.
  void run(const Sequence& accepted);
  double value(std::uint32_t proposal) const { return value_[first_lane_ + proposal]; }
  double base() const { return decoder_.ports_ ? value_[0] : decoder_.value(); }

 private:
  struct Insert {
    std::uint32_t position, lane, op;  // taken before the op that stands there
  };
  struct Sent {
    std::uint32_t lanes = 0;  // a bit by lane: sent already
    LaneTimes time;
  };
  struct Slot {
    std::uint32_t run = 0, at = 0;  // the sweep that used it last, and which of `sent_` it had there
  };
  const Decoder& decoder_;
  std::uint32_t first_lane_;  // with ports lane 0 is the accepted sequence
  std::uint32_t used_ = 0, run_ = 0;
  std::uint32_t from_ = 0, start_ = 0;  // first changed position, and where the sweep starts
  const Sequence* accepted_ = nullptr;
  std::array<double, kLanes> value_;
  std::vector<std::uint32_t>
      differs_;  // by op: lanes in which it, its place or one it reads is not as accepted
  std::vector<std::uint32_t> absent_;                      // by op: lanes that take it at another place
  std::vector<std::array<std::uint32_t, kLanes>> device_;  // by op that differs; UINT32_MAX: as accepted
  std::vector<std::uint32_t> touched_;                     // ops with a mark above
  std::vector<Insert> inserts_;
  std::vector<LaneTimes> end_, free_, port_;
  std::vector<Slot> slots_;  // [net * devices + device] where nets are shared
  std::vector<Sent> sent_;   // of this sweep

  void mark(std::uint32_t op, std::uint32_t lane);
  Sent& sentOf(std::uint32_t net, std::uint32_t to);
  double endOf(std::uint32_t op, std::uint32_t lane) const;
  void stepAll(std::uint32_t op);
  void sendRest(Sent& sent, std::uint32_t producer, std::uint32_t from, std::uint32_t to, double seconds);
  void stepLane(std::uint32_t op, std::uint32_t lane);
  void valueAll();
};

}  // namespace allot
