#include "support/proven_optimum.h"

#include <gtest/gtest.h>

#include <limits>

namespace allot {

RunOptions oneThread(std::uint64_t seed) {
  RunOptions run;
  run.threads = 1;
  run.seed = seed;
  return run;
}

double provenOptimum(const Problem& problem) {
  const SolveOutcome outcome = solve(problem, oneThread());
  EXPECT_TRUE(outcome.message.empty()) << outcome.message;
  if (outcome.plan.status == Status::kInfeasible) {
    EXPECT_FALSE(outcome.conflict.facts.empty());
    return std::numeric_limits<double>::infinity();
  }
  EXPECT_EQ(outcome.plan.status, Status::kOptimal) << outcome.plan.value << " above " << outcome.plan.bound;
  return outcome.plan.value;
}

}  // namespace allot
