// Packing of operators that follow one another: fewer, longer ops for methods that look at each step.
//
// Problem: cut a chain of operators into groups of like speed-up that last long enough to be worth a
// decision. Method: as the published tool really cuts (Talos, ASAP 2021). A group is opened by an op of
// speed-up s; the next group begins at the first later op whose own speed-up is above 0.2 and outside
//   ( min(s - 1, low * s), max(s + 1, high * s) )
// once the group has lasted longer than `seconds` by the clock given. The first group reaches up to s + 4
// instead of s + 1: it is the loading of data. Speed-ups are those of operator types, so that the noise of
// one call does not cut.
// Guarantee: deterministic; every op is in exactly one group; order is kept.
// Complexity: O(ops).
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace allot {

struct PackRule {
  double low = 0.5, high = 2;  // window of speed-ups, in parts of the one that opened the group
  double seconds = 0.01;       // a group lasts longer than this
};

// Positions at which groups begin. `speedup` and `start` (seconds, on the clock of the reference device) have
// one entry per op.
std::vector<std::size_t> packBySpeedup(std::span<const double> speedup, std::span<const double> start,
                                       const PackRule& rule);

}  // namespace allot
