// Seeded local search for every goal and mode.
//
// Simulated annealing from the best plan so far, in several independent chains; the best of them is reported.
// Each chain makes a fixed number of moves (or as many as the work limit allows), so that the result depends
// on the seed alone, not on threads or clock. Heuristic: no bound.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "allot/solve.h"
#include "base/random.h"

namespace allot {

SolveResult solveLocalSearch(const Problem& problem, const Budget& budget, Progress& progress);

// What the searches of each goal share: moves to make, temperature, the clock.
class Annealing {
 public:
  Annealing(const Budget& budget, std::uint64_t chain, std::uint64_t moves, double scale,
            double ops_per_move);

  // False when the moves are used up or the budget is.
  bool next();
  // Whether a candidate that is worse by `delta` is taken.
  bool accept(double delta);
  Random& random() { return random_; }

 private:
  const Budget& budget_;
  Random random_;
  std::uint64_t moves_, done_ = 0, poll_;
  double scale_, temperature_;
};

inline constexpr std::size_t kChains = 4;

// Best decisions of one chain; value = infinity when it found nothing better.
struct ChainResult {
  double value = std::numeric_limits<double>::infinity();
  Plan decisions;
};

ChainResult annealPipeline(const Problem& problem, const Budget& budget, const Plan& start,
                           std::uint64_t chain);
ChainResult annealSchedule(const Problem& problem, const Budget& budget, const Plan& start,
                           std::uint64_t chain);
ChainResult annealCalls(const Problem& problem, const Budget& budget, const Plan& start, std::uint64_t chain);

// Gives unused devices to the stages with the largest load, one by one, as long as the value falls.
Plan addReplicas(const Problem& problem, Plan plan);

}  // namespace allot
