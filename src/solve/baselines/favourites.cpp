#include "solve/baselines/favourites.h"

#include <ClpEventHandler.hpp>
#include <ClpSimplex.hpp>
#include <algorithm>

#include "solve/baselines/ranks.h"

namespace allot::baseline {
namespace {

// Ends the simplex method when the budget does.
class StopHandler : public ClpEventHandler {
 public:
  explicit StopHandler(const Budget& budget) : budget_(budget) {}
  int event(Event what) override {
    const bool polls = what == endOfFactorization || (what == endOfIteration && ++count_ % 32 == 0);
    return polls && budget_.stopped() ? 0 : -1;
  }
  ClpEventHandler* clone() const override { return new StopHandler(*this); }

 private:
  const Budget& budget_;
  std::uint32_t count_ = 0;
};

struct Edge {
  std::uint32_t from, to;
  double seconds;
};

}  // namespace

std::optional<std::vector<OpId>> favouriteChildren(const Problem& problem, const Budget& budget) {
  const OpGraph& graph = problem.graph;
  const std::size_t n = problem.opCount();
  const std::vector<double> op = meanOpSeconds(problem), transfer = meanTransferSeconds(problem);
  std::vector<Edge> edges;
  std::vector<std::uint32_t> out(n, 0), in(n, 0);
  for (const OpId from : graph.topologicalOrder()) {
    for (const TensorId tensor : graph.outputs(from)) {
      for (const OpId to : graph.consumers(tensor)) {
        edges.push_back({from.value, to.value, transfer[tensor.index()]});
        ++out[from.index()];
        ++in[to.index()];
      }
    }
  }
  // Times in units of the largest, which keeps the program well scaled.
  double unit = 0;
  for (const double seconds : op) unit = std::max(unit, seconds);
  for (const Edge& edge : edges) unit = std::max(unit, edge.seconds);
  if (unit <= 0) return std::vector<OpId>(n);

  // Columns: starts, then edges, then w. Rows: one per edge, one per op without consumers, then the sums.
  const int columns = static_cast<int>(n + edges.size() + 1), w = columns - 1;
  const auto x = [&](std::size_t e) { return static_cast<int>(n + e); };
  CoinPackedMatrix matrix(false, 0, 0);
  matrix.setDimensions(0, columns);
  std::vector<double> low, high;
  const auto addRow = [&](const std::vector<int>& at, const std::vector<double>& value, double least) {
    matrix.appendRow(static_cast<int>(at.size()), at.data(), value.data());
    low.push_back(least);
    high.push_back(COIN_DBL_MAX);
  };
  for (std::size_t e = 0; e < edges.size(); ++e) {
    const Edge& edge = edges[e];
    addRow({static_cast<int>(edge.to), static_cast<int>(edge.from), x(e)}, {1, -1, -edge.seconds / unit},
           op[edge.from] / unit);
  }
  std::vector<std::vector<int>> leaving(n), entering(n);
  for (std::size_t e = 0; e < edges.size(); ++e) {
    leaving[edges[e].from].push_back(x(e));
    entering[edges[e].to].push_back(x(e));
  }
  for (std::size_t i = 0; i < n; ++i) {
    if (out[i] == 0) addRow({w, static_cast<int>(i)}, {1, -1}, op[i] / unit);
    for (const auto* side : {&leaving[i], &entering[i]}) {
      if (side->size() < 2) continue;
      addRow(*side, std::vector<double>(side->size(), 1), static_cast<double>(side->size()) - 1);
    }
  }
  std::vector<double> lower(static_cast<std::size_t>(columns), 0), upper(lower.size(), COIN_DBL_MAX);
  for (std::size_t e = 0; e < edges.size(); ++e) upper[n + e] = 1;
  std::vector<double> cost(lower.size(), 0);
  cost.back() = 1;
  ClpSimplex simplex;
  simplex.setLogLevel(0);
  simplex.loadProblem(matrix, lower.data(), upper.data(), cost.data(), low.data(), high.data());
  const StopHandler handler(budget);
  simplex.passInEventHandler(&handler);
  simplex.dual();
  if (!simplex.isProvenOptimal()) return std::nullopt;
  std::vector<OpId> favourite(n);
  const double* solution = simplex.primalColumnSolution();
  for (std::size_t e = 0; e < edges.size(); ++e) {
    if (solution[n + e] < 0.5) favourite[edges[e].from] = OpId(edges[e].to);
  }
  return favourite;
}

}  // namespace allot::baseline
