// A small set of good and different sequences, and ways between them.
//
// Guarantee: the best sequence ever added is kept. Two members differ in at least a share of the ops'
// devices; of two closer ones the better stays.
#pragma once

#include "solve/latency/anneal.h"

namespace allot {

struct Elite {
  double value;
  Sequence sequence;
};

class ElitePool {
 public:
  explicit ElitePool(std::size_t most) : most_(most) {}

  void add(double value, const Sequence& sequence);
  std::size_t size() const { return members_.size(); }
  // Best first.
  const Elite& operator[](std::size_t i) const { return members_[i]; }

 private:
  std::size_t most_;
  std::vector<Elite> members_;
};

// The best of: beginnings of one joined to the rest of the other, both ways at several places; from there,
// the other's devices are taken over window by window of the order where that makes the schedule no longer.
// None of them exceeds the memory of devices by more than `a` does.
// O(kCuts) passes over the schedule and one change per window.
Sequence relink(const ScheduleModel& model, const Sequence& a, const Sequence& b, Random& random);

}  // namespace allot
