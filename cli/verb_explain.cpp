// allot explain: prints what src/report/explain found.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "allot/evaluate.h"
#include "base/json_writer.h"
#include "base/units.h"
#include "common.h"
#include "report/explain.h"
#include "report/layer_names.h"
#include "search.h"
#include "summary.h"

namespace allot::cli {
namespace {

std::string_view kindName(PathStep::Kind kind) {
  switch (kind) {
    case PathStep::Kind::kOp:
      return "op";
    case PathStep::Kind::kTransfer:
      return "transfer";
    case PathStep::Kind::kLaunch:
      return "launch";
    case PathStep::Kind::kWait:
      return "wait";
  }
  return "?";
}

class Printer {
 public:
  Printer(const Problem& problem, const Plan& plan, const Explanation& explanation, bool verbose)
      : problem_(problem), plan_(plan), what_(explanation), verbose_(verbose) {}

  std::string text() {
    text_ = fmt::format("{}  {}\n", heading(fmt::format("{:<10}", name(problem_.goal()))),
                        valueText(problem_.goal(), what_.value));
    text_ += timesText(problem_.costs) + "\n";
    layers();
    bottleneck();
    if (!what_.path.empty()) path();
    if (!what_.slack.empty()) slack();
    memory();
    for (const std::string& line : what_.excluded) text_ += fmt::format("  {}\n", line);
    for (const OpExplanation& op : what_.ops) elsewhere(op);
    whatIfs();
    return std::move(text_);
  }

  std::string json() const {
    JsonWriter out(3);
    out.beginObject()
        .field("goal", name(problem_.goal()))
        .field("value", what_.value)
        .field("costs", problem_.costs);
    const DeviceUse& use = plan_.devices[what_.bottleneck.index()];
    out.key("bottleneck")
        .beginObject()
        .field("device", device(what_.bottleneck))
        .field("load", use.load_seconds);
    out.field("compute", use.compute_seconds)
        .field("communication", use.communication_seconds)
        .key("ops")
        .beginArray();
    for (const OpCost& cost : what_.heaviest)
      out.beginObject().field("op", op(cost.op)).field("time", cost.seconds).endObject();
    out.endArray().key("cut_tensors").beginArray();
    for (const CutPayment& cut : what_.cuts) {
      out.beginObject()
          .field("producer", op(problem_.graph.producer(cut.tensor)))
          .field("direction", cut.sends ? "send" : "receive");
      out.field("peer", peer(cut)).field("time", cut.seconds).endObject();
    }
    out.endArray().endObject().key("critical_path").beginArray();
    for (const PathStep& step : what_.path) {
      out.beginObject().field("kind", kindName(step.kind));
      if (step.op.valid()) out.field("op", op(step.op));
      out.field("device", device(step.device));
      if (step.kind == PathStep::Kind::kTransfer) out.field("to", device(step.to));
      out.field("start", step.start).field("end", step.end).endObject();
    }
    out.endArray().key("layers").beginArray();
    for (const LayerLine& line : layerLines(problem_, plan_.assignment)) {
      out.beginObject()
          .field("layers", line.layers)
          .field("device", device(line.device))
          .field("ops", static_cast<std::uint64_t>(line.ops))
          .field("time", line.seconds)
          .endObject();
    }
    out.endArray();
    if (!what_.slack.empty()) out.key("slack").beginObject();
    for (std::size_t i = 0; i < what_.slack.size(); ++i) out.field(op(OpId(i)), what_.slack[i]);
    if (!what_.slack.empty()) out.endObject();
    out.key("memory").beginArray();
    for (const MemoryFullness& full : what_.memory) {
      out.beginObject()
          .field("device", device(full.device))
          .field("used", full.used)
          .field("limit", full.limit);
      out.field("binds", full.binds).endObject();
    }
    out.endArray().key("copies").beginArray();
    for (const WeightCopies& block : what_.copies) {
      out.beginObject().field("block", block.name).field("bytes", block.bytes).key("devices").beginArray();
      for (const DeviceId d : block.devices) out.value(device(d));
      out.endArray().endObject();
    }
    out.endArray().key("excluded").beginArray();
    for (const std::string& line : what_.excluded) out.value(line);
    out.endArray().key("ops").beginArray();
    for (const OpExplanation& item : what_.ops) {
      out.beginObject()
          .field("op", op(item.op))
          .field("unit_size", static_cast<std::uint64_t>(item.unit_size))
          .field("slack", item.slack)
          .key("devices")
          .beginArray();
      for (const Elsewhere& there : item.devices) {
        out.beginObject()
            .field("device", device(there.device))
            .field("here", there.here)
            .field("time", there.unit_seconds);
        out.field("value", there.value).field("obstacle", there.obstacle).endObject();
      }
      out.endArray().endObject();
    }
    out.endArray().key("what_if").beginArray();
    for (const WhatIf& what : what_.what_ifs) {
      out.beginObject().field("change", what.change).field("same_plan", what.same_plan);
      if (what.replanned) out.field("value", what.value).field("bound", what.bound);
      out.endObject();
    }
    out.endArray().endObject();
    return out.take();
  }

 private:
  const Problem& problem_;
  const Plan& plan_;
  const Explanation& what_;
  bool verbose_;
  std::string text_;

  const std::string& op(OpId id) const { return problem_.graph.op_name[id.index()]; }
  const std::string& device(DeviceId id) const { return problem_.cluster.devices[id.index()].name; }
  std::string peer(const CutPayment& cut) const { return cut.peer.valid() ? device(cut.peer) : "host"; }

  void layers() {
    const std::vector<LayerLine> lines = layerLines(problem_, plan_.assignment);
    std::vector<std::vector<std::string>> rows{{"layers", "device", "ops", "time"}};
    const std::size_t shown = verbose_ ? lines.size() : std::min<std::size_t>(24, lines.size());
    for (std::size_t i = 0; i < shown; ++i)
      rows.push_back({lines[i].layers, device(lines[i].device), fmt::format("{}", lines[i].ops),
                      secondsText(lines[i].seconds)});
    text_ += tableText(rows);
    if (shown < lines.size()) text_ += fmt::format("  (-v shows {} more)\n", lines.size() - shown);
    text_ += "\n";
  }

  void bottleneck() {
    const DeviceUse& use = plan_.devices[what_.bottleneck.index()];
    text_ += fmt::format("{}: {}, load {} = compute {}, communication {}\n", heading("Busiest device"),
                         device(what_.bottleneck), secondsText(use.load_seconds),
                         secondsText(use.compute_seconds), secondsText(use.communication_seconds));
    text_ +=
        problem_.goal() == Goal::kThroughput ? "  heaviest ops:" : "  heaviest ops on the critical path:";
    for (const OpCost& cost : what_.heaviest)
      text_ += fmt::format(" {} {};", op(cost.op), secondsText(cost.seconds));
    text_.back() = '\n';
    const std::size_t shown = verbose_ ? what_.cuts.size() : std::min<std::size_t>(5, what_.cuts.size());
    for (std::size_t i = 0; i < shown; ++i) {
      const CutPayment& cut = what_.cuts[i];
      text_ += fmt::format("  {} output of {} {} {}: {}\n", cut.sends ? "sends" : "receives",
                           op(problem_.graph.producer(cut.tensor)), cut.sends ? "to" : "from", peer(cut),
                           secondsText(cut.seconds));
    }
    if (shown < what_.cuts.size())
      text_ += fmt::format("  and {} more cut tensors (-v)\n", what_.cuts.size() - shown);
  }

  void path() {
    double total[4] = {};
    std::vector<std::vector<std::string>> rows{{"critical path", "what", "where", "from", "to"}};
    for (const PathStep& step : what_.path) {
      total[static_cast<std::size_t>(step.kind)] += step.end - step.start;
      const bool transfer = step.kind == PathStep::Kind::kTransfer;
      rows.push_back(
          {step.op.valid() ? op(step.op) : "", std::string(kindName(step.kind)),
           transfer ? fmt::format("{} -> {}", device(step.device), device(step.to)) : device(step.device),
           secondsText(step.start), secondsText(step.end)});
    }
    text_ += fmt::format("\n{}: ops {}, transfers {}, launches {}, waiting {}\n", heading("Critical path"),
                         secondsText(total[0]), secondsText(total[1]), secondsText(total[2]),
                         secondsText(total[3]));
    constexpr std::size_t kShown = 40;
    if (!verbose_ && rows.size() > kShown) {
      const std::size_t left_out = rows.size() - kShown;
      rows.erase(rows.begin() + 1, rows.begin() + 1 + static_cast<std::ptrdiff_t>(left_out));
      text_ += fmt::format("  (the last {} steps; -v shows {} more)\n", kShown - 1, left_out);
    }
    text_ += tableText(rows);
  }

  // Ops that may be late; all of them with -v, else those that may be least.
  void slack() {
    std::vector<std::size_t> late;
    for (std::size_t i = 0; i < what_.slack.size(); ++i) {
      if (what_.slack[i] > 1e-9 * what_.value) late.push_back(i);
    }
    std::stable_sort(late.begin(), late.end(),
                     [&](std::size_t a, std::size_t b) { return what_.slack[a] < what_.slack[b]; });
    text_ += fmt::format("\n{}: {} of {} ops cannot end later without delaying the result\n",
                         heading("Slack"), what_.slack.size() - late.size(), what_.slack.size());
    std::vector<std::vector<std::string>> rows{{"could be late", "where", "by"}};
    const std::size_t shown = verbose_ ? late.size() : std::min<std::size_t>(5, late.size());
    for (std::size_t i = 0; i < shown; ++i)
      rows.push_back(
          {op(OpId(late[i])), device(plan_.assignment[late[i]]), secondsText(what_.slack[late[i]])});
    if (shown > 0) text_ += tableText(rows);
    if (shown < late.size()) text_ += fmt::format("  (-v shows {} more)\n", late.size() - shown);
  }

  void memory() {
    std::vector<std::vector<std::string>> rows{{"memory", "used", "of", "full", ""}};
    for (const MemoryFullness& full : what_.memory) {
      const bool limited = std::isfinite(full.limit);
      rows.push_back({device(full.device), bytesText(full.used),
                      limited ? bytesText(full.limit) : "unlimited",
                      limited && full.limit > 0 ? percentText(full.used / full.limit) : "-",
                      full.binds ? "binds: nothing more fits" : ""});
    }
    text_ += "\n" + tableText(rows) + heldText();
    copies();
  }

  // Weights that several ops read lie wherever one of them runs.
  void copies() {
    if (what_.copies.empty()) return;
    const bool kept_equal = problem_.goal() == Goal::kThroughput && problem_.hasTraining();
    std::vector<std::vector<std::string>> rows{
        {kept_equal ? "weights kept equal after each step" : "weights on several devices", "bytes", "where"}};
    const std::size_t shown = verbose_ ? what_.copies.size() : std::min<std::size_t>(5, what_.copies.size());
    for (std::size_t i = 0; i < shown; ++i) {
      const WeightCopies& block = what_.copies[i];
      std::string where;
      for (const DeviceId d : block.devices) where += (where.empty() ? "" : ", ") + device(d);
      rows.push_back({block.name, bytesText(static_cast<double>(block.bytes)), std::move(where)});
    }
    text_ += "\n" + tableText(rows);
    if (shown < what_.copies.size())
      text_ += fmt::format("  (-v shows {} more)\n", what_.copies.size() - shown);
  }

  // What the figures of the table above are made of.
  std::string heldText() const {
    const Modes& modes = problem_.modes;
    std::string text = "  (used: weights";
    if (modes.optimizer_factor != 1) text += fmt::format(" x {:g}", modes.optimizer_factor);
    text += ", memory and activations of the ops there";
    if (!problem_.graph.block_bytes.empty()) text += ", weights that several ops read once";
    if (problem_.liveMemory()) text += ", and at their largest the workspace and the tensors alive";
    if (problem_.goal() == Goal::kThroughput && modes.in_flight)
      text += ", and what samples in flight keep for their backward ops";
    return text + ")\n";
  }

  void elsewhere(const OpExplanation& item) {
    std::vector<std::vector<std::string>> rows{{op(item.op), "its time", "value then", "change", ""}};
    for (const Elsewhere& there : item.devices) {
      const bool known = std::isfinite(there.value);
      const double change = known && what_.value > 0 ? there.value / what_.value - 1 : 0;
      std::string remark = there.here               ? "is here"
                           : there.obstacle.empty() ? ""
                                                    : "not valid: " + there.obstacle;
      rows.push_back({device(there.device),
                      std::isfinite(there.unit_seconds) ? secondsText(there.unit_seconds) : "-",
                      known ? secondsText(there.value) : "-",
                      known ? fmt::format("{:+.3g}%", 100 * change) : "-", std::move(remark)});
    }
    text_ += "\n" + tableText(rows);
    if (item.unit_size > 1)
      text_ += fmt::format("  ({} ops must stay together; times are of all of them)\n", item.unit_size);
  }

  void whatIfs() {
    std::vector<std::vector<std::string>> rows{{"what if", "this plan", "new plan", "gain", "bound"}};
    for (const WhatIf& what : what_.what_ifs) {
      const double best = what.replanned ? std::min(what.value, what.same_plan) : what.same_plan;
      rows.push_back(
          {what.change, secondsText(what.same_plan), what.replanned ? secondsText(what.value) : "-",
           best > 0 && (what.replanned || best != what_.value) ? fmt::format("{:.2f}x", what_.value / best)
                                                               : "-",
           what.replanned ? secondsText(what.bound) : "-"});
    }
    if (rows.size() > 1) text_ += "\n" + tableText(rows);
  }
};

Result<std::vector<OpId>> opsNamed(const Problem& problem, const std::string& wanted) {
  if (wanted.empty()) return std::vector<OpId>();
  std::vector<OpId> ops = opsOfLayer(problem.graph, wanted);
  if (ops.empty())
    return usageError("--op", fmt::format("there is no op or layer \"{}\"", wanted),
                      "give the name of an op, or its beginning up to a '.' or '/'");
  return ops;
}

// A layer may have hundreds of ops: those that take longest are worth a table each.
void keepLongest(const Problem& problem, const Plan& plan, std::vector<OpId>& ops) {
  constexpr std::size_t kShown = 8;
  if (ops.size() <= kShown) return;
  const auto seconds = [&](OpId op) { return problem.opSeconds(op, plan.assignment[op.index()]); };
  std::stable_sort(ops.begin(), ops.end(), [&](OpId a, OpId b) { return seconds(a) > seconds(b); });
  ops.resize(kShown);
}

Result<int> explainPlan(const Arguments& arguments) {
  ALLOT_TRY(const PlannedTask task, loadPlannedTask(arguments));
  const Problem& problem = task.problem;
  ALLOT_CHECK(requireComplete(problem, task.plan, displayName(arguments.inputs.back())));
  ExplainRequest request;
  ALLOT_TRY(request.ops, opsNamed(problem, arguments.op));
  const std::size_t asked = request.ops.size();
  if (!arguments.verbose && !arguments.json) keepLongest(problem, task.plan, request.ops);
  const RunOptions& run = task.options.run;
  // A limit of the user's own is shared among the new plans.
  if (run.time_limit_seconds != RunOptions().time_limit_seconds) {
    request.what_if_seconds =
        run.time_limit_seconds / static_cast<double>(2 * problem.cluster.classCount() + 1);
  }
  request.threads = run.threads;
  request.seed = run.seed;
  request.stop_flag = &catchStopSignals();
  const Evaluation evaluation = evaluate(problem, task.plan);
  for (const std::string& violation : evaluation.violations) {
    if (!arguments.quiet)
      note(fmt::format("allot: warning: {}: {}\n", displayName(arguments.inputs.back()), violation));
    if (!arguments.verbose) break;
  }
  const Explanation explanation = explain(problem, evaluation.plan, request);
  Printer printer(problem, evaluation.plan, explanation, arguments.verbose);
  std::string text = arguments.json ? printer.json() : printer.text();
  if (request.ops.size() < asked)
    text += fmt::format("\n  (the {} longest of {} ops of {}; -v shows all)\n", request.ops.size(), asked,
                        arguments.op);
  ALLOT_CHECK(print(text));
  return kExitOk;
}

}  // namespace

int runExplain(const Arguments& arguments) {
  const auto code = explainPlan(arguments);
  return code ? *code : printError(code.error());
}

}  // namespace allot::cli
