// The value of a pipeline: stages, replicas, loads, samples in flight.
#pragma once

#include <string>
#include <vector>

#include "allot/plan.h"
#include "allot/problem.h"

namespace allot {

// Completes a throughput plan from its assignment (and stages, where they fit it): stages in pipeline order,
// device use, value. What it violates (contiguity, replicas, number of stages) is appended to `violations`;
// memory is left to the caller.
void evaluatePipeline(const Problem& problem, Plan& plan, std::vector<std::string>& violations);

}  // namespace allot
