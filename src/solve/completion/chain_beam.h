// Schedules of several chains, grown op by op with the most promising partial schedules kept.
//
// Ops are taken in the order of their starts, each as early as its chain and its device allow, so a partial
// schedule is known by the last op of each chain and the times at which devices become free. What it may
// still cost is the price of the rest of each chain less that of all device time left, at given prices
// (price_search.h): close to the truth where the prices are good.
// Ports and memory are not looked at: the receiver of the plan times transfers and checks memory.
// Complexity: O(ops * width * chains^2 * devices * log points).
// When time runs out: no schedule.
#pragma once

#include <cstdint>
#include <vector>

#include "allot/solve.h"
#include "solve/completion/chain_model.h"
#include "solve/completion/price_search.h"

namespace allot {

class ChainBeam {
 public:
  // `prices` holds the rests of all chains (`priceAtBest`) and must outlive this.
  ChainBeam(const ChainModel& model, const PriceSearch& prices);

  // False when stopped, or when no schedule below `cutoff` was met.
  bool run(std::size_t width, double cutoff, const Budget& budget);
  double value() const { return value_; }
  // By chain.
  const std::vector<std::vector<ChainActivity>>& activities() const { return activities_; }

 private:
  struct Step {
    std::uint32_t parent;
    std::uint16_t chain, device;
  };
  struct Candidate {
    double cost;
    std::uint32_t parent;
    std::uint16_t chain, device;
    double start;
  };

  const ChainModel& model_;
  const PriceSearch& prices_;
  std::size_t chains_, devices_;
  double all_time_ = 0;  // price of all device time
  // States of a layer, each `chains_ + devices_ + 1` times (ends, free times, last start) and `chains_` x 2
  // places (ops done, device of the last).
  std::vector<double> times_, next_times_;
  std::vector<std::uint32_t> places_, next_places_;
  std::vector<Candidate> candidates_;
  std::vector<std::vector<Step>> steps_;  // by layer
  double value_ = 0;
  std::vector<std::vector<ChainActivity>> activities_;

  std::size_t timeCount() const { return chains_ + devices_ + 1; }
  void expand(std::uint32_t state, double cutoff);
  void keep(std::size_t width);
  void apply(const double* times, const std::uint32_t* places, const Candidate& step);
  bool dominated(const double* times, const std::vector<std::uint32_t>& group) const;
  void rebuild(std::uint32_t last);
};

}  // namespace allot
