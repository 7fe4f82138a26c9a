#include "solve/latency/coarse.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>

#include "base/union_find.h"
#include "base/units.h"
#include "graph/fusion.h"
#include "problem/calls_model.h"
#include "solve/collector.h"
#include "solve/latency/coarse_problem.h"
#include "solve/local_search/local_search.h"

namespace allot {
namespace {

constexpr std::string_view kName = "coarse";
constexpr double kMostShare = 0.25;    // of a device's memory in one part
constexpr double kShareOfParts = 0.4;  // of the time
constexpr std::size_t kMostOps = 200'000;
constexpr std::string_view kListSchedulers[] = {"single", "heft", "min-eft", "cpop",
                                                "peft",   "etf",  "m-etf",   "heft-lookahead"};

// Parts of parts: what `inner` (by op) becomes when its parts are joined by `outer`.
void compose(std::vector<std::uint32_t>& inner, const std::vector<std::uint32_t>& outer) {
  for (std::uint32_t& part : inner) part = outer[part];
}

std::size_t countOf(const std::vector<std::uint32_t>& part) {
  return part.empty() ? 0 : 1 + *std::max_element(part.begin(), part.end());
}

}  // namespace

bool coarseAccepts(const Problem& problem) {
  return problem.goal() == Goal::kLatency && !isCallsModel(problem) && problem.opCount() > kCoarseParts / 4 &&
         problem.opCount() <= kMostOps;
}

std::vector<std::uint32_t> coarsen(const Problem& problem, std::size_t target, const Budget& budget) {
  const std::size_t n = problem.opCount();
  UnionFind fused(n);
  for (const FusedGroup& group : findFusedGroups(problem.graph, fusionRules(problem.modes.fuse))) {
    for (const OpId op : group.ops) fused.join(group.ops.front().value, op.value);
  }
  std::vector<std::uint32_t> part(n);
  std::uint32_t count = 0;
  for (std::uint32_t i = 0; i < n; ++i) {
    const std::uint32_t root = fused.find(i);
    part[i] = root == i ? count++ : part[root];
  }
  PartJoiner joiner(problem, kMostShare);
  const auto join = [&](std::uint32_t a, std::uint32_t b) { return joiner(a, b); };
  joiner.begin(part);
  compose(part, contractChains(countOf(part), transferEdges(problem, part), join));
  joiner.begin(part);
  compose(part, contractHeavyEdges(countOf(part), transferEdges(problem, part), target, join,
                                   [&] { return budget.stopped(); }));
  return part;
}

std::optional<Plan> solveParts(const Problem& problem, const std::vector<std::uint32_t>& part,
                               const Budget& budget) {
  const std::optional<CoarseProblem> coarse = makeCoarse(problem, part);
  if (!coarse) return std::nullopt;
  Collector found(coarse->problem, budget, {});
  for (const std::string_view name : kListSchedulers) {
    const Solver* solver = findSolver(name);
    if (solver != nullptr && solver->accepts(coarse->problem) && !budget.stopped())
      solver->solve(coarse->problem, budget, found);
  }
  if (!budget.stopped()) solveLocalSearch(coarse->problem, budget, found);
  if (found.bestPlan() == nullptr) return std::nullopt;
  return expandPlan(problem, *coarse, *found.bestPlan());
}

SolveResult solveCoarse(const Problem& problem, const Budget& budget, Progress& progress) {
  const std::vector<std::uint32_t> part = coarsen(problem, kCoarseParts, budget);
  if (budget.stopped()) return {SolveEnd::kStopped, ""};
  const Budget first = budget.slice(budget.remainingSeconds() * kShareOfParts);
  const std::optional<Plan> rough = solveParts(problem, part, first);
  if (!rough) return {budget.stopped() ? SolveEnd::kStopped : SolveEnd::kFinished, ""};
  Collector fine(problem, budget, {});
  const std::string label = fmt::format("{} ({} ops in {} parts", kName, problem.opCount(), countOf(part));
  fine.plan(*rough, kName);
  progress.plan(*rough, label + ")");
  if (fine.bestPlan() == nullptr) return {SolveEnd::kFinished, ""};
  const double before = fine.bestValue();
  if (!budget.stopped()) solveLocalSearch(problem, budget, fine);
  progress.plan(*fine.bestPlan(), fmt::format("{}: {}, refined: {})", label, secondsText(before),
                                              secondsText(fine.bestValue())));
  return {budget.stopped() ? SolveEnd::kStopped : SolveEnd::kFinished, ""};
}

}  // namespace allot
