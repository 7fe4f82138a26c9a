// Random histories that look for lost work: tiny problems with everything that a plan must respect, and
// events that hit each other.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "allot/online.h"
#include "allot/problem.h"

namespace allot {

// One to three models of up to six ops on one to four devices of up to three classes: times from a short
// list, so that ends, sends and events fall together, zero among them; times by link, matrix or tensor; ops
// that cannot run everywhere, pins, groups, orders, launches; memory that suffices for little, with blocks of
// weights; all link modes, both send modes.
Problem hostileProblem(std::uint64_t seed);
OnlineOptions hostileOptions(std::uint64_t seed);
// Failures and returns one at a time, of several devices at once, and both at the same time; arrivals,
// departures, slow-downs, measured times. All devices return at the end.
std::vector<OnlineEvent> hostileEvents(const Problem& problem, std::uint64_t seed);

struct History {
  std::size_t starts = 0, repeats = 0, finished = 0, holds = 0;
  std::string wrong;  // empty when all holds
};

// Lives through the events; checks the engine's invariant after each of them and each plan, and the log at
// the end. Where ends are reported, ops take from half to twice as long as predicted.
History liveThrough(const Problem& problem, const OnlineOptions& options,
                    const std::vector<OnlineEvent>& events, std::uint64_t seed);

}  // namespace allot
