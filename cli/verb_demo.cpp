// allot demo: built-in models against the rules people use today.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "allot/solve.h"
#include "base/file_io.h"
#include "base/json_writer.h"
#include "base/units.h"
#include "common.h"
#include "report/demo_models.h"
#include "report/html_report.h"
#include "search.h"
#include "solve/baselines/baselines.h"

namespace allot::cli {
namespace {

struct Row {
  std::string solver;
  Plan plan;
};

// Time for each goal; the rules need next to none of it.
constexpr double kGoalSeconds = 3.5;
constexpr double kRuleSeconds = 1;
constexpr double kReportSeconds = 1;
constexpr std::string_view kReportFile = "allot-demo.html";

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

// Who uses the rule: the beginning of its summary.
std::string whoseRule(std::string_view solver) {
  const Solver* found = findSolver(solver);
  return found == nullptr ? std::string() : std::string(found->summary.substr(0, found->summary.find(':')));
}

std::string raceText(Goal goal, const std::vector<Row>& rows) {
  const auto ours =
      std::find_if(rows.begin(), rows.end(), [](const Row& row) { return row.solver == "Allot"; });
  std::vector<std::vector<std::string>> cells{{"solver", "value", "per second", "ratio", ""}};
  for (const Row& row : rows) {
    if (row.plan.hasPlan()) {
      cells.push_back({row.solver, secondsText(row.plan.value), perSecondText(row.plan.value),
                       ours->plan.value > 0 ? fmt::format("{:.2f}", row.plan.value / ours->plan.value) : "1",
                       whoseRule(row.solver)});
    } else {
      cells.push_back({row.solver, "no valid plan", "-", "-", whoseRule(row.solver)});
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

void raceJson(Goal goal, const std::vector<Row>& rows, JsonWriter& out) {
  out.beginObject().field("goal", name(goal)).key("rows").beginArray();
  for (const Row& row : rows) {
    const double nothing = std::nan("");
    out.beginObject()
        .field("solver", row.solver)
        .field("value", row.plan.hasPlan() ? row.plan.value : nothing)
        .field("bound", row.plan.hasPlan() ? row.plan.bound : nothing)
        .field("status", name(row.plan.status))
        .endObject();
  }
  out.endArray().endObject();
}

Result<void> writeDemoReport(const Problem& problem, const std::vector<Row>& rows, const RunOptions& run) {
  ReportOptions options;
  options.what_if_seconds = kReportSeconds;
  options.threads = run.threads;
  options.seed = run.seed;
  const Plan* ours = nullptr;
  for (const Row& row : rows) {
    if (row.solver == "Allot")
      ours = &row.plan;
    else
      options.baselines.push_back({row.solver, row.plan.status, row.plan.value});
  }
  if (!ours->hasPlan()) return {};
  return writeFile(std::string(kReportFile), writeReport(problem, *ours, options));
}

Result<int> demo(const Arguments& arguments) {
  ALLOT_CHECK(checkWritable(arguments.output));
  if (!arguments.output.empty()) {
    ALLOT_TRY(const Problem problem, demoLanguageModel());
    ALLOT_CHECK(writeFile(arguments.output, writeProblem(problem)));
    if (arguments.output == "-" || (arguments.quiet && !arguments.json)) return kExitOk;
  }
  Options options;
  options.run.time_limit_seconds = 4 * kGoalSeconds;
  ALLOT_CHECK(applyOptions(arguments, options));
  options.run.time_limit_seconds = std::min(options.run.time_limit_seconds, 4 * kGoalSeconds) / 4;
  const std::atomic<bool>& stop = catchStopSignals();
  std::string text = "Allot against the rules people use today\n";
  JsonWriter out(4);
  out.beginObject().key("problems").beginArray();
  bool reported = false;
  for (const auto make : {demoLanguageModel, demoVisionModel}) {
    ALLOT_TRY(Problem problem, make());
    text += fmt::format("\n{}: {} ops on {}\ntimes: {}\n\n", problem.name, problem.opCount(),
                        problem.cluster.name, problem.costs);
    out.beginObject()
        .field("problem", problem.name)
        .field("ops", static_cast<std::uint64_t>(problem.opCount()))
        .field("costs", problem.costs)
        .key("goals")
        .beginArray();
    for (const Goal goal : {Goal::kThroughput, Goal::kLatency}) {
      Modes modes;
      modes.goal = goal;
      ALLOT_CHECK(problem.setModes(modes));
      if (progressWanted(arguments))
        note(fmt::format("\r\033[K{}: planning for {} ...", problem.name, name(goal)));
      ALLOT_TRY(const std::vector<Row> rows, race(problem, options.run, stop));
      if (progressWanted(arguments)) note("\r\033[K");
      text += raceText(goal, rows);
      raceJson(goal, rows, out);
      if (reported || arguments.quiet) continue;
      ALLOT_CHECK(writeDemoReport(problem, rows, options.run));
      reported = true;
    }
    out.endArray().endObject();
  }
  out.endArray();
  if (reported) out.field("report", kReportFile);
  out.endObject();
  text += fmt::format(
      "The first plan as a page with pipeline, memory and graph: {0}\n"
      "  open it in any browser, for example: xdg-open {0}\n\n"
      "Try next:\n"
      "  allot demo -q -o demo.json                                   the first problem as a file\n"
      "  allot plan demo.json --goal latency -o plan.json             plan it\n"
      "  allot explain demo.json plan.json                            why it is worth what it is\n"
      "  allot report demo.json plan.json                             the same to look at\n"
      "  allot plan model.onnx --cluster 1xA100-80GB,2xT4 --goal throughput    your own model\n",
      kReportFile);
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
