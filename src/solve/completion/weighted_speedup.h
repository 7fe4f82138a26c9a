// Weighted speed-up on the flow engine: at every instant a min-cost flow says which device each ready op is
// to wait for.
//
// Problem: completion, any graphs, links and memory. Network: source, models, ready ops, devices, sink. An op
// costs on a device what it adds to its model's completion there: waiting (for what runs there and for the
// rest of models with less work left, which go first) + transfer + execution - what the model's own parallel
// ops hide of it, and what the rest of its path takes more behind this device than behind the best one. What
// is hidden wholly costs 0. The n-th op that waits for a device pays n - 1 times the mean op there: a device
// has room for any number of ops at rising cost, and an op may wait for a busy one. Only ops whose device is
// idle start, one by device, that of the shortest model; all others are decided anew at the next end. The
// network is kept between instants: ops come and go, arcs are priced anew. Memory: an arc exists only where
// the op's unit has room. Placing one op by device and instant keeps flows whole (each op is one unit of
// flow), so nothing needs to be rounded. Identity: without waiting for others' rests, the costs at which ops
// start sum to the models' completions less releases (each adds what it moves its model's end). Guarantee:
// heuristic. Complexity: O(ops * window * devices) and a warm flow by instant. Reference: Talos, ASAP 2021,
// Eq. 4 and Fig. 6, with waiting, look-ahead and priority added. When time runs out: nothing is reported.
#pragma once

#include "allot/solve.h"

namespace allot {

struct WeightedSpeedup {
  Plan plan;            // empty assignment: an op found no room, or time ran out
  double arc_cost = 0;  // sum over ops of what each added to its model's end, in seconds
  bool stopped = false;
};

// `share`: of the work of models that go first, how much counts as waiting; 0 = only what runs.
WeightedSpeedup scheduleByWeightedSpeedup(const Problem& problem, double share, const Budget& budget);

// Tries several shares.
bool weightedSpeedupAccepts(const Problem& problem);
SolveResult solveWeightedSpeedup(const Problem& problem, const Budget& budget, Progress& progress);

}  // namespace allot
