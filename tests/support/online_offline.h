// A replay in which jobs only arrived, as a problem that knows every job from the start and a plan of it.
#pragma once

#include <vector>

#include "allot/online.h"
#include "allot/plan.h"

namespace allot {

// Every job is a model that is released when the job arrived.
Problem offlineProblem(const Problem& problem, const OnlineEngine& engine);
// What was executed, with its value as claim.
Plan executedPlan(const Problem& offline, const Problem& problem, const OnlineEngine& engine,
                  const std::vector<Decision>& decisions);

}  // namespace allot
