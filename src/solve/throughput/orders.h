// Linear extensions of the forward graph that make good lines to cut into stages.
//
// Problem: a split of a line is only as good as the line. A good one keeps few tensors open at most
//   places and lets the open places fall where the work is balanced.
// Method: ready items are taken one by one, by a rule: the given order, last made ready first (depth), first
//   made ready first (breadth), least longest path from the sources (level), or the item after which least
//   tensor cost is open (frontier). Each rule can run from the sinks backwards, with noise from a seed, and
//   stage by stage of a known plan, which re-orders the inside of its stages.
// Guarantee: a topological order; the same for the same rule. Complexity: O((items + ends) log items).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "allot/solve.h"
#include "solve/throughput/linear_dp_model.h"

namespace allot {

struct OrderRule {
  enum class Kind : std::uint8_t { kGiven, kDepth, kBreadth, kLevel, kFrontier };
  Kind kind = Kind::kGiven;
  bool backwards = false;
  double noise = 0;  // 0 = none, 1 = as strong as the costs themselves
  std::uint64_t seed = 0;
};

// `stage_of`, if not empty, is the stage of each item in a chain of stages: earlier stages come first. Empty
// when the budget ran out.
std::vector<std::uint32_t> makeOrder(const LineModel& model, const OrderRule& rule,
                                     std::span<const std::uint32_t> stage_of, const Budget& budget);

}  // namespace allot
