// allot check and allot simulate: what a given plan is worth, and what is wrong with it.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "allot/check.h"
#include "allot/evaluate.h"
#include "allot/prove.h"
#include "allot/solve.h"
#include "base/file_io.h"
#include "base/json_writer.h"
#include "base/units.h"
#include "common.h"
#include "evaluate/noise.h"
#include "search.h"
#include "summary.h"

namespace allot::cli {
namespace {

std::string proofJson(const ProofAgain& again) {
  JsonWriter out(0);
  out.beginObject()
      .field("proved", again.proved)
      .field("by", again.by)
      .field("bound", again.bound)
      .endObject();
  return out.take();
}

// A plan that is valid, proved again.
Result<int> prove(const Arguments& arguments, const PlannedTask& task, std::string document) {
  const std::string file = displayName(arguments.inputs.back());
  const ProofAgain again = proveAgain(task.problem, task.plan, task.options.run, &catchStopSignals());
  if (arguments.json) ALLOT_CHECK(print(withMember(std::move(document), "prove", proofJson(again))));
  if (again.better < task.plan.value * (1 - kOptimalGap)) {
    return printError({ErrorCode::kMismatch, file, "value",
                       fmt::format("{} found a plan of {}, better than {}", again.by,
                                   secondsText(again.better), secondsText(task.plan.value)),
                       ""});
  }
  if (!arguments.json && !arguments.quiet) {
    ALLOT_CHECK(print(again.proved ? fmt::format("proved again by {}\n", again.by)
                                   : fmt::format("not proved again: no plan is below {} (gap {})\n",
                                                 secondsText(again.bound),
                                                 percentText(1 - again.bound / task.plan.value))));
  }
  return again.proved ? kExitOk : kExitLimitWithPlan;
}

Result<int> checkPlan(const Arguments& arguments) {
  ALLOT_TRY(const PlannedTask task, loadPlannedTask(arguments));
  const CheckReport report = check(task.problem, task.plan);
  JsonWriter out;
  out.beginObject().field("ok", report.ok()).field("value", report.value).key("violations").beginArray();
  for (const std::string& violation : report.violations) out.value(violation);
  out.endArray().endObject();
  const bool goes_on = report.ok() && arguments.prove;
  if (arguments.json && !goes_on) ALLOT_CHECK(print(out.take()));
  if (!arguments.json && report.ok() && !arguments.quiet)
    ALLOT_CHECK(print(fmt::format("valid: {}\n{}", valueText(task.problem.goal(), report.value),
                                  timesText(task.problem.costs))));
  if (goes_on) return prove(arguments, task, out.take());
  if (report.ok()) return kExitOk;
  const std::string file = displayName(arguments.inputs.back());
  for (const std::string& violation : report.violations) {
    printError({ErrorCode::kMismatch, file, "", violation, ""});
    if (!arguments.verbose) break;
  }
  if (!arguments.verbose && report.violations.size() > 1 && !arguments.quiet) {
    fmt::print(stderr, "{}: and {} more; -v shows them\n", file, report.violations.size() - 1);
  }
  return kExitMismatch;
}

// What the file claimed of another search is dropped: only what was computed here is said.
Result<Evaluation> valued(const PlannedTask& task, const std::string& file) {
  ALLOT_CHECK(requireComplete(task.problem, task.plan, file));
  Evaluation evaluation = evaluate(task.problem, task.plan);
  Plan& plan = evaluation.plan;
  plan.modes = task.problem.modes;
  plan.status = Status::kFeasible;
  plan.bound = evaluation.valid() ? std::min(lowerBound(task.problem), plan.value) : 0;
  plan.solver = "given";
  plan.proof.clear();
  plan.curve.clear();
  plan.seconds = 0;
  plan.time_limited = false;
  plan.costs = task.problem.costs;
  if (evaluation.valid() && plan.gap() <= kOptimalGap) plan.status = Status::kOptimal;
  if (!evaluation.valid()) return evaluation;
  const CheckReport report = check(task.problem, plan);
  if (!report.ok()) {
    return fail({ErrorCode::kInternal, file, "",
                 "the checker disagrees with the evaluation: " + report.violations.front(),
                 "please report this with the input"});
  }
  return evaluation;
}

Result<int> simulate(const Arguments& arguments) {
  ALLOT_CHECK(checkWritable(arguments.output));
  ALLOT_TRY(const PlannedTask task, loadPlannedTask(arguments));
  ALLOT_TRY(Evaluation evaluation, valued(task, displayName(arguments.inputs.back())));
  Plan& plan = evaluation.plan;
  if (!arguments.noise.empty()) {
    auto share = parseShare(arguments.noise);
    if (!share) return usageError("--noise", share.error().message, share.error().remedy);
    plan.noise =
        valueUnderNoise(task.problem, plan, *share, task.options.run.seed, usualSamples(task.problem));
  }
  if (arguments.json || !arguments.output.empty()) {
    const std::string document = withList(writePlan(task.problem, plan), "violations", evaluation.violations);
    if (!arguments.output.empty()) ALLOT_CHECK(writeFile(arguments.output, writePlan(task.problem, plan)));
    if (arguments.json && arguments.output != "-") ALLOT_CHECK(print(document));
  }
  if (arguments.json || arguments.quiet || arguments.output == "-") return kExitOk;
  std::string text = fmt::format("{}  {}\n", heading(fmt::format("{:<10}", name(task.problem.goal()))),
                                 valueText(task.problem.goal(), plan.value));
  if (evaluation.valid()) {
    text += fmt::format("bound       {} (gap {})\nvalid       yes\n", secondsText(plan.bound),
                        percentText(plan.gap()));
  } else {
    text += fmt::format("valid       no, {} violations\n", evaluation.violations.size());
    const std::size_t shown = arguments.verbose ? evaluation.violations.size()
                                                : std::min<std::size_t>(10, evaluation.violations.size());
    for (std::size_t i = 0; i < shown; ++i) text += fmt::format("  {}\n", evaluation.violations[i]);
    if (shown < evaluation.violations.size()) text += "  ... (-v shows all)\n";
  }
  text += noiseText(plan);
  ALLOT_CHECK(print(text + "\n" + deviceTable(task.problem, plan)));
  return kExitOk;
}

}  // namespace

int runCheck(const Arguments& arguments) {
  const auto code = checkPlan(arguments);
  return code ? *code : printError(code.error());
}

int runSimulate(const Arguments& arguments) {
  const auto code = simulate(arguments);
  return code ? *code : printError(code.error());
}

}  // namespace allot::cli
