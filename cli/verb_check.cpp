// allot check: what a given plan is worth, and what is wrong with it.
#include <fmt/format.h>

#include <algorithm>

#include "allot/check.h"
#include "allot/prove.h"
#include "allot/solve.h"
#include "base/json_writer.h"
#include "base/units.h"
#include "common.h"
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
  const bool cut_short = arguments.strict || catchStopSignals();
  return again.proved || !cut_short ? kExitOk : kExitCutShort;
}

// With --start and --max-moves: how many ops the plan moves.
Result<void> addMoves(const Arguments& arguments, const PlannedTask& task, CheckReport& report) {
  const std::uint32_t most = task.options.run.max_moves;
  const bool limited = most != RunOptions::kAnyMoves;
  if (limited != !arguments.start.empty()) {
    return usageError(limited ? "--max-moves" : "--start",
                      "a check of moves needs both the limit and the start plan",
                      "give --start PLAN and --max-moves N, or neither");
  }
  if (!limited) return {};
  if (arguments.prove) {
    return usageError("--prove", "a plan of limited moves cannot be proved again",
                      "prove it without --max-moves and --start");
  }
  ALLOT_TRY(const Plan start, loadPlan(arguments, arguments.start, task.problem));
  ALLOT_CHECK(requireComplete(task.problem, start, displayName(arguments.start)));
  for (std::string& wrong : checkMoves(task.problem, task.plan, start.assignment, most))
    report.violations.push_back(std::move(wrong));
  return {};
}

Result<int> checkPlan(const Arguments& arguments) {
  if (arguments.strict && !arguments.prove)
    return usageError("--strict", "goes with --prove: without it a check searches nothing", "add --prove");
  ALLOT_TRY(const PlannedTask task, loadPlannedTask(arguments));
  CheckReport report = check(task.problem, task.plan);
  ALLOT_CHECK(addMoves(arguments, task, report));
  JsonWriter out;
  out.beginObject()
      .field("ok", report.ok())
      .field("value", report.value)
      .field("costs", task.problem.costs)
      .key("violations")
      .beginArray();
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
    note(fmt::format("{}: and {} more; -v shows them\n", file, report.violations.size() - 1));
  }
  return kExitMismatch;
}

}  // namespace

int runCheck(const Arguments& arguments) {
  const auto code = checkPlan(arguments);
  return code ? *code : printError(code.error());
}

}  // namespace allot::cli
