// Which of several good plans to take when op times are uncertain.
//
// Problem: of the plans a search found, those close to the best are worth the same on paper; the one to take
// is the one whose decisions, kept as they are, are worth most when times are off by 10 %.
// Method: the best plans within 3 % of the best value are kept, each is valued under the same log-normal
// samples, the least mean is taken.
// Guarantee: the mean under noise is never above that of the plan of least value. Complexity: samples * plans
// kept evaluations, once.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "allot/plan.h"
#include "allot/problem.h"

namespace allot {

class RobustChoice {
 public:
  // A valid, evaluated plan.
  void offer(const Plan& plan);
  // The plan to take, with its noise report; at least one plan must have been offered. Once `stopped`, plans
  // of more value are not looked at any more, and the best of all may come without a report.
  Plan take(
      const Problem& problem, std::uint64_t seed,
      const std::function<bool()>& stopped = [] { return false; });

 private:
  std::vector<Plan> plans_;  // by increasing value
};

}  // namespace allot
