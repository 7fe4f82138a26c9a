// Least ends of models while a part of a plan is planned anew (window_moves.h).
//
// Problem: of a plan's order, places [begin, end) are up for change: some ops are free to move in it and to
// other devices, the others keep their order and devices, as do all ops outside. For a beginning that has
// just been lengthened by an op: when can each model end at the earliest? Method: for each op a tail to the
// end of each model, over paths of ops that wait for it in every plan the part allows: consumers, and for
// fixed ops the next fixed op of the device. A free op counts with its least time where it may change its
// device, a transfer only where both of its ends are fixed. Tails are found once for each part, from the
// back. Guarantee: no plan the part allows from a beginning ends a model before `Ends` says. Complexity:
// models x (ops + edges) for a part, models for each op that is appended.
#pragma once

#include <cstdint>
#include <vector>

#include "solve/local_search/ordered_plan.h"

namespace allot {

struct WindowPart {
  explicit WindowPart(const Problem& problem)
      : is_free(problem.opCount(), 0), unit_open(problem.unitCount(), 0) {}

  std::size_t begin = 0, end = 0;       // places of the order
  std::vector<OpId> free, others;       // ops at these places, in the order
  std::vector<std::uint8_t> is_free;    // by op
  std::vector<std::uint8_t> unit_open;  // by unit: all its ops are free, and none has been taken
};

class WindowBound {
 public:
  explicit WindowBound(const Problem& problem);

  struct Ends {
    std::vector<double> end;  // by model, at least
    double sum = 0;           // weighted
  };

  void prepare(const OrderedPlan& plan, const WindowPart& part);

  Ends none() const { return {std::vector<double>(models_, 0), 0}; }
  // What it means for the models that the op ends then.
  void raise(Ends& ends, OpId op, double seconds) const;
  // The next fixed op that uses the device, when so many of the part's others are taken; OpId(opCount) =
  // none.
  OpId nextOther(std::size_t taken, DeviceId device) const {
    return next_other_[taken * devices_ + device.index()];
  }

 private:
  const Problem& problem_;
  std::size_t n_, devices_, models_;
  std::vector<double> tail_;      // [op * models + model]: from the op's end to the model's, at least
  std::vector<OpId> next_other_;  // [taken * devices + device]

  double leastSeconds(const OrderedPlan& plan, const WindowPart& part, OpId op) const;
};

}  // namespace allot
