// Looks at every plan of a tiny problem, in every mode. It is the proof for tiny problems and the tests'
// brute force.
//
// Throughput: every assignment of units to devices, every set of replicas, every order of stages that samples
// in flight can tell
//   apart. Partial assignments end when compute alone is no better than the best plan.
// Events: every assignment, and for each every order of ops and transfers in which each starts no earlier
// than the one before it
//   and as early as its inputs, device and ports allow. Sums and maxima of ends never gain from starting
//   later, so these schedules hold an optimum. Under live memory waiting can pay: there a start may also be
//   any later end of what has begun, and an optimum of least total start has no other starts (moving one left
//   between two ends frees nothing and needs nothing).
// Calls: every label (device, call) for every op.
// Guarantee: when it has looked at everything, the best plan reported is optimal, or there is none. It gives
// up after a number of
//   steps (or the work limit), so that what follows in the portfolio gets its time.
#pragma once

#include "allot/solve.h"

namespace allot {

bool exhaustiveAccepts(const Problem& problem);
SolveResult solveExhaustive(const Problem& problem, const Budget& budget, Progress& progress);

// Counts work; every family takes a step for each node of its search tree.
class Steps {
 public:
  explicit Steps(const Budget& budget);

  // False when the search must end without a proof.
  bool next() {
    if (++taken_ > limit_) return false;
    return (taken_ & 255) != 0 || !(stopped_ = budget_.stopped());
  }
  bool stopped() const { return stopped_; }  // by the clock or a request
  std::uint64_t plans = 0;                   // complete plans valued

 private:
  const Budget& budget_;
  std::uint64_t taken_ = 0, limit_;
  bool stopped_ = false;
};

// One family each; true = looked at everything.
bool exhaustPipelines(const Problem& problem, Progress& progress, Steps& steps);
bool exhaustSchedules(const Problem& problem, Progress& progress, Steps& steps);
bool exhaustCalls(const Problem& problem, Progress& progress, Steps& steps);

// Calls `leaf(choice)` for every choice of an allowed device per unit that keeps resident bytes within the
// limits, until it returns false. `cut(depth, choice)` may refuse a partial choice of the first `depth`
// units. Returns false when stopped.
template <class Cut, class Leaf>
bool forEachPlacement(const Problem& problem, Cut&& cut, Leaf&& leaf) {
  const std::size_t units = problem.unitCount();
  std::vector<double> size(units, 0);
  for (std::size_t u = 0; u < units; ++u) {
    for (const OpId op : problem.unitOps(UnitId(u))) size[u] += problem.residentBytes(op);
  }
  std::vector<double> used(problem.deviceCount(), 0);
  std::vector<DeviceId> choice(units);
  const auto descend = [&](auto&& self, std::size_t depth) -> bool {
    if (depth == units) return leaf(choice);
    for (std::size_t d = 0; d < problem.deviceCount(); ++d) {
      if (!problem.allowed(UnitId(depth), DeviceId(d))) continue;
      const double before = used[d];
      used[d] += size[depth];
      choice[depth] = DeviceId(d);
      const bool go = used[d] <= problem.memoryLimit(DeviceId(d)) && cut(depth + 1, choice);
      const bool goes_on = !go || self(self, depth + 1);
      used[d] = before;
      if (!goes_on) return false;
    }
    return true;
  };
  return descend(descend, 0);
}

// The choice by unit as an assignment by op.
std::vector<DeviceId> assignmentOf(const Problem& problem, const std::vector<DeviceId>& choice);

}  // namespace allot
