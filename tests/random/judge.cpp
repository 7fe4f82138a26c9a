#include "random/judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <regex>

#include "allot/check.h"
#include "allot/evaluate.h"
#include "allot/prove.h"

namespace allot::tiny {
namespace {

constexpr double kNotSaid = std::numeric_limits<double>::quiet_NaN();

std::size_t at(int index) {
  return static_cast<std::size_t>(index);
}

bool near(double a, double b) {
  return std::abs(a - b) <= kJudgeTolerance * std::max(std::abs(a), std::abs(b));
}

bool above(double a, double b) {
  return a > b * (1 + kJudgeTolerance);
}

std::string firstOf(const std::vector<std::string>& list) {
  return list.empty() ? "" : list.front();
}

}  // namespace

std::string withoutFigures(const std::string& message) {
  const std::string text = std::regex_replace(message, std::regex("\\ba plan of [a-z-]+"), "a plan");
  return std::regex_replace(text, std::regex("\"[^\"]*\"|[0-9][0-9.e+-]*|, inf|of [a-z-]+$"), "#");
}

void Judge::wrong(std::string kind, std::string text) {
  verdict_.outcome = Outcome::kWrong;
  verdict_.kind = std::move(kind);
  verdict_.text = std::move(text);
}

bool Judge::sameMemory(const Plan& plan, const Own& own, std::string_view kind) {
  for (int d = 0; d < rules_.devices; ++d) {
    const double said = plan.devices[at(d)].memory_bytes;
    if (said == own.memory[at(d)]) continue;
    wrong(std::string(kind),
          fmt::format("device {} holds {} by the rules, said are {}", d, own.memory[at(d)], said));
    return false;
  }
  return true;
}

void Judge::decisions(const Plan& decisions) {
  Plan plan = decisions;
  plan.modes = problem_.modes;
  const Own own = ownValue(rules_, plan);
  if (!std::isfinite(own.value)) return;
  const bool pipeline = *rules_.modes().goal == Goal::kThroughput;
  if (pipeline) evaluator(plan, own);
  if (verdict_.outcome == Outcome::kWrong) return;
  plan.status = Status::kFeasible;
  plan.value = own.value;
  plan.devices.resize(at(rules_.devices));
  for (int d = 0; d < rules_.devices; ++d)
    plan.devices[at(d)] = {kNotSaid, kNotSaid, pipeline ? own.load[at(d)] : kNotSaid, own.memory[at(d)]};
  const CheckReport report = check(problem_, plan);
  if (report.ok() == own.wrong.empty()) return;
  const std::string said = firstOf(report.violations);
  wrong("checker-validity, " + withoutFigures(said),
        fmt::format("a plan is \"{}\" by the rules, \"{}\" by the checker", own.wrong, said));
}

void Judge::evaluator(const Plan& plan, const Own& own) {
  const Evaluation evaluated = evaluate(problem_, plan);
  if (evaluated.valid() != own.wrong.empty())
    return wrong("evaluator-validity", fmt::format("a plan is \"{}\" by the rules, \"{}\" by the evaluator",
                                                   own.wrong, firstOf(evaluated.violations)));
  if (!own.wrong.empty()) return;
  if (!near(evaluated.plan.value, own.value))
    return wrong("evaluator-value", fmt::format("a plan is worth {} by the rules, {} by the evaluator",
                                                own.value, evaluated.plan.value));
  sameMemory(evaluated.plan, own, "evaluator-memory");
}

void Judge::simulated(std::vector<DeviceId> assignment) {
  for (int i = 0; i < rules_.ops; ++i) {
    if (rules_.seconds(i, static_cast<int>(assignment[at(i)].value)) == kNone) return;
  }
  Plan plan;
  plan.modes = problem_.modes;
  plan.assignment = std::move(assignment);
  const Evaluation evaluated = evaluate(problem_, std::move(plan));
  if (!std::isfinite(evaluated.plan.value)) return;
  const Own own = ownValue(rules_, evaluated.plan);
  if (evaluated.valid() != own.wrong.empty())
    return wrong("simulated-validity",
                 fmt::format("a schedule is \"{}\" by the rules, \"{}\" by the evaluator", own.wrong,
                             firstOf(evaluated.violations)));
  if (!near(own.value, evaluated.plan.value))
    return wrong("simulated-value", fmt::format("a schedule is worth {} by the rules, {} by the evaluator",
                                                own.value, evaluated.plan.value));
  if (!own.wrong.empty() || !sameMemory(evaluated.plan, own, "simulated-memory")) return;
  // A limit on moves binds the enumeration alone.
  if (verdict_.limited || (best_.value && !above(*best_.value, own.value))) return;
  wrong("simulated-better",
        fmt::format("a schedule of {}, optimum {}", own.value, best_.value.value_or(kNone)));
}

void Judge::plan(const Plan& plan) {
  if (!best_.value) return wrong("plan-where-none-exists", fmt::format("value {}", plan.value));
  const Own own = ownValue(rules_, plan);
  if (!own.wrong.empty()) return wrong("invalid-plan", own.wrong);
  if (!near(own.value, plan.value))
    return wrong("wrong-value",
                 fmt::format("{} says {}, by the rules it is {}", plan.solver, plan.value, own.value));
  const std::string said = fmt::format("value {} by {}, bound {}, optimum {}, proof \"{}\"", plan.value,
                                       plan.solver, plan.bound, *best_.value, plan.proof);
  if (above(*best_.value, plan.value)) return wrong("better-than-optimal", said);
  const bool optimal = plan.status == Status::kOptimal;
  if (optimal && plan.value > *best_.value * (1 + 2 * kJudgeTolerance)) return wrong("false-proof", said);
  if (above(plan.bound, *best_.value)) return wrong("false-bound", said);
  if (!sameMemory(plan, own, "wrong-memory")) return;
  const CheckReport report = check(problem_, plan);
  if (!report.ok())
    return wrong("checker-rejects, " + withoutFigures(report.violations.front()), report.violations.front());
  verdict_.outcome = optimal ? Outcome::kOptimal : Outcome::kOpen;
  verdict_.text = said;
}

void Judge::proof(const Plan& plan, const RunOptions& run) {
  if (!best_.value || verdict_.outcome == Outcome::kWrong) return;
  const ProofAgain again = proveAgain(problem_, plan, run);
  const std::string said =
      fmt::format("value {}, proved again: {} by \"{}\", bound {}, better {}, optimum {}", plan.value,
                  again.proved, again.by, again.bound, again.better, *best_.value);
  if (again.proved && plan.value > *best_.value * (1 + 2 * kJudgeTolerance))
    return wrong("second-proof-false", said);
  if (above(again.bound, *best_.value)) return wrong("second-bound-false", said);
  if (above(*best_.value, again.better)) wrong("second-plan-too-good", said);
}

}  // namespace allot::tiny
