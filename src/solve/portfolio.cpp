// The solvers and the portfolio that runs them: cheap ones first, each from the best plan and bound so far,
// until the gap is reached or nothing is left to try.
#include <fmt/format.h>

#include <vector>

#include "allot/check.h"
#include "allot/solve.h"
#include "solve/baselines/baselines.h"
#include "solve/collector.h"
#include "solve/completion/chains.h"
#include "solve/completion/completion_bound.h"
#include "solve/completion/completion_exact.h"
#include "solve/completion/completion_search.h"
#include "solve/course.h"
#include "solve/exhaustive/exhaustive.h"
#include "solve/helpers/cp_sat_schedule.h"
#include "solve/helpers/free_solvers.h"
#include "solve/infeasible.h"
#include "solve/local_search/local_search.h"
#include "solve/packing.h"
#include "solve/throughput/beam.h"
#include "solve/throughput/boundary_bound.h"
#include "solve/throughput/chain_engine.h"
#include "solve/throughput/free_search.h"
#include "solve/throughput/linear_dp.h"
#include "solve/throughput/multilevel.h"
#include "solve/throughput/packing_bound.h"

namespace allot {
namespace {

bool isThroughput(const Problem& problem) {
  return problem.goal() == Goal::kThroughput;
}
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
  const auto baselines = baselineSolvers();
  std::vector<Solver> list(baselines.begin(), baselines.end());
  list.push_back({"packing", "any assignment that fits devices and memory, by best fit with backtracking",
                  "finds one or proves that none fits, within a limit on steps", always, solvePacking});
  list.push_back(
      {"linear-dp", "best splits of many topological orders into pipeline stages, by dynamic programming",
       "optimal for its orders under via-host transfers; heuristic otherwise", isThroughput, solveLinearDp});
  list.push_back({"item-bound", "what the device of each unit is loaded with at least",
                  "a valid bound for every contiguity; finds no plans", packingBoundAccepts, solveItemBound});
  list.push_back({"boundary-bound", "what must cross between the stages of like devices, by minimum cuts",
                  "a valid bound for contiguous stages; finds no plans", boundaryBoundAccepts,
                  solveBoundaryBound});
  list.push_back({"chain", "best chain of stages, by dynamic programming over ideals below a cut-off",
                  "optimal under via-host transfers; a bound under by-link", chainAccepts, solveChain});
  list.push_back({"chains", "one or two models that are chains, by dynamic programming over both",
                  "optimal; a bound where memory may bind", chainsAccepts, solveChains});
  list.push_back(
      {"exhaustive", "looks at every plan of a tiny problem", "optimal", exhaustiveAccepts, solveExhaustive});
  list.push_back({"completion-exact", "small sets of models, by layers of states that none dominates",
                  "optimal; a bound where live memory may bind", completionExactAccepts, solveCompletionExact});
  list.push_back({"completion-search", "plans of several models grown at prices of device time, then refined",
                  "heuristic", completionSearchAccepts, solveCompletionSearch});
  list.push_back({"completion-bound", "lower bound on completions from prices of device time",
                  "a valid bound in every mode; finds no plans", completionBoundAccepts, solveCompletionBound});
  list.push_back({"beam", "chains of stages grown from the sources, the best partial chains kept",
                  "heuristic", isThroughput, solveBeam});
  list.push_back({"multilevel", "chains of stages by moves and splits on coarser and coarser graphs",
                  "heuristic; near-linear time on graphs of any size", isThroughput, solveMultilevel});
  list.push_back({"free-search", "annealing of whole clusters in rounds, for pipelines without contiguity",
                  "heuristic", freeSearchAccepts, solveFreeSearch});
  list.push_back(
      {"packing-bound", "lower bound from prices of items and what a device of limited load can hold",
       "a valid bound for every contiguity; finds no plans", packingBoundAccepts, solvePackingBound});
  list.push_back({"local-search", "simulated annealing in seeded chains from the best plan so far",
                  "heuristic", always, solveLocalSearch});
  const auto slow = slowBaselineSolvers();
  list.insert(list.end(), slow.begin(), slow.end());
  list.push_back({"helpers-free", "placement without contiguity by HiGHS and CP-SAT at once (`make helpers`)",
                  "optimal, with plans and bounds along the way", helpersFreeAccepts, solveHelpersFree});
  list.push_back({"cp-sat-free", "placement without contiguity by CP-SAT (`make helpers`)", "optimal",
                  cpSatFreeAccepts, solveCpSatFree});
  list.push_back({"highs-free", "placement without contiguity by HiGHS (`make helpers`)",
                  "a plan and a bound that meet up to 1e-6", highsFreeAccepts, solveHighsFree});
  list.push_back({"cp-sat-schedule", "schedules and windows of them by CP-SAT (`make helpers`)",
                  "plans, and a bound where the graph is not large", cpSatScheduleAccepts,
                  solveCpSatSchedule});
  return list;
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
  Collector collector(problem, budget, on_progress, run.robust);
  bool proven = false;
  bool interrupted = false;
  std::string proof;
  if (auto conflict = findConflict(problem)) {
    outcome.conflict = std::move(*conflict);
    proven = true;
    proof = "conflict";
  } else {
    collector.bound(lowerBound(problem), "bounds");
    if (start != nullptr) useStart(problem, *start, collector);
    for (const Solver& solver : solvers()) {
      if (proven || collector.done() || (only != nullptr && &solver != only)) continue;
      if (!solver.accepts(problem)) continue;
      if (budget.stopped()) {
        interrupted = true;
        break;
      }
      // A solver on its own has all the time there is.
      const double share = only != nullptr ? 1 : timeShare(problem, solver.name);
      if (share <= 0) continue;
      const SolveResult result =
          solver.solve(problem, budget.slice(share * run.time_limit_seconds), collector);
      interrupted = interrupted || result.end == SolveEnd::kStopped;
      if (result.end != SolveEnd::kExhausted) {
        if (collector.done()) proof = result.proof;
        continue;
      }
      proven = true;
      proof = fmt::format("{}: {}", solver.name, result.proof);
    }
    if (proven && collector.bestPlan() == nullptr) outcome.conflict = smallestConflict(problem, budget);
  }
  outcome.method = only != nullptr ? std::string(only->summary) : chosenMethod(problem);
  outcome.message = collector.internalError();
  outcome.plan = collector.take(proven, std::move(proof));
  Plan& plan = outcome.plan;
  plan.seed = run.seed;
  plan.seconds = budget.elapsedSeconds();
  plan.time_limited = interrupted && !proven && budget.work_limit == 0;
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
