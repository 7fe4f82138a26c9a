// Strong plans for throughput without contiguity, by annealing in rounds.
//
// Problem: any assignment of items to devices within memory and permissions; the largest load counts
// (via-host transfers, one load per device).
// Method: rounds of seeded walks (free_search_walk.h) of growing length. Some start afresh and hot, some from
// one of the best assignments so far at a random temperature, some from a mixture of two of them. What a
// round found is gathered by index, so the answer does not depend on the number of threads. Guarantee:
// heuristic; every plan it reports is within memory. Gives up after many moves without a better plan.
// Complexity: a move costs the nets of the items it touches; memory nets * devices per thread. When time runs
// out the best plan so far has been reported.
#pragma once

#include <cstdint>
#include <vector>

#include "allot/solve.h"
#include "solve/throughput/free_search_walk.h"
#include "solve/throughput/pipeline_model.h"

namespace allot {

// A search that can be run in slices, so that a proof can go on between them.
class FreeSearch {
 public:
  FreeSearch(const PipelineModel& model, const Budget& budget, Progress& progress);

  // Runs rounds until the seconds (or, under a work limit, the moves) are used up; true when a better plan
  // was reported.
  bool improve(double seconds, std::uint64_t moves);
  // Many moves have brought nothing: it is not worth calling `improve` again.
  bool stale() const;
  std::uint64_t movesMade() const { return moves_made_; }

 private:
  struct Elite {
    double value;
    std::vector<Place> places;
  };
  const PipelineModel& model_;
  const Budget& budget_;
  Progress& progress_;
  FreeGround ground_;
  std::vector<Elite> elites_;  // best first, of distinct values
  std::vector<Place> fresh_;   // a start without merit
  std::uint32_t round_ = 0;
  std::uint64_t moves_made_ = 0, last_gain_ = 0, walk_moves_;

  void takeBestPlan();
  FreeWalk plan(std::uint32_t index);
  std::vector<Place> mixture(const Elite& a, const Elite& b, Random& random) const;
  bool keep(FreeOutcome&& outcome);
  bool report(const std::vector<Place>& places);
};

// One slice of a new search from the best plan so far: `limit` seconds, or moves under a work limit.
bool improveFree(const PipelineModel& model, const Budget& budget, Progress& progress, double limit);

bool freeSearchAccepts(const Problem& problem);
SolveResult solveFreeSearch(const Problem& problem, const Budget& budget, Progress& progress);

}  // namespace allot
