#include "solve/collector.h"

#include <fmt/format.h>

#include <algorithm>

#include "allot/check.h"
#include "allot/evaluate.h"
#include "evaluate/noise.h"
#include "problem/idle.h"

namespace allot {

Collector::Collector(const Problem& problem, const Budget& budget,
                     std::function<void(const ProgressLine&)> on_progress, bool robust)
    : problem_(problem), budget_(budget), robust_(robust), on_progress_(std::move(on_progress)) {}

bool Collector::plan(Plan decisions, std::string_view solver) {
  const double begin = budget_.elapsedSeconds();
  Evaluation evaluated = evaluate(problem_, std::move(decisions));
  const double valued = budget_.elapsedSeconds();
  evaluate_seconds_ = std::max(evaluate_seconds_, valued - begin);
  Plan& candidate = evaluated.plan;
  if (!evaluated.valid() || !isBetter(candidate)) return false;
  candidate.solver = solver;
  candidate.status = Status::kFeasible;
  candidate.bound = std::min(bound_, candidate.value);
  const CheckReport report = check(problem_, candidate);
  check_seconds_ = std::max(check_seconds_, budget_.elapsedSeconds() - valued);
  if (!report.ok()) {
    if (internal_error_.empty())
      internal_error_ = fmt::format("a plan of {} failed the checker: {}", solver, report.violations.front());
    return false;
  }
  if (bound_ > candidate.value * (1 + 1e-9) && internal_error_.empty()) {
    internal_error_ = fmt::format("a plan of {} is worth {}, below the bound {} of {}", solver,
                                  candidate.value, bound_, bound_by_);
  }
  if (robust_) choice_.offer(candidate);
  best_ = std::move(candidate);
  note(solver);
  return true;
}

// Between completions of equal value the one with less idle time.
bool Collector::isBetter(const Plan& candidate) const {
  if (problem_.goal() != Goal::kCompletion || candidate.value != best_.value)
    return candidate.value < best_.value;
  return idleSeconds(problem_, candidate) < idleSeconds(problem_, best_) * (1 - 1e-9);
}

void Collector::bound(double bound, std::string_view solver) {
  if (!(bound > bound_)) return;
  bound_ = bound;
  bound_by_ = solver;
  note(solver);
}

bool Collector::done() const {
  return bestPlan() != nullptr && best_.value - bound_ <= std::max(budget_.gap, kOptimalGap) * best_.value;
}

double Collector::secondsToFinish() const {
  const double samples = hasNoise() ? usualSamples(problem_) : 0;
  return (1 + samples) * evaluate_seconds_ + 2 * check_seconds_;
}

void Collector::note(std::string_view solver) {
  curve_.push_back({budget_.elapsedSeconds(), best_.value, bound_});
  if (on_progress_) on_progress_({budget_.elapsedSeconds(), best_.value, bound_, solver});
}

Plan Collector::take(bool proven, std::string proof) {
  if (bestPlan() == nullptr) {
    Plan none;
    none.modes = problem_.modes;
    none.curve = std::move(curve_);
    none.costs = problem_.costs;
    none.status = proven ? Status::kInfeasible : Status::kNoPlan;
    if (proven) none.proof = std::move(proof);
    return none;
  }
  if (proven) {
    bound_ = best_.value;
    note(best_.solver);
  }
  const auto stopped = [this] { return budget_.stopped(); };
  Plan plan = robust_ ? choice_.take(problem_, budget_.seed, stopped) : std::move(best_);
  if (!plan.noise && hasNoise())
    plan.noise = valueUnderNoise(problem_, plan, kUsualNoise, budget_.seed, usualSamples(problem_), stopped);
  plan.bound = std::min(bound_, plan.value);
  plan.status = plan.gap() <= kOptimalGap ? Status::kOptimal : Status::kFeasible;
  plan.curve = std::move(curve_);
  if (proven)
    plan.proof = std::move(proof);
  else if (plan.status == Status::kOptimal)
    plan.proof = fmt::format("{}: lower bound met{}", bound_by_, proof.empty() ? "" : ", " + proof);
  return plan;
}

}  // namespace allot
