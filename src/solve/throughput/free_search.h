// Strong plans for throughput without contiguity, by annealing.
//
// Problem: any assignment of items to devices within memory and permissions; the largest load counts
// (via-host transfers, one load per device).
// Method: seeded walks (free_search_walk.h) of growing length. Some start afresh and hot, some from one of
// the best assignments so far at a random temperature, some from a mixture of two of them. Walks are
// numbered; each knows what those that came kUnderWay or more before it have found and nothing of the others,
// so that threads never wait for each other at the end of a round and the answer does not depend on their
// number. Guarantee: heuristic; every plan it reports is within memory. Gives up after many moves without a
// better plan. Complexity: a move costs the nets of the items it touches; memory nets * devices per thread.
// When time runs out the best plan so far has been reported.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "allot/solve.h"
#include "solve/throughput/free_search_walk.h"
#include "solve/throughput/pipeline_model.h"

namespace allot {

// A search that can be run in slices, so that a proof can go on between them.
class FreeSearch {
 public:
  FreeSearch(const PipelineModel& model, const Budget& budget, Progress& progress);

  // Walks until the seconds (or, under a work limit, the moves) are used up; true when a better plan
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
  // A walk that is under way, or done and not yet gathered.
  struct Journey {
    FreeWalk walk;
    double near = 0;  // outcomes below this are worth polishing
    FreeOutcome outcome;
    std::uint64_t probes = 0;
    enum : std::uint8_t { kIdle, kWalking, kDone } state = kIdle;
  };
  static constexpr std::size_t kUnderWay = 8;  // walks at a time, at most
  const PipelineModel& model_;
  const Budget& budget_;
  Progress& progress_;
  FreeGround ground_;
  std::vector<Elite> elites_;                // best first, of distinct values
  std::vector<Place> fresh_;                 // a start without merit
  std::array<Journey, kUnderWay> journeys_;  // by number, modulo kUnderWay
  std::uint64_t next_ = 0;                   // number of the next walk
  std::uint64_t moves_made_ = 0, last_gain_ = 0, walk_moves_;

  void takeBestPlan();
  FreeWalk plan(std::uint64_t number);
  void depart(Journey& journey, double deadline);
  bool gather(Journey& journey);
  std::vector<Place> mixture(const Elite& a, const Elite& b, Random& random) const;
  bool keep(FreeOutcome&& outcome);
};

// One slice of a new search from the best plan so far: `limit` seconds, or moves under a work limit.
bool improveFree(const PipelineModel& model, const Budget& budget, Progress& progress, double limit);

// Reports the plan with each item at its place; true when it is better than all before.
bool reportPlaces(const PipelineModel& model, std::span<const Place> places, std::string_view solver,
                  Progress& progress);

bool freeSearchAccepts(const Problem& problem);
SolveResult solveFreeSearch(const Problem& problem, const Budget& budget, Progress& progress);

}  // namespace allot
