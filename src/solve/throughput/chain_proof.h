// The best chain for given devices, by passes of ChainSearch.
//
// Method: `below` looks for the best chain under one cut-off: for some chain, then for one below that, until
// there is none. `close` starts from a bound and raises the
// cut-off until a chain is found or the upper limit is reached: each pass either finds the optimum or proves
// that its cut-off is a bound, and a low cut-off costs little. max-parts (largest forward load + largest
// rest): the rest is minimised under a limit on the forward load, and the limit falls below the forward load
// of each answer until the sum cannot improve any more; answers in between cannot be better, because their
// rest is no smaller and their forward load no less. Sums of loads go up and down along a walk, so times far
// above a cut-off would drown those that matter: under each cut-off they count as just too long
// (PipelineModel::limitTimes). Guarantee: as ChainSearch. Values are those of the
// model: under by-link transfers lower bounds.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "allot/plan.h"
#include "solve/throughput/chain_search.h"

namespace allot {

// A chain better by less than this share counts as equal: "optimal" allows a gap of 1e-9.
inline constexpr double kChainEqual = 1e-10;

class ChainProof {
 public:
  enum class Pass : std::uint8_t { kCut, kNone, kFound };

  ChainProof(const PipelineModel& model, std::vector<std::uint32_t> counts, const Budget& budget);

  bool suitable() const { return search_->suitable(budget_.memory_bytes); }
  // More than any load of the model can be.
  double worstLoad() const { return worst_load_; }
  // A simple lower bound for these devices.
  double workBound() const { return work_bound_; }

  Pass below(double cutoff, std::uint64_t max_pairs);
  // Between a bound and a limit that need not be reached; `on_bound` hears of every better bound.
  Pass close(double lower, double upper, std::uint64_t max_pairs,
             const std::function<void(double)>& on_bound);

  // Whether some chain was found, by a pass that was cut short behind it too.
  bool hasChain() const { return !stages_.empty(); }
  // Of the last chain found.
  double value() const { return value_; }
  Plan plan() const;
  std::uint64_t pairs() const { return pairs_; }
  std::uint64_t ideals() const { return ideals_; }

 private:
  const PipelineModel& model_;
  const Budget& budget_;
  std::vector<std::uint32_t> counts_;
  PipelineModel limited_;  // what `search_` knows: times of at most `limit_`
  double limit_;
  std::unique_ptr<ChainSearch> search_;
  WalkCrew crew_;  // of all passes, which are many and short
  double worst_load_ = 0, work_bound_ = 0;
  double longest_ = 0;        // of all times and costs
  double most_replicas_ = 1;  // of a stage
  double value_ = 0;
  std::vector<ChainStage> stages_;
  std::uint64_t pairs_ = 0, ideals_ = 0;

  ChainOutcome pass(const ChainLimits& limits);
  void limitFor(double cutoff);
  // Whether times that were told apart may have left too much in sums of so little.
  bool isFarBelow(double value) const;
  void keep(ChainOutcome&& outcome, double value);
};

}  // namespace allot
