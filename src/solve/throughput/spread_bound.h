// A lower bound on loads where tensors are dear and the graph is wide.
//
// Problem: throughput with `sum` overlap and training load, no replicas, for every contiguity. Where the work
// is spread over k devices, each holds a small part of the graph, and a small part of a grid or mesh has a
// long border. Method: refute a value T. A device of load at most T holds a set of limited weight (its items'
// least times); flows that no such set can keep to itself (spread_flow.h) say what it pays for transfers at
// least, as a sum over its items. With that added to the times of the items, the work as a whole, spread over
// all devices in the best way, must fit. What is known of loads limits the weight of sets further, and that
// raises what they pay: both are computed in turn. Guarantee: valid for every plan under the modes above; it
// needs the flow alone, and rounding is taken off. Complexity: see spread_flow.h; each T O(items * log items
// * pools). Reference: the spreading metrics of Even, Naor, Rao and Schieber (1999), from their dual side.
// Out of time: the best bound so far.
#pragma once

#include <cstdint>
#include <functional>

#include "allot/solve.h"
#include "solve/throughput/pipeline_model.h"

namespace allot {

struct SpreadBoundReport {
  double bound = 0;
  int rounds = 0;
  std::uint64_t visited = 0;  // items, by all searches for balls
};

// `lower`, `upper`: a bound and the value of a plan. `on_better` hears of every better bound and says whether
// to go on.
SpreadBoundReport spreadBound(const PipelineModel& model, double lower, double upper, const Budget& budget,
                              const std::function<bool(double)>& on_better);

bool spreadBoundAccepts(const Problem& problem);
SolveResult solveSpreadBound(const Problem& problem, const Budget& budget, Progress& progress);

}  // namespace allot
