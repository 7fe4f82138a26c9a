// The cheapest plan of one model alone under prices of device time.
//
// The path of the model: exact, by dynamic programming backwards over its ops. What the rest of a path costs
// is a piecewise linear function of the time at which the op before it ended (and of its class, where
// transfers take time); each is replaced by a slightly smaller one with fewer points, so that the result is a
// bound. Other ops: what they cost is a function of the completion C, by which each takes the cheapest time
// between its head and C less its tail, on its own; it is the last function of the path. It is known on a
// grid, and between two points the later windows count, so that the result is a bound. Complexity: O(ops *
// classes * (slots + points)), chains with transfers times the classes again.
#pragma once

#include <vector>

#include "allot/solve.h"
#include "solve/completion/price_curve.h"
#include "solve/completion/price_model.h"

namespace allot {

class PartPricer {
 public:
  PartPricer(const PricedModel& model, const PricedPart& part);

  // False when stopped.
  bool price(const Prices& prices, double tolerance, const Budget& budget);
  // A bound on weight x completion + price, for chains no more than about `tolerance` below the least.
  double least() const { return least_price_; }
  // Seconds of device time used in each slot by such a plan: [class * slots + slot].
  const std::vector<double>& usage() const { return usage_; }
  // Of that plan.
  double completion() const { return completion_; }
  // What ops of the path from `op` on and all others cost if the op before has ended on `cls` at `time`.
  double restAt(std::size_t op, std::size_t cls, double time) const {
    return rest_[op * classes_ + (part_.has_transfer ? cls : 0)].at(time);
  }

 private:
  const PricedModel& model_;
  const PricedPart& part_;
  std::size_t classes_, n_, others_;
  const Prices* prices_ = nullptr;
  std::vector<double> usage_;
  double completion_ = 0, least_price_ = 0;

  // The path.
  std::vector<Curve> rest_;  // [op * classes + class of the op before]; without transfers class 0 only
  Curve cost_, shifted_, smaller_;
  std::vector<Curve> best_start_;  // by class

  bool pricePath(double tolerance, const Budget& budget);
  void startCost(std::size_t op, std::size_t cls);
  void tracePath(double tolerance);

  // The others.
  std::vector<double> sum_, least_;
  double first_completion_ = 0, step_ = 0;

  bool priceOthers(const Budget& budget);
  void traceOthers();
  void endCurve(double tolerance, Curve& end);
  template <class Visit>
  void visitWindow(std::size_t op, std::size_t cls, double latest, Visit&& visit) const;

  double held(double seconds, std::size_t cls) const {
    return seconds > 0 ? seconds + model_.launch[cls] : 0;
  }
  double costOf(std::size_t cls, double start, double seconds) const {
    return prices_->before(cls, start + seconds) - prices_->before(cls, start);
  }
  void use(std::size_t cls, double start, double seconds);
};

}  // namespace allot
