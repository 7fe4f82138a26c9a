// One annealing walk over assignments without contiguity.
//
// Problem: lower the largest load; memory above the limits is let in at a price, never kept.
// Method: the walk goes down a p-norm of the loads (p grows while it cools, so that at first it may trade
// balance for fewer cut nets and at last only the fullest device counts); a slow device weighs as little as
// the work it saves. Moves: one item; two items in exchange; a cluster, the items of one device tied to an
// item by nets at least as heavy as a random one; such a cluster gathered from all devices; a run of
// neighbours in the topological order; the border between two runs; an item that drives others out of the
// device it goes to; two whole devices in exchange.
// Guarantee: none on the value; the best assignment met is returned, its value taken afresh.
// Complexity: a move costs the nets of the items it touches. When time runs out the walk ends with what it
// has.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "allot/solve.h"
#include "base/random.h"
#include "solve/throughput/free_ground.h"
#include "solve/throughput/net_state.h"

namespace allot {

struct FreeWalk {
  std::vector<Place> start;
  std::uint64_t moves = 0;
  double hot = 0.02, cold = 1e-5;                             // temperatures, as parts of the value
  std::uint32_t first_power = 3, last_power = 6;              // of 2: the norm's p
  std::uint64_t stream = 0;                                   // of random numbers
  double deadline = std::numeric_limits<double>::infinity();  // seconds of the budget's clock
};

struct FreeOutcome {
  double value = 0;  // infinite: nothing within memory was met
  std::vector<Place> places;
};

FreeOutcome walkFree(const FreeGround& ground, const FreeWalk& walk, const Budget& budget);

}  // namespace allot
