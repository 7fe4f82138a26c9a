// Receives what solvers find: evaluates, checks, keeps the best.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "allot/solve.h"
#include "solve/robust_choice.h"

namespace allot {

class Collector : public Progress {
 public:
  // `robust`: the plan taken is the one that noise harms least, not the one of least value.
  Collector(const Problem& problem, const Budget& budget,
            std::function<void(const ProgressLine&)> on_progress, bool robust = false);

  bool plan(Plan decisions, std::string_view solver) override;
  void bound(double bound, std::string_view solver) override;
  double bestValue() const override { return best_.value; }
  double bestBound() const override { return bound_; }
  const Plan* bestPlan() const override { return best_.assignment.empty() ? nullptr : &best_; }
  bool done() const override;

  // Set when a plan that the evaluator calls valid failed the checker.
  const std::string& internalError() const { return internal_error_; }
  // Of a search on its behalf.
  void reportError(const std::string& error) {
    if (internal_error_.empty()) internal_error_ = error;
  }
  // The best plan with bound, status, curve; `proven` = every plan was looked at. Its value under noise is
  // left out where the time is up.
  Plan take(bool proven, std::string proof);
  // What one more plan, `take` and a last check will need, by what plans needed so far.
  double secondsToFinish() const;

 private:
  const Problem& problem_;
  const Budget& budget_;
  bool robust_;
  std::function<void(const ProgressLine&)> on_progress_;
  Plan best_;
  RobustChoice choice_;
  double bound_ = 0;
  std::string bound_by_ = "bounds";
  std::vector<CurvePoint> curve_;
  std::string internal_error_;
  double evaluate_seconds_ = 0, check_seconds_ = 0;  // the longest so far

  bool hasNoise() const { return problem_.goal() != Goal::kThroughput; }
  bool isBetter(const Plan& candidate) const;
  void note(std::string_view solver);
};

}  // namespace allot
