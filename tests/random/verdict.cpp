#include "random/verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "allot/formats.h"
#include "allot/solve.h"
#include "base/random.h"
#include "random/calls.h"
#include "random/judge.h"
#include "random/pipelines.h"
#include "random/schedules.h"

namespace allot::tiny {
namespace {

std::size_t at(int index) {
  return static_cast<std::size_t>(index);
}

bool isEvents(const Modes& modes) {
  return *modes.goal == Goal::kCompletion ||
         (*modes.goal == Goal::kLatency && modes.model == LatencyModel::kEvents);
}

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

// A problem means the same after being written and read, by the library's writer and by ours.
void judgeFiles(const Tiny& tiny, const Problem& problem, const Best& best, const Question& question,
                Judge& judge) {
  for (const std::string& file : {toJson(tiny), writeProblem(problem)}) {
    Warnings warnings;
    const Result<Problem> read = readProblem(file, "file", {}, nullptr, warnings);
    if (!read) return judge.wrong("unreadable, " + withoutFigures(read.error().text()), read.error().text());
    const Tiny again = fromProblem(*read);
    const std::optional<double> optimum = enumerate(Rules(again), question).value;
    const double before = best.value.value_or(-1), after = optimum.value_or(-1);
    if (std::abs(before - after) > kJudgeTolerance * std::abs(before))
      return judge.wrong("other-after-reading",
                         fmt::format("optimum {}, once written and read {}", before, after));
  }
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
  Judge judge(*problem, rules, best, verdict);
  verdict.limited = question.most_moves >= 0;
  if (question.files) judgeFiles(tiny, *problem, best, question, judge);
  if (verdict.outcome == Outcome::kWrong) return verdict;
  for (const Plan& decisions : best.decisions) {
    judge.decisions(decisions);
    if (verdict.outcome == Outcome::kWrong) return verdict;
  }
  if (isEvents(rules.modes()) && !best.decisions.empty()) {
    Random random(question.seed, 13);
    std::vector<DeviceId> assignment = best.decisions.front().assignment;
    assignment[random.below(static_cast<std::uint32_t>(rules.ops))] =
        DeviceId(random.below(static_cast<std::uint32_t>(rules.devices)));
    judge.simulated(std::move(assignment));
    if (verdict.outcome == Outcome::kWrong) return verdict;
  }
  RunOptions run;
  run.time_limit_seconds = question.seconds;
  run.work_limit = question.work_limit;
  run.threads = question.threads;
  run.robust = question.robust;
  run.seed = question.seed;
  run.helpers = Helpers::kOff;
  run.gap = question.gap;
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
  const bool warm = question.warm && question.most_moves < 0 && !best.decisions.empty();
  if (warm) {
    start = best.decisions.back();
    start.modes = problem->modes;
  }
  const SolveOutcome outcome = solve(*problem, run, warm || question.most_moves >= 0 ? &start : nullptr);
  verdict.value = outcome.plan.value;
  verdict.bound = outcome.plan.bound;
  switch (outcome.plan.status) {
    case Status::kOptimal:
    case Status::kFeasible:
      judge.plan(outcome.plan);
      if (question.prove) judge.proof(outcome.plan, run);
      break;
    case Status::kInfeasible:
      verdict.outcome = Outcome::kInfeasible;
      if (best.value)
        judge.wrong("falsely-infeasible",
                    fmt::format("a plan of {} exists, proof \"{}\"", *best.value, outcome.plan.proof));
      break;
    case Status::kNoPlan:
      verdict.outcome = Outcome::kNoPlan;
      if (best.value && outcome.plan.bound > *best.value * (1 + kJudgeTolerance))
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
  if (random.below(10) == 0) question.gap = 0.25;
  question.prove = random.below(8) == 0;
  question.warm = random.below(8) == 0;
  question.robust = random.below(20) == 0 && *tiny.modes.goal != Goal::kThroughput;
  question.files = random.below(8) == 0;
  if (random.below(50) == 0) question.threads = 2;
  if (random.below(8) == 0) question.work_limit = 1 + random.below(3000);
  if (*tiny.modes.goal == Goal::kCompletion && question.solver.empty() && random.below(4) == 0) {
    question.prove = false;  // knows no limit on moves
    question.most_moves = static_cast<int>(random.below(static_cast<std::uint32_t>(tiny.ops.size()) + 1));
    for (std::size_t i = 0; i < tiny.ops.size(); ++i)
      question.start.push_back(
          static_cast<int>(random.below(static_cast<std::uint32_t>(tiny.devices.size()))));
  }
  return question;
}

}  // namespace allot::tiny
