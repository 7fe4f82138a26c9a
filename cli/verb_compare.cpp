// allot compare: a loop over solvers.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "allot/evaluate.h"
#include "allot/solve.h"
#include "base/json_writer.h"
#include "base/units.h"
#include "common.h"
#include "search.h"
#include "summary.h"

namespace allot::cli {
namespace {

struct Row {
  std::string solver;
  Plan plan;
};

Result<std::vector<std::string>> chosenSolvers(const Problem& problem, const std::string& wanted) {
  std::vector<std::string> names;
  if (wanted.empty() || wanted == "all") {
    for (const Solver& solver : solvers()) {
      if (solver.accepts(problem)) names.emplace_back(solver.name);
    }
    names.emplace_back(kPortfolio);
    return names;
  }
  std::string_view rest = wanted;
  for (;;) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    const std::string name(rest.substr(0, comma));
    auto known = solverFor(problem, name.empty() ? "?" : name);
    if (!known) return usageError("--solvers", known.error().message, known.error().remedy);
    names.push_back(name);
    if (comma == rest.size()) return names;
    rest.remove_prefix(comma + 1);
  }
}

std::string rowsJson(const Problem& problem, const std::vector<Row>& rows) {
  JsonWriter out;
  out.beginObject()
      .field("problem", problem.name)
      .field("goal", name(problem.goal()))
      .field("costs", problem.costs)
      .key("rows")
      .beginArray();
  for (const Row& row : rows) {
    const bool good = row.plan.hasPlan();
    const double nothing = std::nan("");
    out.beginObject().field("solver", row.solver).field("value", good ? row.plan.value : nothing);
    out.field("bound", good ? row.plan.bound : nothing).field("gap", good ? row.plan.gap() : nothing);
    out.field("seconds", row.plan.seconds).field("status", name(row.plan.status)).endObject();
  }
  out.endArray().endObject();
  return out.take();
}

std::string rowsText(std::vector<Row> rows, bool verbose) {
  const auto worth = [](const Row& row) {
    return row.plan.hasPlan() ? row.plan.value : std::numeric_limits<double>::infinity();
  };
  std::stable_sort(rows.begin(), rows.end(), [&](const Row& a, const Row& b) { return worth(a) < worth(b); });
  const double best = worth(rows.front());
  std::vector<std::vector<std::string>> cells{
      {"solver", "value", "per second", "ratio", "bound", "gap", "time", "status"}};
  for (const Row& row : rows) {
    const Plan& plan = row.plan;
    if (!plan.hasPlan()) {
      cells.push_back(
          {row.solver, "-", "-", "-", "-", "-", secondsText(plan.seconds), std::string(name(plan.status))});
      continue;
    }
    cells.push_back({row.solver, secondsText(plan.value), perSecondText(plan.value),
                     best > 0 ? fmt::format("{:.3f}", plan.value / best) : "1", secondsText(plan.bound),
                     percentText(plan.gap()), secondsText(plan.seconds), std::string(name(plan.status))});
  }
  if (verbose) {
    cells.front().emplace_back();
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const Solver* solver = findSolver(rows[i].solver);
      cells[i + 1].emplace_back(solver == nullptr ? "" : solver->summary);
    }
  }
  return tableText(cells);
}

// What a plan made elsewhere is worth here; a row without value when it breaks the rules of the problem.
Row startRow(const Arguments& arguments, const Problem& problem, const Plan& start) {
  Row row{"start", {}};
  const double bound = lowerBound(problem);
  Evaluation evaluated = evaluate(problem, start);
  if (evaluated.valid()) {
    row.plan = std::move(evaluated.plan);
    row.plan.bound = std::min(bound, row.plan.value);
    row.plan.status = row.plan.gap() <= kOptimalGap ? Status::kOptimal : Status::kFeasible;
    row.plan.seconds = 0;
  } else {
    printWarnings(arguments, displayName(arguments.start),
                  {fmt::format("is no plan of this problem: {}", evaluated.violations.front())});
  }
  return row;
}

Result<int> compare(const Arguments& arguments) {
  ALLOT_TRY(const Task task, loadTask(arguments));
  ALLOT_TRY(const std::vector<std::string> names, chosenSolvers(task.problem, arguments.solvers));
  std::optional<Plan> start;
  if (!arguments.start.empty()) {
    ALLOT_TRY(start, loadPlan(arguments, arguments.start, task.problem));
    ALLOT_CHECK(requireComplete(task.problem, *start, displayName(arguments.start)));
    start->modes = task.problem.modes;
  }
  const std::atomic<bool>& stop = catchStopSignals();
  RunOptions run = task.options.run;
  if (run.max_moves != RunOptions::kAnyMoves)
    return usageError("--max-moves", "is for plan, check and simulate --events", "leave it out");
  run.time_limit_seconds = std::max(1.0, run.time_limit_seconds / static_cast<double>(names.size()));
  std::vector<Row> rows;
  Conflict conflict;
  bool any = false, infeasible = false;
  if (start) {
    Row row = startRow(arguments, task.problem, *start);
    any = row.plan.hasPlan();
    rows.push_back(std::move(row));
  }
  for (const std::string& name : names) {
    if (stop && any) break;
    if (progressWanted(arguments))
      note(fmt::format("\r\033[K{} of {}: {}", rows.size() + (start ? 0 : 1), names.size(), name));
    run.solver = name == kPortfolio ? "" : name;
    // Only the portfolio starts from it: the others show what they do by themselves.
    const bool from_start = start && name == kPortfolio;
    SolveOutcome outcome = solve(task.problem, run, from_start ? &*start : nullptr, &stop);
    if (outcome.plan.status == Status::kInternalError) {
      return fail({ErrorCode::kInternal, displayName(arguments.inputs.front()), name, outcome.message,
                   "please report this with the input"});
    }
    any = any || outcome.plan.hasPlan();
    if (outcome.plan.status == Status::kInfeasible) {
      infeasible = true;
      conflict = std::move(outcome.conflict);
    }
    rows.push_back({name, std::move(outcome.plan)});
  }
  if (progressWanted(arguments)) note("\r\033[K");
  const std::string file = displayName(arguments.inputs.front());
  const Error nothing = noPlanError(file, task.problem, run, rows.back().plan, stop);
  if (arguments.json) {
    ALLOT_CHECK(print(rowsJson(task.problem, rows)));
  } else {
    ALLOT_CHECK(print(timesText(task.problem.costs) + rowsText(std::move(rows), arguments.verbose)));
  }
  if (any) return stop ? kExitCutShort : kExitOk;
  for (const std::string& fact : conflict.facts)
    printError({ErrorCode::kInfeasible, file, "infeasible", fact, ""});
  if (infeasible) return kExitInfeasible;
  return printError(nothing);
}

}  // namespace

int runCompare(const Arguments& arguments) {
  const auto code = compare(arguments);
  return code ? *code : printError(code.error());
}

}  // namespace allot::cli
