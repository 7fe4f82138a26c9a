#include "solve/course.h"

#include <fmt/format.h>

#include <array>

#include "solve/throughput/chain_engine.h"
#include "solve/throughput/convex_search.h"
#include "solve/throughput/free_search.h"
#include "solve/throughput/packing_bound.h"

namespace allot {
namespace {

struct Share {
  std::string_view solver;
  double chain;  // contiguous stages, small enough for the exact engine
  double large;  // contiguous stages, too large for it
  double convex;
  double free;  // no contiguity
};

constexpr std::array<Share, 7> kShares{{
    {"linear-dp", 0.1, 0.4, 0.05, 0.05},
    {"chain", 0.5, 0, 0.4, 0.05},
    {"beam", 0.05, 0.1, 0, 0},
    {"multilevel", 1, 1, 0, 0},
    {"free-search", 0, 0, 0, 0.25},
    {"packing-bound", 0, 0, 0.3, 0.4},
    {"local-search-restarts", 0.1, 0, 0.1, 0.1},
}};

}  // namespace

double timeShare(const Problem& problem, std::string_view solver) {
  if (problem.goal() != Goal::kThroughput) return 1;
  const bool chain = problem.modes.contiguity == Contiguity::kChain;
  for (const Share& share : kShares) {
    if (share.solver != solver) continue;
    if (chain) return chainAccepts(problem) ? share.chain : share.large;
    return problem.modes.contiguity == Contiguity::kConvex ? share.convex : share.free;
  }
  return 1;
}

std::string chosenMethod(const Problem& problem) {
  if (problem.goal() != Goal::kThroughput) return "baselines, then local search";
  const std::size_t units = problem.unitCount();
  if (problem.modes.contiguity == Contiguity::kChain) {
    if (!chainAccepts(problem)) {
      return fmt::format(
          "orders and multilevel moves: stages are contiguous, but {} units are too many to search all "
          "ideals",
          units);
    }
    return problem.transfers() == Transfers::kViaHost
               ? fmt::format("exact search over ideals: stages are contiguous and there are {} units", units)
               : "search over ideals for a bound, then moves: by-link loads depend on where tensors go";
  }
  if (convexSearchAccepts(problem))
    return "local search, with bounds by branch and bound over convex sets and by prices";
  if (freeSearchAccepts(problem))
    return "moves of whole clusters, then proof by prices: devices may hold any units";
  return packingBoundAccepts(problem) ? "local search, with a bound by prices" : "local search";
}

}  // namespace allot
