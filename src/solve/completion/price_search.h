// Good prices of device time, by the volume method.
//
// Prices start from those of one machine of weighted speed (speed_weights.h) and rise where the plans of the
// models together want more time than there is. Steps follow the average of the plans seen; slots are halved
// when progress stalls. Every bound met on the way is reported, rounding taken off.
// Complexity: a round prices every model once (price_parts.h).
// Reference: Barahona and Anbil, The volume algorithm, Mathematical Programming 87, 2000.
#pragma once

#include <vector>

#include "allot/solve.h"
#include "solve/completion/price_curve.h"
#include "solve/completion/price_model.h"
#include "solve/completion/price_parts.h"

namespace allot {

class PriceSearch {
 public:
  // Beyond this a round takes too long.
  static constexpr std::size_t kMostOps = 50'000;

  PriceSearch(const Problem& problem, const Budget& budget, Progress& progress);
  PriceSearch(const PriceSearch&) = delete;

  // At most so many rounds; false when stopped. May be called again to go on.
  bool run(std::uint64_t rounds);
  // Whether there are prices: not where no op takes time.
  bool started() const { return started_; }
  // No progress is left in more rounds.
  bool converged() const { return converged_; }

  const PricedModel& model() const { return model_; }
  const Prices& prices() const { return best_; }
  double bound() const { return value_; }
  // Prices every model at the best prices, after which `pricers` hold the rests of chains there.
  // False when stopped.
  bool priceAtBest();
  const std::vector<PartPricer>& pricers() const { return pricers_; }

 private:
  const Budget& budget_;
  Progress& progress_;
  PricedModel model_;
  std::vector<PartPricer> pricers_;
  double horizon_ = 0;
  Prices best_;
  double value_ = 0, last_ = 0;
  std::vector<double> usage_, average_;  // [class * slots + slot], of the last plans and on average
  bool started_ = false, converged_ = false;
  double theta_ = 0.2, smoothing_ = 0.2, at_refine_ = 0;
  std::size_t stale_ = 0, since_gain_ = 0;

  double capacity(std::size_t k) const { return model_.count[k / best_.slots()] * best_.width; }
  double tolerance() const;
  void report();
  void startPrices();
  bool evaluate(Prices& prices);
  bool step(Prices& prices) const;
  void afterRound(Prices& next, double along);
  void refine();
};

}  // namespace allot
