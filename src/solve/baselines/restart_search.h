// Descent from random starts: the plainest local search, as a measure for cleverer ones.
//
// Problem: throughput.
//
// Method: from a random assignment, take the best move of one item (a unit; a block of the module order where
// stages must form a chain) to another device, until none gains; ten starts. Only items on a busiest device,
// or tied to one there by a tensor, can lower the largest load: no other moves are tried. Where stages must
// be contiguous the start cuts the module order at random places, and a move keeps every edge of the forward
// graph on devices in that order. Memory limits and permissions hold in every state; samples in flight are
// left to the receiver's check.
//
// Guarantee: heuristic. The same result for any number of threads.
//
// Complexity: a step tries items * devices moves, each as long as the item has tensor ends. The number of
// moves tried has a limit; a work limit replaces it.
//
// When time runs out: the states reached so far are reported.
#pragma once

#include "allot/solve.h"

namespace allot::baseline {

// Above this many ops even a start takes too long to stop in time.
inline constexpr std::size_t kRestartLimit = 200'000;

SolveResult restartSearch(const Problem& problem, const Budget& budget, Progress& progress);

}  // namespace allot::baseline
