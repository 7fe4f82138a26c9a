// allot demo: a built-in model against the rules people use today.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "allot/solve.h"
#include "base/file_io.h"
#include "base/json_writer.h"
#include "base/units.h"
#include "common.h"
#include "report/demo_problem.h"
#include "search.h"
#include "solve/baselines/baselines.h"

namespace allot::cli {
namespace {

struct Row {
  std::string solver;
  Plan plan;
};

// Time for each goal; the rules need next to none of it.
constexpr double kGoalSeconds = 4.5;
constexpr double kRuleSeconds = 1;

Result<std::vector<Row>> race(const Problem& problem, RunOptions run, const std::atomic<bool>& stop) {
  std::vector<Row> rows;
  const Budget budget(run, &stop);
  const auto add = [&](std::string_view label) -> Result<void> {
    SolveOutcome outcome = solve(problem, run, nullptr, &stop);
    if (outcome.plan.status == Status::kInternalError) {
      return fail({ErrorCode::kInternal, "", std::string(label), outcome.message, "please report this"});
    }
    rows.push_back({std::string(label), std::move(outcome.plan)});
    return {};
  };
  const double all_seconds = run.time_limit_seconds;
  for (const Solver& solver : baselineSolvers()) {
    if (!solver.accepts(problem) || budget.elapsedSeconds() > all_seconds / 3) continue;
    run.solver = solver.name;
    run.time_limit_seconds =
        std::min(kRuleSeconds, std::max(0.05, all_seconds / 3 - budget.elapsedSeconds()));
    ALLOT_CHECK(add(solver.name));
  }
  run.solver.clear();
  run.time_limit_seconds = std::max(0.5, all_seconds - budget.elapsedSeconds());
  ALLOT_CHECK(add("Allot"));
  std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
    const auto worth = [](const Row& row) {
      return row.plan.hasPlan() ? row.plan.value : std::numeric_limits<double>::infinity();
    };
    if (worth(a) != worth(b)) return worth(a) < worth(b);
    return a.solver == "Allot" && b.solver != "Allot";
  });
  return rows;
}

std::string raceText(Goal goal, const std::vector<Row>& rows) {
  const auto ours =
      std::find_if(rows.begin(), rows.end(), [](const Row& row) { return row.solver == "Allot"; });
  std::vector<std::vector<std::string>> cells{{"solver", "value", "per second", "ratio"}};
  for (const Row& row : rows) {
    if (row.plan.hasPlan()) {
      cells.push_back(
          {row.solver, secondsText(row.plan.value), perSecondText(row.plan.value),
           ours->plan.value > 0 ? fmt::format("{:.2f}", row.plan.value / ours->plan.value) : "1"});
    } else {
      cells.push_back({row.solver, "no valid plan", "-", "-"});
    }
  }
  std::string text =
      fmt::format("{}\n{}",
                  heading(fmt::format(
                      "{} ({})", name(goal),
                      goal == Goal::kThroughput ? "time per sample in a pipeline" : "time of one sample")),
                  tableText(cells));
  if (ours->plan.hasPlan()) {
    text +=
        fmt::format("  No plan can be better than {}; the gap of Allot's is {} ({}).\n",
                    secondsText(ours->plan.bound), percentText(ours->plan.gap()), name(ours->plan.status));
  }
  return text + "\n";
}

Result<int> demo(const Arguments& arguments) {
  ALLOT_CHECK(checkWritable(arguments.output));
  Options options;
  options.run.time_limit_seconds = 2 * kGoalSeconds;
  ALLOT_CHECK(applyOptions(arguments, options));
  options.run.time_limit_seconds = std::min(options.run.time_limit_seconds, 2 * kGoalSeconds) / 2;
  ALLOT_TRY(Problem problem, demoProblem());
  const std::atomic<bool>& stop = catchStopSignals();
  if (!arguments.output.empty()) {
    ALLOT_CHECK(writeFile(arguments.output, writeProblem(problem)));
    if (arguments.output == "-" || (arguments.quiet && !arguments.json)) return kExitOk;
  }
  std::string text = fmt::format("Allot against the rules people use today\n{}: {} ops on {}\n\n",
                                 problem.name, problem.opCount(), problem.cluster.name);
  JsonWriter out(3);
  out.beginObject()
      .field("problem", problem.name)
      .field("ops", static_cast<std::uint64_t>(problem.opCount()))
      .key("goals")
      .beginArray();
  for (const Goal goal : {Goal::kThroughput, Goal::kLatency}) {
    Modes modes;
    modes.goal = goal;
    ALLOT_CHECK(problem.setModes(modes));
    if (progressWanted(arguments)) fmt::print(stderr, "\r\033[Kplanning for {} ...", name(goal));
    ALLOT_TRY(const std::vector<Row> rows, race(problem, options.run, stop));
    if (progressWanted(arguments)) fmt::print(stderr, "\r\033[K");
    text += raceText(goal, rows);
    out.beginObject().field("goal", name(goal)).key("rows").beginArray();
    for (const Row& row : rows) {
      const double nothing = std::nan("");
      out.beginObject()
          .field("solver", row.solver)
          .field("value", row.plan.hasPlan() ? row.plan.value : nothing);
      out.field("bound", row.plan.hasPlan() ? row.plan.bound : nothing)
          .field("status", name(row.plan.status))
          .endObject();
    }
    out.endArray().endObject();
  }
  out.endArray().endObject();
  text +=
      "Try next:\n"
      "  allot demo -q -o demo.json                                   this problem as a file\n"
      "  allot plan demo.json --goal throughput -o plan.json          plan it\n"
      "  allot explain demo.json plan.json                            why it is worth what it is\n"
      "  allot export demo.json plan.json --to chrome -o trace.json   open in ui.perfetto.dev\n"
      "  allot plan demo.json --goal latency --pin 'embed.*=cpu'      with your own constraints\n";
  if (arguments.json) {
    ALLOT_CHECK(print(out.take()));
  } else if (!arguments.quiet) {
    ALLOT_CHECK(print(text));
  }
  return kExitOk;
}

}  // namespace

int runDemo(const Arguments& arguments) {
  const auto code = demo(arguments);
  return code ? *code : printError(code.error());
}

}  // namespace allot::cli
