// Latency where accelerators are called: what a list of calls is worth, and the best of all.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "random/pipelines.h"

namespace allot::tiny {

// Latest end; absent where calls wait for each other in a circle. Calls of a device stand in the order they
// run.
std::optional<double> callsValue(const Rules& rules, const std::vector<int>& device,
                                 const std::vector<Stage>& calls);

// "" = the calls may run.
std::string wrongCalls(const Rules& rules, const std::vector<int>& device, const std::vector<Stage>& calls);

struct BestCalls {
  std::optional<double> value;
  std::vector<int> device;
  std::vector<Stage> calls;
};

BestCalls bestCalls(const Rules& rules);

}  // namespace allot::tiny
