#include "solve/local_search/ordered_plan.h"

namespace allot {

std::vector<OpId> orderOfStarts(const Problem& problem, const Plan& plan) {
  const OpGraph& graph = problem.graph;
  std::vector<OpId> order(graph.topologicalOrder().begin(), graph.topologicalOrder().end());
  std::vector<std::pair<double, std::uint32_t>> key(order.size());
  for (const OpId op : order) {
    key[op.index()] = {plan.start[op.index()], 0};
    for (const TensorId tensor : graph.inputs(op)) {
      const auto& before = key[graph.producer(tensor).index()];
      key[op.index()] = std::max(key[op.index()], {before.first, before.second + 1});
    }
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](OpId a, OpId b) { return key[a.index()] < key[b.index()]; });
  return order;
}

}  // namespace allot
