// Better schedules of chains, two chains at a time.
//
// While all others keep their times, the two are planned anew around them by the programme of two_chains.h
// with few pairs by state. Pairs are taken in turn until none gains. Only for link mode free without launch
// times.
// Complexity: O(models^2) programmes for each round.
// When time runs out: what was found so far was reported.
#pragma once

#include "allot/solve.h"
#include "solve/completion/chain_model.h"

namespace allot {

// Starts from the best plan and reports what is better; false when stopped.
bool improvePairs(const Problem& problem, const ChainModel& model, std::size_t cap, const Budget& budget,
                  Progress& progress);

}  // namespace allot
