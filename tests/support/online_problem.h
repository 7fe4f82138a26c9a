// Random problems and events for the online engine.
#pragma once

#include <cstdint>
#include <vector>

#include "allot/online.h"
#include "allot/problem.h"

namespace allot {

struct OnlineShape {
  std::uint32_t models = 3, ops = 8, devices = 3;
  bool chain = true;  // else graphs of any shape
  bool transfers = false;
  bool memory = false;  // limited, and enough for some jobs at once
  LinkMode link_mode = LinkMode::kFree;
  bool per_edge = false;    // sends
  std::uint32_t kinds = 1;  // of accelerators; each model is fast on some of them and slow on others
};

// A slow cpu and faster accelerators of one or more classes; each model has `ops` ops, times unlike.
Problem onlineProblem(std::uint64_t seed, const OnlineShape& shape);
OnlineShape randomShape(std::uint64_t seed);

// Arrivals at about the rate that the devices can serve (times `load`), and departures, failures, returns,
// slow downs and measured times; every failed device returns. Sorted by time.
std::vector<OnlineEvent> randomEvents(const Problem& problem, std::uint64_t seed, std::uint32_t count,
                                      double load = 0.8, bool arrivals_only = false);

}  // namespace allot
