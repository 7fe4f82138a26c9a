// allot export: a plan in the words of other tools.
#include <fmt/format.h>

#include "allot/check.h"
#include "allot/evaluate.h"
#include "base/file_io.h"
#include "common.h"
#include "report/chrome_trace.h"
#include "report/dot.h"
#include "report/mps.h"

namespace allot::cli {
namespace {

Result<std::string> converted(const Problem& problem, const Plan& plan, const std::string& to) {
  if (to == "chrome") return writeChromeTrace(problem, plan);
  if (to == "dot") return writeDot(problem, plan);
  if (to == "dnn-partitioning") return writeDnnPartitioningSplit(problem, plan);
  if (to == "mps") return writeMps(problem, plan);
  return writePlan(problem, plan);
}

Result<int> exportPlan(const Arguments& arguments) {
  if (arguments.to.empty())
    return usageError("--to", "what to write is missing", "use chrome, dot, json, dnn-partitioning or mps");
  ALLOT_CHECK(checkWritable(arguments.output));
  ALLOT_TRY(PlannedTask task, loadPlannedTask(arguments));
  const std::string file = displayName(arguments.inputs.back());
  ALLOT_CHECK(requireComplete(task.problem, task.plan, file));
  // A plan that claims a value is checked; an assignment alone gets its value and schedule here.
  const bool claims = task.plan.value == task.plan.value;
  if (claims) {
    const CheckReport report = check(task.problem, task.plan);
    if (!report.ok())
      return fail({ErrorCode::kMismatch, file, "", report.violations.front(),
                   "re-make the plan, or give one without a value"});
  } else {
    Evaluation evaluation = evaluate(task.problem, std::move(task.plan));
    if (!evaluation.valid())
      return fail({ErrorCode::kMismatch, file, "", evaluation.violations.front(), "give a valid assignment"});
    task.plan = std::move(evaluation.plan);
    task.plan.status = Status::kFeasible;
    task.plan.bound = 0;
    task.plan.solver = "given";
  }
  ALLOT_TRY(const std::string text, converted(task.problem, task.plan, arguments.to));
  ALLOT_CHECK(writeFile(arguments.output.empty() ? "-" : arguments.output, text));
  return kExitOk;
}

}  // namespace

int runExport(const Arguments& arguments) {
  const auto code = exportPlan(arguments);
  return code ? *code : printError(code.error());
}

}  // namespace allot::cli
