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

std::vector<int> devicesOf(const Plan& plan) {
  std::vector<int> list;
  for (const DeviceId device : plan.assignment) list.push_back(static_cast<int>(device.value));
  return list;
}

std::vector<Stage> stagesOf(const Rules& rules, const Plan& plan) {
  std::vector<Stage> stages;
  for (const PlanStage& listed : plan.stages) {
    Stage& stage = stages.emplace_back();
    for (const DeviceId device : listed.devices) stage.devices.push_back(static_cast<int>(device.value));
    for (const OpId op : listed.ops) stage.ops |= Ops{1} << op.value;
  }
  return plan.stages.empty() ? stagesOf(rules, devicesOf(plan)) : stages;
}

Schedule scheduleOf(const Rules& rules, const Plan& plan) {
  Schedule schedule{devicesOf(plan), plan.start, plan.end, {}};
  schedule.transfers = transfersOf(rules, schedule.device);
  for (Transfer& transfer : schedule.transfers) {
    transfer.start = plan.end[at(rules.tiny.tensors[at(transfer.tensor)].from)];
    transfer.end = transfer.start + rules.transfer(transfer.tensor, transfer.from, transfer.to);
    for (const PlanTransfer& listed : plan.transfers) {
      Ops consumers = 0;
      for (const OpId op : listed.consumers) consumers |= Ops{1} << op.value;
      if (static_cast<int>(listed.tensor.value) != transfer.tensor || consumers != transfer.consumers)
        continue;
      transfer.start = listed.start;
      transfer.end = listed.end;
    }
  }
  return schedule;
}

// What the library's plan is worth and holds by the rules; what is wrong with it.
struct Own {
  std::string wrong;
  double value = 0;
  std::vector<double> memory;  // by device
};

Own ownValue(const Rules& rules, const Plan& plan) {
  Own own;
  own.memory.assign(at(rules.devices), 0);
  if (*rules.modes().goal == Goal::kThroughput) {
    const PipelineRules pipelines(rules);
    const std::vector<Stage> stages = stagesOf(rules, plan);
    PipelineFigures figures = pipelines.value(stages);
    own.wrong = pipelines.wrong(stages, figures);
    own.value = figures.value;
    for (int d = 0; d < rules.devices; ++d) own.memory[at(d)] = figures.devices[at(d)].memory;
    return own;
  }
  const std::vector<int> device = devicesOf(plan);
  if (rules.modes().model == LatencyModel::kSubgraphCalls && *rules.modes().goal == Goal::kLatency) {
    std::vector<Stage> calls;
    if (!plan.stages.empty()) calls = stagesOf(rules, plan);
    own.wrong = wrongCalls(rules, device, calls);
    own.value = callsValue(rules, device, calls).value_or(kNone);
    for (const Stage& stage : stagesOf(rules, device))
      own.memory[at(stage.devices.front())] = rules.resident(stage.ops);
    return own;
  }
  const Schedule schedule = scheduleOf(rules, plan);
  own.wrong = wrongSchedule(rules, schedule);
  own.value = valueOf(rules, schedule.end);
  for (int d = 0; d < rules.devices; ++d) own.memory[at(d)] = memoryOf(rules, schedule, d);
  return own;
}

// A message without what differs from case to case: names and figures.
std::string withoutFigures(const std::string& message) {
  std::string text = std::regex_replace(message, std::regex("\\ba plan of [a-z-]+"), "a plan");
  return std::regex_replace(text, std::regex("\"[^\"]*\"|[0-9][0-9.e+-]*|, inf|of [a-z-]+$"), "#");
}

struct Best {
  std::optional<double> value;
  bool whole = true;
  std::optional<Plan> some;  // decisions of a pipeline, good or not
};

Best enumerate(const Rules& rules, const Question& question) {
  if (*rules.modes().goal == Goal::kThroughput) {
    const BestPipeline best = bestPipeline(rules, question.seed);
    Best result{best.value, true, {}};
    if (best.some.empty()) return result;
    Plan plan;
    plan.assignment.resize(at(rules.ops));
    for (const Stage& stage : best.some) {
      PlanStage& listed = plan.stages.emplace_back();
      for (const int device : stage.devices) listed.devices.emplace_back(at(device));
      for (int i = 0; i < rules.ops; ++i) {
        if (!in(stage.ops, i)) continue;
        listed.ops.emplace_back(at(i));
        plan.assignment[at(i)] = DeviceId(at(stage.devices.front()));
      }
    }
    result.some = plan;
    return result;
  }
  if (rules.modes().model == LatencyModel::kSubgraphCalls && *rules.modes().goal == Goal::kLatency)
    return {bestCalls(rules).value, true, {}};
  const bool limited = question.most_moves >= 0;
  const BestSchedule best =
      bestSchedule(rules, limited ? question.start : std::vector<int>{}, question.most_moves);
  return {best.value, best.whole, {}};
}

// Evaluator and checker on decisions of the enumeration.
void judgeEvaluator(const Problem& problem, const Rules& rules, const Plan& decisions, Verdict& verdict) {
  Plan plan = decisions;
  plan.modes = problem.modes;
  const Own own = ownValue(rules, plan);
  Evaluation evaluated = evaluate(problem, plan);
  const auto wrong = [&](std::string kind, std::string text) {
    verdict.outcome = Outcome::kWrong;
    verdict.kind = std::move(kind);
    verdict.text = std::move(text);
  };
  if (evaluated.valid() != own.wrong.empty())
    return wrong("evaluator-validity",
                 fmt::format("a pipeline is \"{}\" by the rules, \"{}\" by the evaluator", own.wrong,
                             evaluated.valid() ? "" : evaluated.violations.front()));
  if (!near(evaluated.plan.value, own.value))
    return wrong("evaluator-value", fmt::format("a pipeline is worth {} by the rules, {} by the evaluator",
                                                own.value, evaluated.plan.value));
  for (int d = 0; d < rules.devices; ++d) {
    if (own.wrong.empty() && evaluated.plan.devices[at(d)].memory_bytes != own.memory[at(d)])
      return wrong("evaluator-memory",
                   fmt::format("device {} holds {} by the rules, {} by the evaluator", d, own.memory[at(d)],
                               evaluated.plan.devices[at(d)].memory_bytes));
  }
  evaluated.plan.status = Status::kFeasible;
  evaluated.plan.bound = 0;
  const CheckReport report = check(problem, evaluated.plan);
  if (report.ok() != own.wrong.empty())
    return wrong("checker-validity", fmt::format("a pipeline is \"{}\" by the rules, \"{}\" by the checker",
                                                 own.wrong, report.ok() ? "" : report.violations.front()));
}

void judgePlan(const Problem& problem, const Rules& rules, const SolveOutcome& outcome, const Best& best,
               Verdict& verdict) {
  const Plan& plan = outcome.plan;
  const auto wrong = [&](std::string kind, std::string text) {
    verdict.outcome = Outcome::kWrong;
    verdict.kind = std::move(kind);
    verdict.text = std::move(text);
  };
  if (!best.value) return wrong("plan-where-none-exists", fmt::format("value {}", plan.value));
  const Own own = ownValue(rules, plan);
  if (!own.wrong.empty()) return wrong("invalid-plan", own.wrong);
  if (!near(own.value, plan.value))
    return wrong("wrong-value",
                 fmt::format("{} says {}, by the rules it is {}", plan.solver, plan.value, own.value));
  if (plan.value < *best.value * (1 - kTolerance))
    return wrong("better-than-optimal",
                 fmt::format("{} finds {}, the enumeration {}", plan.solver, plan.value, *best.value));
  if (plan.bound > *best.value * (1 + kTolerance))
    return wrong(plan.status == Status::kOptimal ? "false-proof" : "false-bound",
                 fmt::format("value {} by {}, bound {}, optimum {}, proof \"{}\"", plan.value, plan.solver,
                             plan.bound, *best.value, plan.proof));
  if (plan.status == Status::kOptimal && plan.value > *best.value * (1 + 2 * kTolerance))
    return wrong("false-proof", fmt::format("value {} by {}, optimum {}, proof \"{}\"", plan.value,
                                            plan.solver, *best.value, plan.proof));
  for (int d = 0; d < rules.devices; ++d) {
    if (plan.devices[at(d)].memory_bytes != own.memory[at(d)])
      return wrong("wrong-memory", fmt::format("device {} holds {} by the plan, {} by the rules", d,
                                               plan.devices[at(d)].memory_bytes, own.memory[at(d)]));
  }
  const CheckReport report = check(problem, plan);
  if (!report.ok())
    return wrong("checker-rejects, " + withoutFigures(report.violations.front()), report.violations.front());
  verdict.outcome = plan.status == Status::kOptimal ? Outcome::kOptimal : Outcome::kOpen;
}

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
  if (best.some) {
    judgeEvaluator(*problem, rules, *best.some, verdict);
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
      judgePlan(*problem, rules, outcome, best, verdict);
      break;
    case Status::kInfeasible:
      verdict.outcome = best.value ? Outcome::kWrong : Outcome::kInfeasible;
      verdict.kind = "falsely-infeasible";
      if (best.value)
        verdict.text = fmt::format("a plan of {} exists, proof \"{}\"", *best.value, outcome.plan.proof);
      break;
    case Status::kNoPlan:
      verdict.outcome = Outcome::kNoPlan;
      if (best.value && outcome.plan.bound > *best.value * (1 + kTolerance)) {
        verdict.outcome = Outcome::kWrong;
        verdict.kind = "false-bound";
        verdict.text = fmt::format("bound {} without a plan, optimum {}", outcome.plan.bound, *best.value);
      }
      break;
    default:
      verdict.outcome = Outcome::kWrong;
      verdict.kind = "error, " + withoutFigures(outcome.message);
      verdict.text = outcome.message;
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
