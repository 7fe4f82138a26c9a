#include "solve/completion/less_idle.h"

#include <algorithm>
#include <cmath>

namespace allot {
namespace {

constexpr std::uint64_t kVisits = 1'000'000;  // ops and edges
constexpr std::uint64_t kMovesByOp = 200;

}  // namespace

void lessenIdleOf(const Problem& problem, const Budget& budget, Progress& progress, const WalkLimit* limit) {
  const Plan* best = progress.bestPlan();
  if (problem.goal() != Goal::kCompletion || best == nullptr || budget.stopped()) return;
  if (problem.modes.memory != MemoryModel::kStatic || best->start.size() != problem.opCount()) return;
  const std::size_t size = problem.opCount() + problem.graph.tensor_consumers.items.size();
  const std::uint64_t moves = std::min<std::uint64_t>(kMovesByOp * problem.opCount(), kVisits / (size + 1));
  WalkResult found = lessenIdle(problem, *best, moves, budget, limit);
  if (!std::isfinite(found.value)) return;
  const std::string solver = best->solver;
  progress.plan(std::move(found.decisions), solver);
}

}  // namespace allot
