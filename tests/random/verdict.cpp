#include "random/verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <regex>

#include "allot/check.h"
#include "allot/evaluate.h"
#include "allot/solve.h"
#include "base/random.h"
#include "random/calls.h"
#include "random/own_value.h"
#include "random/pipelines.h"
#include "random/schedules.h"

namespace allot::tiny {
namespace {

constexpr double kTolerance = 1e-9;

std::size_t at(int index) {
  return static_cast<std::size_t>(index);
}

bool near(double a, double b) {
  return std::abs(a - b) <= kTolerance * std::max(std::abs(a), std::abs(b));
}

// A message without what differs from case to case: names and figures.
std::string withoutFigures(const std::string& message) {
  std::string text = std::regex_replace(message, std::regex("\\ba plan of [a-z-]+"), "a plan");
  return std::regex_replace(text, std::regex("\"[^\"]*\"|[0-9][0-9.e+-]*|, inf|of [a-z-]+$"), "#");
}

struct Best {
  std::optional<double> value;
  bool whole = true;
  std::vector<Plan> decisions;  // of the best plan, and of some that may be bad
};

Best enumerate(const Rules& rules, const Question& question) {
  Best found;
  const Modes& modes = rules.modes();
  if (*modes.goal == Goal::kThroughput) {
    const BestPipeline best = bestPipeline(rules, question.seed);
    found.value = best.value;
    if (best.value) found.decisions.push_back(planOf(rules, best.stages));
    if (!best.some.empty()) found.decisions.push_back(planOf(rules, best.some));
  } else if (*modes.goal == Goal::kLatency && modes.model == LatencyModel::kSubgraphCalls) {
    const BestCalls best = bestCalls(rules);
    found.value = best.value;
    if (best.value) found.decisions.push_back(planOf(rules, best.calls, best.device));
  } else {
    const bool limited = question.most_moves >= 0;
    const BestSchedule best =
        bestSchedule(rules, limited ? question.start : std::vector<int>{}, question.most_moves);
    found.value = best.value;
    found.whole = best.whole;
    if (best.value) found.decisions.push_back(planOf(best.schedule));
  }
  if (!found.decisions.empty()) {
    Random random(question.seed, 12);
    if (auto other = changed(rules, found.decisions.front(), random)) found.decisions.push_back(*other);
  }
  return found;
}

class Judge {
 public:
  Judge(const Problem& problem, const Rules& rules, const Best& best, Verdict& verdict)
      : problem_(problem), rules_(rules), best_(best), verdict_(verdict) {}

  // Checker and evaluator on decisions of the enumeration.
  void decisions(const Plan& decisions) {
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
    if (report.ok() != own.wrong.empty())
      wrong("checker-validity" + (report.ok() ? "" : ", " + withoutFigures(report.violations.front())),
            fmt::format("a plan is \"{}\" by the rules, \"{}\" by the checker", own.wrong,
                        report.ok() ? "" : report.violations.front()));
  }

  void plan(const Plan& plan) {
    if (!best_.value) return wrong("plan-where-none-exists", fmt::format("value {}", plan.value));
    const Own own = ownValue(rules_, plan);
    if (!own.wrong.empty()) return wrong("invalid-plan", own.wrong);
    if (!near(own.value, plan.value))
      return wrong("wrong-value",
                   fmt::format("{} says {}, by the rules it is {}", plan.solver, plan.value, own.value));
    if (plan.value < *best_.value * (1 - kTolerance))
      return wrong("better-than-optimal",
                   fmt::format("{} finds {}, the enumeration {}", plan.solver, plan.value, *best_.value));
    const std::string said = fmt::format("value {} by {}, bound {}, optimum {}, proof \"{}\"", plan.value,
                                         plan.solver, plan.bound, *best_.value, plan.proof);
    const bool optimal = plan.status == Status::kOptimal;
    if (optimal && plan.value > *best_.value * (1 + 2 * kTolerance)) return wrong("false-proof", said);
    if (plan.bound > *best_.value * (1 + kTolerance)) return wrong("false-bound", said);
    for (int d = 0; d < rules_.devices; ++d) {
      if (plan.devices[at(d)].memory_bytes != own.memory[at(d)])
        return wrong("wrong-memory", fmt::format("device {} holds {} by the plan, {} by the rules", d,
                                                 plan.devices[at(d)].memory_bytes, own.memory[at(d)]));
    }
    const CheckReport report = check(problem_, plan);
    if (!report.ok())
      return wrong("checker-rejects, " + withoutFigures(report.violations.front()),
                   report.violations.front());
    verdict_.outcome = optimal ? Outcome::kOptimal : Outcome::kOpen;
  }

  void wrong(std::string kind, std::string text) {
    verdict_.outcome = Outcome::kWrong;
    verdict_.kind = std::move(kind);
    verdict_.text = std::move(text);
  }

 private:
  const Problem& problem_;
  const Rules& rules_;
  const Best& best_;
  Verdict& verdict_;
  static constexpr double kNotSaid = std::numeric_limits<double>::quiet_NaN();

  void evaluator(const Plan& plan, const Own& own) {
    const Evaluation evaluated = evaluate(problem_, plan);
    const std::string first = evaluated.valid() ? "" : evaluated.violations.front();
    if (evaluated.valid() != own.wrong.empty())
      return wrong("evaluator-validity",
                   fmt::format("a plan is \"{}\" by the rules, \"{}\" by the evaluator", own.wrong, first));
    if (!own.wrong.empty()) return;
    if (!near(evaluated.plan.value, own.value))
      return wrong("evaluator-value", fmt::format("a plan is worth {} by the rules, {} by the evaluator",
                                                  own.value, evaluated.plan.value));
    for (int d = 0; d < rules_.devices; ++d) {
      if (evaluated.plan.devices[at(d)].memory_bytes != own.memory[at(d)])
        return wrong("evaluator-memory",
                     fmt::format("device {} holds {} by the rules, {} by the evaluator", d, own.memory[at(d)],
                                 evaluated.plan.devices[at(d)].memory_bytes));
    }
  }
};

}  // namespace

Verdict judge(const Tiny& tiny, const Question& question) {
  Verdict verdict;
  const Result<Problem> problem = toProblem(tiny);
  if (!problem) {
    verdict.refusal = problem.error().text();
    return verdict;
  }
  const Rules rules(tiny);
  const Best best = enumerate(rules, question);
  verdict.optimum = best.value;
  verdict.outcome = Outcome::kTooLarge;
  if (!best.whole) return verdict;
  Judge judge(*problem, rules, best, verdict);
  for (const Plan& decisions : best.decisions) {
    judge.decisions(decisions);
    if (verdict.outcome == Outcome::kWrong) return verdict;
  }
  RunOptions run;
  run.time_limit_seconds = question.seconds;
  run.work_limit = question.work_limit;
  run.threads = 1;
  run.seed = question.seed;
  run.helpers = Helpers::kOff;
  run.solver = question.solver;
  if (!question.solver.empty() && !findSolver(question.solver)->accepts(*problem)) {
    verdict.outcome = Outcome::kUnsuitable;
    return verdict;
  }
  Plan start;
  if (question.most_moves >= 0) {
    run.max_moves = static_cast<std::uint32_t>(question.most_moves);
    start.modes = problem->modes;
    for (const int device : question.start) start.assignment.emplace_back(at(device));
  }
  const SolveOutcome outcome = solve(*problem, run, question.most_moves >= 0 ? &start : nullptr);
  verdict.value = outcome.plan.value;
  verdict.bound = outcome.plan.bound;
  switch (outcome.plan.status) {
    case Status::kOptimal:
    case Status::kFeasible:
      judge.plan(outcome.plan);
      break;
    case Status::kInfeasible:
      verdict.outcome = Outcome::kInfeasible;
      if (best.value)
        judge.wrong("falsely-infeasible",
                    fmt::format("a plan of {} exists, proof \"{}\"", *best.value, outcome.plan.proof));
      break;
    case Status::kNoPlan:
      verdict.outcome = Outcome::kNoPlan;
      if (best.value && outcome.plan.bound > *best.value * (1 + kTolerance))
        judge.wrong("false-bound",
                    fmt::format("bound {} without a plan, optimum {}", outcome.plan.bound, *best.value));
      break;
    default:
      judge.wrong("error, " + withoutFigures(outcome.message), outcome.message);
  }
  return verdict;
}

Question questionFor(const Tiny& tiny, std::uint64_t seed, double seconds) {
  Random random(seed, 4711);
  Question question;
  question.seconds = seconds;
  question.seed = 1 + random.below(1000);
  if (random.below(3) == 0) {
    const Result<Problem> problem = toProblem(tiny);
    std::vector<std::string> names;
    for (const Solver& solver : solvers()) {
      if (problem && solver.accepts(*problem)) names.emplace_back(solver.name);
    }
    if (!names.empty()) question.solver = names[random.below(static_cast<std::uint32_t>(names.size()))];
  }
  if (random.below(8) == 0) question.work_limit = 1 + random.below(3000);
  if (*tiny.modes.goal == Goal::kCompletion && question.solver.empty() && random.below(4) == 0) {
    question.most_moves = static_cast<int>(random.below(static_cast<std::uint32_t>(tiny.ops.size()) + 1));
    for (std::size_t i = 0; i < tiny.ops.size(); ++i)
      question.start.push_back(
          static_cast<int>(random.below(static_cast<std::uint32_t>(tiny.devices.size()))));
  }
  return question;
}

}  // namespace allot::tiny
