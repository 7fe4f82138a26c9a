#include "solve/throughput/throughput_solvers.h"

#include <array>

#include "solve/throughput/beam.h"
#include "solve/throughput/boundary_bound.h"
#include "solve/throughput/chain_engine.h"
#include "solve/throughput/convex_search.h"
#include "solve/throughput/free_search.h"
#include "solve/throughput/linear_dp.h"
#include "solve/throughput/multilevel.h"
#include "solve/throughput/packing_bound.h"
#include "solve/throughput/spread_bound.h"

namespace allot {
namespace {

bool isThroughput(const Problem& problem) {
  return problem.goal() == Goal::kThroughput;
}

}  // namespace

std::span<const Solver> exactThroughputSolvers() {
  static const std::array<Solver, 5> kList{{
      {"linear-dp", "best splits of many topological orders into pipeline stages, by dynamic programming",
       "optimal for its orders under via-host transfers; heuristic otherwise", isThroughput, solveLinearDp},
      {"item-bound", "what the device of each unit is loaded with at least",
       "a valid bound for every contiguity; finds no plans", packingBoundAccepts, solveItemBound},
      {"boundary-bound", "what must cross between the stages of like devices, by minimum cuts",
       "a valid bound for contiguous stages; finds no plans", boundaryBoundAccepts, solveBoundaryBound},
      {"chain", "best chain of stages, by dynamic programming over ideals below a cut-off",
       "optimal under via-host transfers; a bound under by-link", chainAccepts, solveChain},
      {"convex", "stages that are convex sets, by branch and bound",
       "optimal under via-host transfers; a bound under by-link", convexSearchAccepts, solveConvex},
  }};
  return kList;
}

std::span<const Solver> throughputSolvers() {
  static const std::array<Solver, 5> kList{{
      {"beam", "chains of stages grown from the sources, the best partial chains kept", "heuristic",
       isThroughput, solveBeam},
      {"multilevel", "chains of stages by annealing and splits, on coarser graphs too",
       "heuristic; near-linear time on graphs of any size", isThroughput, solveMultilevel},
      {"free-search", "annealing of whole clusters in rounds, for pipelines without contiguity", "heuristic",
       freeSearchAccepts, solveFreeSearch},
      {"spread-bound", "what small parts of a graph pay for their borders, by flows between units",
       "a valid bound for every contiguity; finds no plans", spreadBoundAccepts, solveSpreadBound},
      {"packing-bound", "lower bound from prices of items and what a device of limited load can hold",
       "a valid bound for every contiguity; finds no plans", packingBoundAccepts, solvePackingBound},
  }};
  return kList;
}

}  // namespace allot
