#include "solve/latency/schedule_bound.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>

#include "solve/latency/bound_parts.h"
#include "solve/latency/device_paths.h"

namespace allot {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Taken off every bound: sums are taken in another order than a plan's.
constexpr double kRounding = 2e-11;
// The chain with the best bound gets this many times the nodes of another.
constexpr double kBestWeight = 8;
constexpr std::string_view kName = "schedule-bound";
constexpr std::size_t kMaxWhole = 1500;  // ops that are tried as one part

double pathBound(const ScheduleModel& model, const Budget& budget) {
  const std::vector<double> head = deviceHeads(model, budget), tail = deviceTails(model, budget);
  double longest = 0;
  for (std::size_t op = 0; op < model.opCount(); ++op) {
    double least = kInfinity;
    for (std::size_t d = 0; d < model.devices; ++d) {
      const std::size_t at = op * model.devices + d;
      if (model.runs(op, d)) least = std::min(least, head[at] + model.seconds[at] + tail[at]);
    }
    longest = std::max(longest, least);
  }
  return longest;
}

}  // namespace

ScheduleBoundReport scheduleBound(const ScheduleModel& model, const Budget& budget, Progress& progress) {
  ScheduleBoundReport report;
  const auto better = [&](double bound) {
    bound *= 1 - kRounding;
    if (!(bound > report.bound) || bound == kInfinity) return;
    report.bound = bound;
    progress.bound(bound, kName);
  };
  better(pathBound(model, budget));
  if (model.devices > BoundModule::kMaxDevices || model.opCount() == 0 || budget.stopped()) return report;

  const ChainFinder finder(model, budget);
  std::vector<BoundParts> ways;
  std::vector<std::vector<std::uint32_t>> known;
  const auto add = [&](const BoundChain& chain) {
    if (chain.ops.empty() || std::find(known.begin(), known.end(), chain.ops) != known.end()) return;
    known.push_back(chain.ops);
    ways.emplace_back(model, chain, budget);
    better(ways.back().bound());
  };
  add(finder.atBarriers());
  for (const double share : {0.45, 0.7, 1.0}) {
    if (budget.stopped()) return report;
    add(finder.find(share));
  }
  if (model.opCount() <= kMaxWhole && !budget.stopped()) ways.emplace_back(model, finder.whole(), budget);

  if (const Plan* plan = progress.bestPlan()) {
    const Schedule best = scheduleOf(model, *plan);
    for (BoundParts& way : ways) way.learn(best);
  }
  std::vector<bool> over(ways.size(), false);
  while (!budget.stopped() && !progress.done()) {
    std::size_t next = ways.size();
    double least = kInfinity;
    std::uint64_t nodes = 0;
    for (std::size_t w = 0; w < ways.size(); ++w) {
      nodes += ways[w].nodes();
      if (over[w]) continue;
      const bool best = ways[w].bound() * (1 - kRounding) >= report.bound;
      const double used = ways[w].work() / (best ? kBestWeight : 1);
      if (used >= least) continue;
      least = used;
      next = w;
    }
    report.nodes = nodes;
    if (next == ways.size() || (budget.work_limit > 0 && nodes >= budget.work_limit)) break;
    if (!ways[next].raise(progress.bestValue())) over[next] = true;
    if (ways[next].fresh()) {
      const Schedule schedule = ways[next].assemble(progress.bestValue());
      if (!schedule.device.empty()) progress.plan(planOf(model, schedule), kName);
    }
    if (ways[next].bound() == kInfinity) {
      report.impossible = true;
      break;
    }
    if (ways[next].bound() * (1 - kRounding) > report.bound) report.parts = ways[next].size();
    better(ways[next].bound());
  }
  report.proven = progress.done();
  return report;
}

bool scheduleBoundAccepts(const Problem& problem) {
  return problem.goal() == Goal::kLatency && problem.modes.model == LatencyModel::kEvents;
}

SolveResult solveScheduleBound(const Problem& problem, const Budget& budget, Progress& progress) {
  const ScheduleModel model(problem);
  const ScheduleBoundReport report = scheduleBound(model, budget, progress);
  if (report.impossible) return {SolveEnd::kExhausted, "nothing fits into memory, whatever the time"};
  return {budget.stopped() ? SolveEnd::kStopped : SolveEnd::kFinished,
          fmt::format("faster plans refuted in {} parts by {} nodes of search", report.parts, report.nodes)};
}

}  // namespace allot
