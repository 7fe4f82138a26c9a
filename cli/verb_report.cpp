// allot report: a plan as one HTML file.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "allot/check.h"
#include "allot/evaluate.h"
#include "allot/solve.h"
#include "base/file_io.h"
#include "base/json_writer.h"
#include "base/units.h"
#include "common.h"
#include "report/html_report.h"
#include "search.h"

namespace allot::cli {
namespace {

// A plan that claims a value is checked; an assignment alone gets its value and schedule here.
Result<Plan> evaluatedPlan(const Problem& problem, Plan plan, const std::string& file) {
  const bool claims = plan.value == plan.value;
  if (claims) {
    const CheckReport report = check(problem, plan);
    if (!report.ok())
      return fail({ErrorCode::kMismatch, file, "", report.violations.front(),
                   "re-make the plan, or give one without a value"});
    if (plan.devices.size() == problem.deviceCount()) return plan;
  }
  Evaluation evaluation = evaluate(problem, plan);
  if (!evaluation.valid())
    return fail({ErrorCode::kMismatch, file, "", evaluation.violations.front(), "give a valid assignment"});
  if (!claims) {
    Plan& given = evaluation.plan;
    given.bound = problem.opCount() <= kMostWhatIfOps ? std::min(lowerBound(problem), given.value) : 0;
    given.status = given.gap() <= kOptimalGap ? Status::kOptimal : Status::kFeasible;
    given.solver = "given";
  }
  return std::move(evaluation.plan);
}

Result<int> report(const Arguments& arguments) {
  const std::string target = arguments.output.empty() ? "report.html" : arguments.output;
  ALLOT_CHECK(checkWritable(target));
  ALLOT_TRY(PlannedTask task, loadPlannedTask(arguments));
  const std::string file = displayName(arguments.inputs.back());
  ALLOT_CHECK(requireComplete(task.problem, task.plan, file));
  ALLOT_TRY(const Plan plan, evaluatedPlan(task.problem, std::move(task.plan), file));
  // Some formats have no room for a name.
  if (task.problem.name.empty())
    task.problem.name = std::filesystem::path(arguments.inputs.front()).stem().string();
  ReportOptions options;
  const RunOptions& run = task.options.run;
  if (run.time_limit_seconds != RunOptions().time_limit_seconds)
    options.what_if_seconds = run.time_limit_seconds;
  options.threads = run.threads;
  options.seed = run.seed;
  options.stop_flag = &catchStopSignals();
  const std::string html = writeReport(task.problem, plan, options);
  ALLOT_CHECK(writeFile(target, html));
  if (target == "-") return kExitOk;
  if (arguments.json) {
    JsonWriter out;
    out.beginObject().field("file", target).field("bytes", static_cast<std::uint64_t>(html.size()));
    out.endObject();
    ALLOT_CHECK(print(out.take()));
  } else if (!arguments.quiet) {
    ALLOT_CHECK(print(fmt::format("{}: {}\nOpen it in any browser, for example: xdg-open {}\n", target,
                                  bytesText(static_cast<double>(html.size())), target)));
  }
  return kExitOk;
}

}  // namespace

int runReport(const Arguments& arguments) {
  const auto code = report(arguments);
  return code ? *code : printError(code.error());
}

}  // namespace allot::cli
