#include "evaluate/calls.h"

#include <algorithm>
#include <map>

#include "graph/contraction.h"

namespace allot {

CallTimes evaluateCalls(const Problem& problem, std::span<const DeviceId> assignment,
                        std::span<const PlanStage> calls) {
  const OpGraph& graph = problem.graph;
  const std::size_t n = problem.opCount();
  // Parts: the calls, then one part per cpu op.
  std::vector<std::uint32_t> part(n, UINT32_MAX);
  for (std::uint32_t c = 0; c < calls.size(); ++c) {
    for (const OpId op : calls[c].ops) part[op.index()] = c;
  }
  std::vector<OpId> single;
  for (std::size_t i = 0; i < n; ++i) {
    if (part[i] != UINT32_MAX) continue;
    part[i] = static_cast<std::uint32_t>(calls.size() + single.size());
    single.emplace_back(i);
  }
  const std::size_t parts = calls.size() + single.size();
  std::vector<PartEdge> edges;
  for (std::size_t t = 0; t < graph.tensorCount(); ++t) {
    const std::uint32_t from = part[graph.tensor_producer[t].index()];
    for (const OpId consumer : graph.tensor_consumers[t]) edges.push_back({from, part[consumer.index()]});
  }
  std::vector<std::int64_t> previous(problem.deviceCount(), -1);
  for (std::uint32_t c = 0; c < calls.size(); ++c) {
    std::int64_t& last = previous[calls[c].devices.front().index()];
    if (last >= 0) edges.push_back({static_cast<std::uint32_t>(last), c});
    last = c;
  }
  CallTimes times{std::vector<double>(n), std::vector<double>(n), std::vector<double>(problem.deviceCount()),
                  false};
  const Contraction order = contract(parts, std::move(edges));
  if (!order.acyclic()) {
    times.cyclic = true;
    return times;
  }
  std::vector<double> ready(parts, 0), end(parts, 0);
  std::vector<std::uint32_t> seen(graph.tensorCount(), UINT32_MAX);  // call that already paid for the tensor
  for (const std::uint32_t p : order.order) {
    double seconds = 0;
    if (p < calls.size()) {
      const DeviceId on = calls[p].devices.front();
      double transfers = 0;
      for (const OpId op : calls[p].ops) {
        seconds += problem.opSeconds(op, on);
        for (const TensorId tensor : graph.inputs(op)) {
          if (part[graph.producer(tensor).index()] == p || seen[tensor.index()] == p) continue;
          seen[tensor.index()] = p;
          transfers += problem.fromHostSeconds(tensor, on);
        }
        for (const TensorId tensor : graph.outputs(op)) {
          const auto consumers = graph.consumers(tensor);
          const bool leaves =
              std::any_of(consumers.begin(), consumers.end(), [&](OpId c) { return part[c.index()] != p; });
          if (leaves) transfers += problem.toHostSeconds(tensor, on);
        }
      }
      seconds += transfers;
      times.transfer_seconds[on.index()] += transfers;
    } else {
      const OpId op = single[p - calls.size()];
      seconds = problem.opSeconds(op, assignment[op.index()]);
    }
    end[p] = ready[p] + seconds;
    for (const std::uint32_t next : order.successors[p]) ready[next] = std::max(ready[next], end[p]);
  }
  for (std::size_t i = 0; i < n; ++i) {
    times.start[i] = ready[part[i]];
    times.end[i] = end[part[i]];
  }
  return times;
}

std::vector<PlanStage> callsByLevel(const Problem& problem, std::span<const DeviceId> assignment) {
  const OpGraph& graph = problem.graph;
  std::map<std::pair<std::uint32_t, std::uint32_t>, PlanStage> calls;  // by (level, device)
  for (std::size_t d = 0; d < problem.deviceCount(); ++d) {
    const DeviceId device(d);
    if (!problem.cluster.isAccelerator(device)) continue;
    // level[v]: returns to the device on the worst path that ends in v; a path that has been there and is
    // outside now adds one when it comes back.
    std::vector<std::uint32_t> level(problem.opCount(), 0);
    std::vector<std::uint8_t> been(problem.opCount(), 0);
    for (const OpId op : graph.topologicalOrder()) {
      const bool here = assignment[op.index()] == device;
      std::uint32_t most = 0;
      for (const TensorId tensor : graph.inputs(op)) {
        const OpId from = graph.producer(tensor);
        if (!been[from.index()]) continue;
        been[op.index()] = 1;
        const bool returns = here && assignment[from.index()] != device;
        most = std::max(most, level[from.index()] + (returns ? 1 : 0));
      }
      level[op.index()] = most;
      if (!here) continue;
      been[op.index()] = 1;
      PlanStage& call = calls[{most, static_cast<std::uint32_t>(d)}];
      call.devices = {device};
      call.ops.push_back(op);
    }
  }
  std::vector<PlanStage> list;
  for (auto& [key, call] : calls) list.push_back(std::move(call));
  return list;
}

}  // namespace allot
