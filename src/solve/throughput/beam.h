// Beam search over chains of ideals.
//
// Problem: minimise the largest load over chains of ideals that are too many to list.
// Method: for a target load, chains grow from the sources stage by stage. A stage takes ready items one by
//   one, by how much cost they add to the stage and leave open behind it, with noise from a seed; it ends
//   where the work placed, less what the tensors open there cost the next stage, is most within the target.
//   The best partial chains are kept, each set of items once. The target starts just below the best value; if
//   chains reach the sinks within it, it is searched by halving between the bound and the best value.
// Guarantee: heuristic, without replicas and in-flight memory. Complexity: O(beam * variants * (items + ends)
//   log items) for each target, and as much space. Time out: the plans reported so far stand.
#pragma once

#include "allot/solve.h"

namespace allot {

SolveResult solveBeam(const Problem& problem, const Budget& budget, Progress& progress);

}  // namespace allot
