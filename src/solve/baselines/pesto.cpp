#include "solve/baselines/pesto.h"

#include <numeric>
#include <optional>

#include "solve/latency/coarse.h"
#include "solve/latency/coarse_problem.h"

namespace allot::baseline {

SolveResult pesto(const Problem& problem, const Budget& budget, Progress& progress) {
  const OpGraph& graph = problem.graph;
  std::vector<std::uint32_t> own(problem.opCount());
  std::iota(own.begin(), own.end(), 0u);
  std::vector<WeightedEdge> edges;
  for (std::size_t t = 0; t < graph.tensorCount(); ++t) {
    for (const OpId consumer : graph.tensor_consumers[t]) {
      edges.push_back(
          {graph.tensor_producer[t].value, consumer.value, static_cast<double>(graph.tensor_bytes[t])});
    }
  }
  PartJoiner joiner(problem, 1);
  joiner.begin(own);
  const std::vector<std::uint32_t> part = contractHeavyEdges(
      problem.opCount(), edges, kPestoParts, [&](std::uint32_t a, std::uint32_t b) { return joiner(a, b); },
      [&] { return budget.stopped(); });
  if (budget.stopped()) return {SolveEnd::kStopped, {}};
  const std::optional<Plan> plan = solveParts(problem, part, budget);
  if (plan) progress.plan(*plan, "pesto");
  return {budget.stopped() ? SolveEnd::kStopped : SolveEnd::kFinished, {}};
}

}  // namespace allot::baseline
