// Activities on one machine, each with a head (earliest start), a length and a tail (time that must follow
// its end): does a set fit into a given time, and would one more?
//
// A set fits only if for all a and b the lengths of those with head >= a and tail >= b fit between a and the
// time less b. That is the same as the preemptive schedule by largest tail (Jackson) ending in time, which
// `overfull` computes in O(n log n). `prepare` keeps the set for `overfullWith`, O(n) for each further
// activity after O(n^2). Tails may be negative.
// References: J. Carlier, The one-machine sequencing problem, 1982.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace allot {

struct Activity {
  double head, length, tail;
};

class Windows {
 public:
  // 0 when the set fits; otherwise a time above `limit` that it needs at least.
  double overfull(std::span<Activity> set, double limit);

  void prepare(std::span<const Activity> set);
  double overfullWith(const Activity& more, double limit) const;

 private:
  static constexpr std::size_t kMaxTable = 128;

  std::vector<std::pair<double, double>> heap_;  // tail, length left
  std::vector<Activity> by_head_, by_tail_;      // descending
  std::vector<double> table_;                    // [rank by head][rank by tail]: most a + lengths + b
};

}  // namespace allot
