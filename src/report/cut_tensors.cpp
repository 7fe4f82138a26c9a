#include "report/cut_tensors.h"

#include <algorithm>

namespace allot {

std::vector<CutPayment> cutPayments(const Problem& problem, const std::vector<DeviceId>& assignment) {
  const OpGraph& graph = problem.graph;
  const bool via_host = problem.transfers() == Transfers::kViaHost;
  std::vector<CutPayment> payments;
  std::vector<DeviceId> targets;
  for (std::size_t t = 0; t < problem.firstOrderTensor(); ++t) {
    const TensorId tensor(t);
    const DeviceId from = assignment[graph.producer(tensor).index()];
    targets.clear();
    for (const OpId consumer : graph.consumers(tensor)) {
      const DeviceId to = assignment[consumer.index()];
      if (to != from && std::find(targets.begin(), targets.end(), to) == targets.end()) targets.push_back(to);
    }
    if (targets.empty()) continue;
    std::sort(targets.begin(), targets.end());
    if (via_host) {
      if (problem.cluster.isAccelerator(from))
        payments.push_back({tensor, from, {}, true, problem.toHostSeconds(tensor, from)});
      for (const DeviceId to : targets) {
        if (problem.cluster.isAccelerator(to))
          payments.push_back({tensor, to, {}, false, problem.fromHostSeconds(tensor, to)});
      }
      continue;
    }
    for (const DeviceId to : targets) {
      const double seconds = problem.transferSeconds(tensor, from, to);
      payments.push_back({tensor, from, to, true, seconds});
      payments.push_back({tensor, to, from, false, seconds});
    }
  }
  return payments;
}

}  // namespace allot
