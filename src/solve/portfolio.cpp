// The solvers and the portfolio that runs them: cheap ones first, each from the best plan and bound so far,
// until the gap is reached or nothing is left to try.
#include <fmt/format.h>

#include <vector>

#include "allot/check.h"
#include "allot/moves.h"
#include "allot/solve.h"
#include "solve/baselines/baselines.h"
#include "solve/bounds.h"
#include "solve/collector.h"
#include "solve/completion/completion_solvers.h"
#include "solve/completion/less_idle.h"
#include "solve/course_run.h"
#include "solve/exhaustive/exhaustive.h"
#include "solve/helpers/helper_solvers.h"
#include "solve/infeasible.h"
#include "solve/latency/latency_solvers.h"
#include "solve/local_search/local_search.h"
#include "solve/packing.h"
#include "solve/relaxed_search.h"
#include "solve/throughput/throughput_solvers.h"

namespace allot {
namespace {

bool always(const Problem&) {
  return true;
}

SolveResult solvePacking(const Problem& problem, const Budget& budget, Progress& progress) {
  Packing packing = pack(problem, budget);
  if (packing.end == PackingEnd::kNone)
    return {SolveEnd::kExhausted, "no assignment fits the memory of the devices"};
  if (packing.end == PackingEnd::kUnknown) return {SolveEnd::kStopped, ""};
  Plan plan;
  plan.modes = problem.modes;
  plan.assignment = std::move(packing.assignment);
  progress.plan(std::move(plan), "packing");
  return {SolveEnd::kFinished, ""};
}

std::vector<Solver> makeSolvers() {
  std::vector<Solver> list;
  const auto append = [&list](std::span<const Solver> more) {
    list.insert(list.end(), more.begin(), more.end());
  };
  append(baselineSolvers());
  list.push_back({"packing", "any assignment that fits devices and memory, by best fit with backtracking",
                  "finds one or proves that none fits, within a limit on steps", always, solvePacking});
  append(exactThroughputSolvers());
  append(chainSolvers());
  list.push_back(
      {"exhaustive", "looks at every plan of a tiny problem", "optimal", exhaustiveAccepts, solveExhaustive});
  append(throughputSolvers());
  append(latencySolvers());
  append(completionSolvers());
  append(slowBaselineSolvers());
  list.push_back({"local-search", "simulated annealing in seeded chains from the best plan so far",
                  "heuristic", always, solveLocalSearch});
  append(helperSolvers());
  return list;
}

// Of the time, at most, for bounds from the problem alone.
constexpr double kBoundsShare = 0.1;
// Rules that find a plan of the largest graphs at once. Where the time is up without one, they still run.
constexpr std::string_view kQuickRules[] = {"single", "even-split", "packing"};
constexpr double kQuickSeconds = 0.05;

void findAnyPlan(const Problem& problem, RunOptions run, Collector& collector) {
  run.work_limit = 0;
  run.time_limit_seconds = kQuickSeconds;
  const Budget budget(run, nullptr);
  for (const std::string_view name : kQuickRules) {
    if (collector.bestPlan() != nullptr) return;
    const Solver& rule = *findSolver(name);
    if (rule.accepts(problem)) rule.solve(problem, budget, collector);
  }
}

// A start plan counts only as far as its decisions are valid here.
void useStart(const Problem& problem, const Plan& start, Collector& collector) {
  for (std::size_t i = 0; i < problem.opCount(); ++i) {
    if (!start.assignment[i].valid()) return;
  }
  Plan decisions = start;
  decisions.modes = problem.modes;
  collector.plan(std::move(decisions), "start");
}

}  // namespace

std::span<const Solver> solvers() {
  static const std::vector<Solver> list = makeSolvers();
  return list;
}

const Solver* findSolver(std::string_view name) {
  for (const Solver& solver : solvers()) {
    if (solver.name == name) return &solver;
  }
  return nullptr;
}

SolveOutcome solve(const Problem& problem, const RunOptions& run, const Plan* start,
                   const std::atomic<bool>* stop_flag,
                   const std::function<void(const ProgressLine&)>& on_progress) {
  SolveOutcome outcome;
  const Budget budget(run, stop_flag);
  const Solver* only = run.solver.empty() ? nullptr : findSolver(run.solver);
  if (!run.solver.empty() && (only == nullptr || !only->accepts(problem))) {
    outcome.plan.modes = problem.modes;
    outcome.plan.status = Status::kBadInput;
    outcome.message = only == nullptr ? fmt::format("there is no solver \"{}\"", run.solver)
                                      : fmt::format("solver \"{}\" does not take this problem: {}",
                                                    run.solver, only->summary);
    return outcome;
  }
  if (run.max_moves != RunOptions::kAnyMoves)
    return solveLimited(problem, run, start, stop_flag, on_progress, nullptr);
  Collector collector(problem, budget, on_progress, run.robust);
  CourseEnd end;
  const std::optional<Problem> relaxed = relaxedForEngines(problem);
  const Problem& seen = relaxed ? *relaxed : problem;
  if (auto conflict = findConflict(seen)) {
    outcome.conflict = std::move(*conflict);
    end = {.proven = true, .interrupted = false, .proof = "conflict"};
  } else {
    collector.bound(lowerBound(seen, budget.slice(kBoundsShare * run.time_limit_seconds)), "bounds");
    if (start != nullptr) useStart(problem, *start, collector);
    end = relaxed && !problem.relaxedIsExact()
              ? searchByRelaxation(problem, seen, only, run, budget, collector)
              : runCourse(seen, only, run.time_limit_seconds, budget, collector);
    if (only == nullptr && end.interrupted && !end.proven) findAnyPlan(problem, run, collector);
    // A rule run alone is shown as it is.
    if (only == nullptr && !run.robust) lessenIdleOf(problem, budget, collector);
    if (end.proven && collector.bestPlan() == nullptr) outcome.conflict = smallestConflict(seen, budget);
  }
  outcome.method = only != nullptr ? std::string(only->summary) : chosenMethod(problem);
  outcome.message = collector.internalError();
  outcome.plan = collector.take(end.proven, std::move(end.proof));
  Plan& plan = outcome.plan;
  plan.seed = run.seed;
  plan.seconds = budget.elapsedSeconds();
  plan.time_limited = end.interrupted && !end.proven && budget.work_limit == 0;
  if (!outcome.message.empty()) {
    plan.status = Status::kInternalError;
  } else if (plan.hasPlan()) {
    // The plan as it will be printed, its bound and status among the claims.
    const CheckReport report = check(problem, plan);
    if (!report.ok()) {
      outcome.message = fmt::format("the plan failed the checker: {}", report.violations.front());
      plan.status = Status::kInternalError;
    }
  }
  return outcome;
}

}  // namespace allot
