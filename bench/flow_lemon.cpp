// LEMON as the peer of the flow benchmark. In a file of its own because LEMON 1.3 is C++17 at most.
#include <lemon/cost_scaling.h>
#include <lemon/network_simplex.h>
#include <lemon/smart_graph.h>

#include <algorithm>

#include "flow_networks.h"

namespace allot::bench {
namespace {

template <class Solver>
Timed runLemon(const FlowInstance& instance) {
  lemon::SmartDigraph graph;
  graph.reserveNode(static_cast<int>(instance.supply.size()));
  graph.reserveArc(static_cast<int>(instance.arcs.size()));
  for (std::size_t i = 0; i < instance.supply.size(); ++i) graph.addNode();
  lemon::SmartDigraph::NodeMap<std::int64_t> supply(graph);
  lemon::SmartDigraph::ArcMap<std::int64_t> capacity(graph), cost(graph);
  // LEMON's cost scaling takes no unlimited arcs; no arc can carry more than all supply.
  std::int64_t all = 0;
  for (std::size_t i = 0; i < instance.supply.size(); ++i) {
    supply[graph.nodeFromId(static_cast<int>(i))] = instance.supply[i];
    all += std::max<std::int64_t>(0, instance.supply[i]);
  }
  for (const auto& arc : instance.arcs) {
    const auto added = graph.addArc(graph.nodeFromId(static_cast<int>(arc.from)),
                                    graph.nodeFromId(static_cast<int>(arc.to)));
    capacity[added] = std::min(arc.capacity, all);
    cost[added] = arc.cost;
  }
  const double start = cpuSeconds();
  Solver solver(graph);
  solver.supplyMap(supply).upperMap(capacity).costMap(cost);
  const auto result = solver.run();
  Timed timed{cpuSeconds() - start, 0};
  timed.cost = result == Solver::OPTIMAL ? solver.template totalCost<std::int64_t>() : INT64_MIN;
  return timed;
}

using Simplex = lemon::NetworkSimplex<lemon::SmartDigraph, std::int64_t, std::int64_t>;
using Scaling = lemon::CostScaling<lemon::SmartDigraph, std::int64_t, std::int64_t>;

}  // namespace

Timed lemonNetworkSimplex(const FlowInstance& instance) {
  return runLemon<Simplex>(instance);
}

Timed lemonCostScaling(const FlowInstance& instance) {
  return runLemon<Scaling>(instance);
}

}  // namespace allot::bench
