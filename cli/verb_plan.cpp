// allot plan: from a problem to a checked plan.
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <ctime>

#include "allot/moves.h"
#include "allot/solve.h"
#include "allot/table.h"
#include "base/file_io.h"
#include "base/json_writer.h"
#include "base/units.h"
#include "common.h"
#include "search.h"
#include "summary.h"

namespace allot::cli {
namespace {

std::atomic<bool> stop_flag{false};
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler sets it");

// A second Ctrl-C ends the program at once. One that comes with the first is the same: some programs signal a
// process and then its group.
constexpr double kSameSignalSeconds = 0.3;

extern "C" void onStopSignal(int signal) {
  static timespec first;
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  const double passed = static_cast<double>(now.tv_sec - first.tv_sec) +
                        1e-9 * static_cast<double>(now.tv_nsec - first.tv_nsec);
  if (stop_flag && passed > kSameSignalSeconds) {
    std::signal(signal, SIG_DFL);
    raise(signal);
    return;
  }
  if (!stop_flag) first = now;
  stop_flag = true;
}

// Shows the best value so far on one line of a terminal.
class ProgressPrinter {
 public:
  explicit ProgressPrinter(bool wanted) : wanted_(wanted) {}
  ~ProgressPrinter() {
    if (shown_) note("\r\033[K");
  }
  ProgressPrinter(const ProgressPrinter&) = delete;
  ProgressPrinter& operator=(const ProgressPrinter&) = delete;

  void show(const ProgressLine& line) {
    if (!wanted_) return;
    const bool any = std::isfinite(line.value);
    const double gap = any && line.value > 0 ? (line.value - line.bound) / line.value : 0;
    note(fmt::format("\r\033[K{:.1f} s  value {}  bound {}  gap {}  {}", line.seconds,
                     any ? secondsText(line.value) : "-", secondsText(line.bound),
                     any ? percentText(gap) : "-", line.solver));
    std::fflush(stderr);
    shown_ = true;
  }

 private:
  bool wanted_;
  bool shown_ = false;
};

// A plan is a plan whatever its gap; under `strict` it must have the gap that was asked for.
int exitCodeOf(const Plan& plan, double wanted_gap, bool strict) {
  switch (plan.status) {
    case Status::kOptimal:
      return kExitOk;
    case Status::kFeasible:
      return plan.gap() > wanted_gap && (strict || stop_flag) ? kExitCutShort : kExitOk;
    case Status::kInfeasible:
      return kExitInfeasible;
    case Status::kNoPlan:
      return kExitNoPlan;
    case Status::kBadInput:
      return kExitBadInput;
    case Status::kInternalError:
      return kExitInternal;
  }
  return kExitInternal;
}

void printFailure(const Arguments& arguments, const Problem& problem, const RunOptions& run,
                  const SolveOutcome& outcome) {
  const std::string file = displayName(arguments.inputs.front());
  if (outcome.plan.status == Status::kInfeasible) {
    for (const std::string& fact : outcome.conflict.facts) {
      printError({ErrorCode::kInfeasible, file, "infeasible", fact, ""});
    }
    if (outcome.conflict.facts.empty())
      printError({ErrorCode::kInfeasible, file, "infeasible", "every placement was ruled out", ""});
  } else {
    printError(noPlanError(file, problem, run, outcome.plan, stop_flag));
  }
}

std::string compositionJson(const CompositionTable& table) {
  JsonWriter out(0);
  out.beginObject().key("kinds").beginArray();
  for (const std::string& kind : table.kinds) out.value(kind);
  out.endArray().key("rows").beginArray();
  for (const CompositionRow& row : table.rows) {
    out.beginObject().key("devices").beginArray();
    for (const std::uint32_t count : row.counts) out.value(static_cast<std::uint64_t>(count));
    out.endArray().field("value", row.status == Status::kOptimal ? row.value : std::nan(""));
    out.field("bound", row.bound).field("status", name(row.status)).endObject();
  }
  out.endArray().endObject();
  return out.take();
}

std::string compositionText(const CompositionTable& table) {
  std::vector<std::vector<std::string>> cells(1, table.kinds);
  for (const char* title : {"value", "per second", "status"}) cells[0].emplace_back(title);
  for (const CompositionRow& row : table.rows) {
    auto& line = cells.emplace_back();
    for (const std::uint32_t count : row.counts) line.push_back(fmt::format("{}", count));
    const bool known = row.status == Status::kOptimal;
    line.push_back(known ? secondsText(row.value) : "-");
    line.push_back(known ? perSecondText(row.value) : "-");
    line.emplace_back(name(row.status));
  }
  return tableText(cells);
}

std::string movesJson(const Problem& problem, const Plan& start, const Plan& plan, std::uint32_t most,
                      const std::vector<MovePoint>& curve) {
  JsonWriter out(0);
  out.beginObject().field("most", static_cast<std::uint64_t>(most)).key("ops").beginArray();
  for (std::size_t i = 0; i < problem.opCount(); ++i) {
    if (start.assignment[i] == plan.assignment[i]) continue;
    out.beginObject().field("op", problem.graph.op_name[i]);
    out.field("from", problem.cluster.devices[start.assignment[i].index()].name);
    out.field("to", problem.cluster.devices[plan.assignment[i].index()].name).endObject();
  }
  out.endArray().key("curve").beginArray();
  for (const MovePoint& point : curve)
    out.beginArray().value(static_cast<std::uint64_t>(point.moves)).value(point.value).endArray();
  out.endArray().endObject();
  return out.take();
}

std::string movesText(const Plan& start, const Plan& plan, const std::vector<MovePoint>& curve) {
  std::vector<std::vector<std::string>> rows{{"moves", "value", "gain"}};
  const double first = curve.front().value;
  for (const MovePoint& point : curve) {
    const bool known = std::isfinite(point.value);
    rows.push_back({fmt::format("{}", point.moves), known ? secondsText(point.value) : "-",
                    known && std::isfinite(first) && first > 0 ? percentText(1 - point.value / first) : "-"});
  }
  return fmt::format("{} ops moved\n", countMoves(start.assignment, plan.assignment)) + tableText(rows);
}

// Whether reading may wait for somebody who writes: standard input, a pipe, a terminal.
bool mayWait(const Arguments& arguments) {
  std::vector<std::string> paths = arguments.inputs;
  for (const std::string& path : {arguments.cluster, arguments.config, arguments.start, arguments.times})
    paths.push_back(path);
  return std::any_of(paths.begin(), paths.end(), [](const std::string& path) {
    struct stat info {};
    return path == "-" || (stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode));
  });
}

Result<int> plan(const Arguments& arguments) {
  ALLOT_CHECK(checkWritable(arguments.output));
  // A large file takes its time; what waits for input should end at once by Ctrl-C.
  if (!mayWait(arguments)) catchStopSignals();
  ALLOT_TRY(Task task, loadTask(arguments));
  const Problem& problem = task.problem;
  RunOptions run = task.options.run;
  ALLOT_TRY(run.solver, solverFor(problem, run.solver));
  std::optional<Plan> start;
  if (!arguments.start.empty()) {
    ALLOT_TRY(start, loadPlan(arguments, arguments.start, problem));
    ALLOT_CHECK(requireComplete(problem, *start, displayName(arguments.start)));
    start->modes = problem.modes;
  }
  const bool limited = run.max_moves != RunOptions::kAnyMoves;
  if (limited && !start)
    return usageError("--max-moves", "counts from a start plan, but none is given", "add --start PLAN");
  if (arguments.table && !hasCompositionTable(problem))
    return usageError("--table", "only chains under via-host transfers have one",
                      "use --goal throughput --contiguity chain --transfers via-host");
  catchStopSignals();
  SolveOutcome outcome;
  std::vector<MovePoint> curve;
  {
    ProgressPrinter printer(progressWanted(arguments));
    const auto show = [&](const ProgressLine& line) { printer.show(line); };
    outcome = limited ? solveLimited(problem, run, &*start, &stop_flag, show, &curve)
                      : solve(problem, run, start ? &*start : nullptr, &stop_flag, show);
  }
  if (outcome.plan.status == Status::kInternalError || outcome.plan.status == Status::kBadInput) {
    const bool internal = outcome.plan.status == Status::kInternalError;
    return fail({internal ? ErrorCode::kInternal : ErrorCode::kBadInput,
                 displayName(arguments.inputs.front()), "", outcome.message,
                 internal ? "please report this with the input" : ""});
  }
  std::string document = writePlan(problem, outcome.plan);
  if (outcome.plan.status == Status::kInfeasible)
    document = withList(std::move(document), "conflict", outcome.conflict.facts);
  const bool good = outcome.plan.hasPlan();
  if (good && limited)
    document = withMember(std::move(document), "moves",
                          movesJson(problem, *start, outcome.plan, run.max_moves, curve));
  if (!good) printFailure(arguments, problem, run, outcome);
  if (good && !arguments.output.empty()) ALLOT_CHECK(writeFile(arguments.output, document));
  std::optional<CompositionTable> table;
  if (arguments.table) {
    auto made = compositionTable(problem, run, &stop_flag);
    if (!made && made.error().code == ErrorCode::kUsage) return fail(std::move(made).error());
    // The plan stands without it.
    if (made)
      table = std::move(*made);
    else
      printWarnings(arguments, displayName(arguments.inputs.front()), {"--table: " + made.error().message});
  }
  if (arguments.json && !(good && arguments.output == "-")) {
    ALLOT_CHECK(print(table ? withMember(std::move(document), "table", compositionJson(*table)) : document));
  } else if (good && !arguments.json && !arguments.quiet && arguments.output != "-") {
    ALLOT_CHECK(
        print(planSummary(problem, outcome.plan, stop_flag) + fmt::format("\nmethod: {}\n", outcome.method)));
    if (limited) ALLOT_CHECK(print("\n" + movesText(*start, outcome.plan, curve)));
    if (table) ALLOT_CHECK(print("\n" + compositionText(*table)));
  }
  const int code = exitCodeOf(outcome.plan, run.gap, arguments.strict);
  if (code == kExitCutShort && arguments.strict)
    printWarnings(arguments, displayName(arguments.inputs.front()),
                  {fmt::format("the gap is {}, above the {} asked for (--strict)",
                               percentText(outcome.plan.gap()), percentText(run.gap))});
  return code;
}

}  // namespace

const std::atomic<bool>& catchStopSignals() {
  struct sigaction action {};
  action.sa_handler = onStopSignal;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  return stop_flag;
}

Result<std::string> solverFor(const Problem& problem, const std::string& wanted) {
  if (wanted.empty() || wanted == kPortfolio) return std::string();
  const Solver* solver = findSolver(wanted);
  if (solver == nullptr) {
    std::string known(kPortfolio);
    for (const Solver& s : solvers()) known += fmt::format(", {}", s.name);
    return usageError("--solver", fmt::format("unknown solver \"{}\"", wanted), "use one of " + known);
  }
  if (!solver->accepts(problem)) {
    return usageError("--solver", fmt::format("\"{}\" does not take this problem", wanted),
                      "leave --solver out; allot compare lists the solvers that do");
  }
  return wanted;
}

int runPlan(const Arguments& arguments) {
  const auto code = plan(arguments);
  return code ? *code : printError(code.error());
}

}  // namespace allot::cli
