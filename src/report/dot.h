// A plan as a Graphviz graph: a cluster per device, ops in its colour, cut tensors drawn heavy with their
// size.
#pragma once

#include <string>

#include "allot/plan.h"
#include "allot/problem.h"

namespace allot {

std::string writeDot(const Problem& problem, const Plan& plan);

}  // namespace allot
