// Which of the two latency models a problem asks for.
#pragma once

#include "allot/problem.h"

namespace allot {

// True when accelerators run whole subgraphs as calls; false for events, and for the other goals.
inline bool isCallsModel(const Problem& problem) {
  return problem.goal() == Goal::kLatency && problem.modes.model == LatencyModel::kSubgraphCalls;
}

}  // namespace allot
