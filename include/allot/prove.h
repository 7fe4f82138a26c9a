// A plan's value proved a second time, by another route than the one its file names.
#pragma once

#include <atomic>
#include <string>

#include "allot/plan.h"
#include "allot/problem.h"
#include "allot/solve.h"

namespace allot {

struct ProofAgain {
  bool proved = false;  // no plan is better than this one
  std::string by;       // the solver that proved it, or found a better plan
  double bound = 0;     // the best bound reached
  double better = 0;    // the best value seen, the plan's own included
};

// Tries the solvers that can prove, cheapest first, but for the one in `plan.proof`, until the time is up.
ProofAgain proveAgain(const Problem& problem, const Plan& plan, const RunOptions& run,
                      const std::atomic<bool>* stop_flag = nullptr);

}  // namespace allot
