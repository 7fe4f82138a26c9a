// What is wrong with plans: those of the library, and what evaluator and checker say of any.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "random/own_value.h"
#include "random/verdict.h"

namespace allot::tiny {

inline constexpr double kJudgeTolerance = 1e-9;

// Of the enumeration.
struct Best {
  std::optional<double> value;
  bool whole = true;
  std::vector<Plan> decisions;  // of the best plan, and of some that may be bad
};

// A message without what differs from case to case: names and figures.
std::string withoutFigures(const std::string& message);

// Each of the functions sets the verdict where something is wrong.
class Judge {
 public:
  Judge(const Problem& problem, const Rules& rules, const Best& best, Verdict& verdict)
      : problem_(problem), rules_(rules), best_(best), verdict_(verdict) {}

  // Evaluator and checker on decisions of the enumeration.
  void decisions(const Plan& decisions);
  // The schedule that the evaluator makes of an assignment.
  void simulated(std::vector<DeviceId> assignment);
  // The library's answer; the verdict says what it is where it is right.
  void plan(const Plan& plan);
  // A second proof of the library's plan.
  void proof(const Plan& plan, const RunOptions& run);

  void wrong(std::string kind, std::string text);

 private:
  const Problem& problem_;
  const Rules& rules_;
  const Best& best_;
  Verdict& verdict_;

  void evaluator(const Plan& plan, const Own& own);
  bool sameMemory(const Plan& plan, const Own& own, std::string_view kind);
};

}  // namespace allot::tiny
