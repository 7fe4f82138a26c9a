// A chain of ops that cuts a graph into parts whose times add up.
//
// Problem: for ops b1 before b2 before ..., everything between two neighbours lies in time between them, so
// the parts' bounds add up to a bound of the whole. Which ops to take: barriers are best, for nothing is
// lost, but an op that runs beside little else serves as well; what runs beside it is left out. Method:
// longest path over pairs of ops, a pair weighing the work between them times `share`, or the path between
// them if that is longer. At most kMaxCandidates ops are candidates, those with the least work beside them.
// Guarantee: every part holds just the ops between its ends. Which chain is found decides how strong the
// bound is, not whether it holds. Complexity: O(candidates^2 * (ops / 64 + part size)); beyond kMaxOps ops
// the chain is the barriers, O(edges). Stopped early it is shorter or empty.
#pragma once

#include <cstdint>
#include <vector>

#include "allot/solve.h"
#include "base/bitset.h"
#include "solve/latency/schedule_model.h"

namespace allot {

struct BoundChain {
  std::vector<std::uint32_t> ops;
  // inner[t]: ops behind ops[t - 1] and before ops[t]; the first and the last part have one end only.
  std::vector<std::vector<std::uint32_t>> inner;
};

class ChainFinder {
 public:
  static constexpr std::size_t kMaxOps = 6000, kMaxCandidates = 1500, kMaxPart = 160;

  ChainFinder(const ScheduleModel& model, const Budget& budget);

  BoundChain find(double share) const;
  // The barriers: no op is left out.
  BoundChain atBarriers() const;
  // Every op in one part.
  BoundChain whole() const;

 private:
  struct Pair {
    std::uint32_t from;  // index of candidates_
    float work, path;
  };

  const ScheduleModel& model_;
  const Budget& budget_;
  std::vector<double> work_;  // by op, on its best device
  std::vector<Bitset> above_, below_;
  std::vector<std::uint32_t> candidates_;
  Csr<Pair> pairs_;  // by candidate: what may stand before it

  void closure();
  void chooseCandidates();
  void weighPairs();
  double workOf(const Bitset& ops) const;
  BoundChain withParts(std::vector<std::uint32_t> ops) const;
};

}  // namespace allot
