// Tiny random problems over all goals, modes and constraints.
#pragma once

#include <cstdint>

#include "allot/problem.h"
#include "base/random.h"

namespace allot {

struct RandomLimits {
  std::uint32_t ops = 5;
  std::uint32_t devices = 3;
  // Terms that engines do not know: blocks of weights, model inputs, live memory under throughput.
  bool memory_terms = false;
};

// The same problem for the same seed. Times are small multiples of 1/4 with zeros among them, memory is often
// tight.
Problem randomProblem(std::uint64_t seed, Goal goal, const RandomLimits& limits);

// One line that names goal and modes, for failure messages.
std::string describe(const Problem& problem);

}  // namespace allot
