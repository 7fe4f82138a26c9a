// allot simulate: what a plan is worth and what it violates, or what happens when models arrive over time.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "allot/check.h"
#include "allot/evaluate.h"
#include "allot/online.h"
#include "allot/solve.h"
#include "base/file_io.h"
#include "base/json_writer.h"
#include "base/units.h"
#include "common.h"
#include "evaluate/noise.h"
#include "summary.h"

namespace allot::cli {
namespace {

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

Result<int> simulatePlan(const Arguments& arguments) {
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
  text += timesText(task.problem.costs);
  text += noiseText(plan);
  ALLOT_CHECK(print(text + "\n" + deviceTable(task.problem, plan)));
  return kExitOk;
}

// What a replay amounts to.
struct ReplayFigures {
  std::size_t finished = 0, left = 0, open = 0, starts = 0, moves = 0, forced_moves = 0, repeats = 0;
  double value = 0, response = 0;  // weighted sums of completions, and of completions less arrivals
  double moved_bytes = 0;
  double median_replan = 0, p99_replan = 0, longest_replan = 0;  // seconds
  std::vector<double> busy;                                      // seconds by device
  double end = 0;
};

ReplayFigures figuresOf(const Problem& problem, const OnlineEngine& engine, const Replay& replay) {
  ReplayFigures figures;
  figures.value = engine.value();
  figures.busy.assign(problem.deviceCount(), 0);
  for (std::size_t j = 0; j < engine.jobCount(); ++j) {
    const JobReport job = engine.job(JobId(j));
    if (job.left)
      ++figures.left;
    else if (std::isnan(job.completion))
      ++figures.open;
    else {
      ++figures.finished;
      figures.response += job.weight * (job.completion - job.arrival);
    }
  }
  for (const Decision& decision : replay.decisions) {
    if (decision.kind == DecisionKind::kStart) ++figures.starts;
    if (decision.kind == DecisionKind::kRepeat) ++figures.repeats;
    if (decision.kind != DecisionKind::kEnd) continue;
    figures.busy[decision.device.index()] += decision.end - decision.start;
    figures.end = std::max(figures.end, decision.end);
  }
  std::vector<double> seconds;
  for (const ReplanReport& report : engine.replans()) {
    figures.moves += report.moves;
    figures.forced_moves += report.forced_moves;
    figures.moved_bytes += report.moved_bytes;
    seconds.push_back(report.seconds);
  }
  std::sort(seconds.begin(), seconds.end());
  if (!seconds.empty()) {
    figures.median_replan = seconds[seconds.size() / 2];
    figures.p99_replan = seconds[seconds.size() * 99 / 100];
    figures.longest_replan = seconds.back();
  }
  return figures;
}

std::string replayJson(const Problem& problem, const OnlineEngine& engine, const Replay& replay,
                       const ReplayFigures& figures) {
  JsonWriter out;
  out.beginObject().field("value", figures.value).field("response", figures.response);
  out.field("costs", problem.costs);
  out.key("jobs").beginArray();
  for (std::size_t j = 0; j < engine.jobCount(); ++j) {
    const JobReport job = engine.job(JobId(j));
    out.beginObject().field("name", job.name).field("model", problem.graph.model_name[job.model.index()]);
    out.field("weight", job.weight).field("arrival", job.arrival).field("completion", job.completion);
    out.field("status", job.left ? "left" : std::isnan(job.completion) ? "open" : "finished");
    if (const std::string why = engine.waitsFor(JobId(j)); !why.empty()) out.field("waits_for", why);
    out.endObject();
  }
  out.endArray().key("devices").beginArray();
  for (std::size_t d = 0; d < figures.busy.size(); ++d) {
    out.beginObject()
        .field("name", problem.cluster.devices[d].name)
        .field("busy", figures.busy[d])
        .endObject();
  }
  out.endArray().field("end", figures.end).field("starts", static_cast<std::uint64_t>(figures.starts));
  out.field("moves", static_cast<std::uint64_t>(figures.moves));
  out.field("forced_moves", static_cast<std::uint64_t>(figures.forced_moves));
  out.field("moved_bytes", figures.moved_bytes).field("repeats", static_cast<std::uint64_t>(figures.repeats));
  out.key("replans").beginObject().field("count", static_cast<std::uint64_t>(engine.replans().size()));
  out.field("median_seconds", figures.median_replan).field("p99_seconds", figures.p99_replan);
  out.field("longest_seconds", figures.longest_replan).endObject();
  out.key("errors").beginArray();
  for (const Error& error : replay.errors) out.value(error.text());
  if (!replay.verified) out.value(replay.verified.error().text());
  out.endArray().endObject();
  return out.take();
}

std::string replayText(const Problem& problem, const OnlineEngine& engine, const ReplayFigures& figures) {
  std::string text = fmt::format("{}  {}\n", heading(fmt::format("{:<10}", "completion")),
                                 valueText(Goal::kCompletion, figures.value));
  text +=
      fmt::format("response    {} from arrival to completion, weighted sum\n", secondsText(figures.response));
  text += timesText(problem.costs);
  text += fmt::format("jobs        {} finished, {} left, {} not finished\n", figures.finished, figures.left,
                      figures.open);
  text += fmt::format("re-plans    {}: median {}, 99 of 100 within {}, longest {}\n", engine.replans().size(),
                      secondsText(figures.median_replan), secondsText(figures.p99_replan),
                      secondsText(figures.longest_replan));
  text += fmt::format("moved       {} ops by choice, {} that could not stay ({}); {} ran again\n\n",
                      figures.moves, figures.forced_moves, bytesText(figures.moved_bytes), figures.repeats);
  std::size_t shown = 0;
  for (std::size_t j = 0; j < engine.jobCount() && shown < 10; ++j) {
    const std::string why = engine.waitsFor(JobId(j));
    if (why.empty()) continue;
    text +=
        fmt::format("{}{}: {}\n", shown++ == 0 ? "not finished\n  " : "  ", engine.job(JobId(j)).name, why);
  }
  if (shown > 0) text += "\n";
  std::vector<std::vector<std::string>> rows{{"device", "class", "busy", "share"}};
  for (std::size_t d = 0; d < figures.busy.size(); ++d) {
    rows.push_back({problem.cluster.devices[d].name, problem.cluster.classOf(DeviceId(d)).name,
                    secondsText(figures.busy[d]),
                    percentText(figures.end > 0 ? figures.busy[d] / figures.end : 0)});
  }
  return text + tableText(rows);
}

Result<int> simulateEvents(const Arguments& arguments) {
  ALLOT_CHECK(checkWritable(arguments.output));
  Arguments completion = arguments;
  completion.options.insert(completion.options.begin(), {"goal", "completion"});
  ALLOT_TRY(Task task, loadTask(completion));
  const std::string file = displayName(arguments.events);
  ALLOT_TRY(const std::string text, readFile(arguments.events));
  ALLOT_TRY(EventLog log, readEvents(text, file, task.problem));
  const bool asked = std::any_of(arguments.options.begin(), arguments.options.end(),
                                 [](const auto& option) { return option.first == "memory"; });
  if (task.problem.liveMemory() && !asked) {
    printWarnings(arguments, file,
                  {"a replay counts resident bytes alone, what tensors need is not looked at"});
    Modes modes = task.problem.modes;
    modes.memory = MemoryModel::kStatic;
    ALLOT_CHECK(task.problem.setModes(modes));
  }
  log.options.max_moves = std::min(log.options.max_moves, task.options.run.max_moves);
  ALLOT_TRY(OnlineEngine engine, OnlineEngine::create(task.problem, log.options));
  const Replay result = replay(engine, log, file);
  const ReplayFigures figures = figuresOf(task.problem, engine, result);
  if (!arguments.output.empty()) {
    std::string lines;
    for (const Decision& decision : result.decisions) lines += decisionText(task.problem, engine, decision);
    ALLOT_CHECK(writeFile(arguments.output, lines));
  }
  if (arguments.output != "-" && (arguments.json || !arguments.quiet)) {
    ALLOT_CHECK(print(arguments.json ? replayJson(task.problem, engine, result, figures)
                                     : replayText(task.problem, engine, figures)));
  }
  for (const Error& error : result.errors) printError(error);
  if (!result.verified) return printError(result.verified.error());
  return result.errors.empty() ? kExitOk : kExitBadInput;
}

Result<int> simulate(const Arguments& arguments) {
  if (!arguments.events.empty() && !arguments.noise.empty())
    return usageError("--noise", "values a plan, and --events replays without one", "leave one of them out");
  if (!arguments.events.empty()) return simulateEvents(arguments);
  if (arguments.inputs.size() < 2)
    return usageError("PLAN", "there is a problem but no plan", "give the plan behind it, or --events FILE");
  return simulatePlan(arguments);
}

}  // namespace

int runSimulate(const Arguments& arguments) {
  const auto code = simulate(arguments);
  return code ? *code : printError(code.error());
}

}  // namespace allot::cli
