// Annealing of subgraph-calls plans: units move between devices, each accelerator's ops are cut into calls by
// level.
#include <algorithm>
#include <limits>

#include "evaluate/calls.h"
#include "solve/local_search/local_search.h"

namespace allot {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double valueOf(const Problem& problem, const std::vector<DeviceId>& assignment) {
  const std::vector<PlanStage> calls = callsByLevel(problem, assignment);
  std::vector<std::uint32_t> count(problem.deviceCount(), 0);
  for (const PlanStage& call : calls) {
    if (++count[call.devices.front().index()] > problem.modes.calls) return kInfinity;
  }
  const CallTimes times = evaluateCalls(problem, assignment, calls);
  return times.cyclic ? kInfinity : *std::max_element(times.end.begin(), times.end.end());
}

}  // namespace

ChainResult annealCalls(const Problem& problem, const Budget& budget, const Plan& start,
                        std::uint64_t chain) {
  const OpGraph& graph = problem.graph;
  std::vector<DeviceId> assignment = start.assignment;
  double current = valueOf(problem, assignment);
  if (current == kInfinity) return {kInfinity, {}};
  std::vector<double> used(problem.deviceCount(), 0), size(problem.unitCount(), 0);
  for (std::size_t i = 0; i < problem.opCount(); ++i) {
    used[assignment[i].index()] += problem.residentBytes(OpId(i));
    size[problem.unit(OpId(i)).index()] += problem.residentBytes(OpId(i));
  }
  const double visits = static_cast<double>(problem.opCount() * (problem.deviceCount() + 4));
  const auto moves = static_cast<std::uint64_t>(std::clamp(4e7 / visits, 500.0, 50'000.0));
  Annealing annealing(budget, chain, moves, current, visits * 10);
  double best = current;
  std::vector<DeviceId> kept;
  const auto assign = [&](UnitId unit, DeviceId to) {
    for (const OpId op : problem.unitOps(unit)) {
      used[assignment[op.index()].index()] -= problem.residentBytes(op);
      used[to.index()] += problem.residentBytes(op);
      assignment[op.index()] = to;
    }
  };
  while (annealing.next()) {
    Random& random = annealing.random();
    const OpId op(random.below(static_cast<std::uint32_t>(problem.opCount())));
    DeviceId to(random.below(static_cast<std::uint32_t>(problem.deviceCount())));
    const auto inputs = graph.inputs(op);
    if (!inputs.empty() && random.below(2) == 0) {
      to =
          assignment[graph.producer(inputs[random.below(static_cast<std::uint32_t>(inputs.size()))]).index()];
    }
    const UnitId unit = problem.unit(op);
    const DeviceId from = assignment[op.index()];
    if (from == to || !problem.allowed(unit, to)) continue;
    if (used[to.index()] + size[unit.index()] > problem.memoryLimit(to)) continue;
    assign(unit, to);
    const double candidate = valueOf(problem, assignment);
    if (candidate == kInfinity || !annealing.accept(candidate - current)) {
      assign(unit, from);
      continue;
    }
    current = candidate;
    if (current < best * (1 - 1e-10)) {
      best = current;
      kept = assignment;
    }
  }
  if (kept.empty()) return {kInfinity, {}};
  Plan plan;
  plan.modes = problem.modes;
  plan.assignment = std::move(kept);
  return {best, std::move(plan)};
}

}  // namespace allot
