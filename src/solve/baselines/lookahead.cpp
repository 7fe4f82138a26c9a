#include "solve/baselines/lookahead.h"

#include <algorithm>
#include <limits>

#include "solve/baselines/list_schedule.h"
#include "solve/baselines/ranks.h"

namespace allot::baseline {

SolveResult heftLookahead(const Problem& problem, const Budget& budget, Progress& progress) {
  if (budget.stopped()) return {SolveEnd::kStopped, {}};
  const OpGraph& graph = problem.graph;
  const auto rank = upwardRank(problem, meanOpSeconds(problem), meanTransferSeconds(problem));
  ListSchedule schedule(problem, true);
  Readiness readiness(problem);
  ReadyQueue queue(problem);
  std::vector<DeviceId> device_of(problem.opCount());  // of placed ops
  const auto ready = [&](OpId op) { queue.push(op, -rank[op.index()]); };
  readiness.begin(ready);

  // The earliest end of a child when `op` ends on `device` at `finish`.
  const auto childEnd = [&](OpId child, OpId op, DeviceId device, double finish) {
    double best = std::numeric_limits<double>::infinity();
    for (std::size_t d = 0; d < problem.deviceCount(); ++d) {
      const DeviceId to(d);
      const bool with = problem.unit(child) == problem.unit(op);
      if (with ? to != device : !schedule.canPlace(child, to)) continue;
      double arrival = to == device && problem.busySeconds(op, device) > 0 ? finish : 0;
      for (const TensorId tensor : graph.inputs(child)) {
        const OpId from = graph.producer(tensor);
        if (from == op)
          arrival = std::max(arrival, finish + problem.transferSeconds(tensor, device, to));
        else if (device_of[from.index()].valid())
          arrival = std::max(
              arrival, schedule.end(from) + problem.transferSeconds(tensor, device_of[from.index()], to));
      }
      best = std::min(best, schedule.earliestStart(child, to, arrival) + problem.opSeconds(child, to));
    }
    return best;
  };

  std::size_t looks = 0;
  bool stopped = false;
  const auto latestChild = [&](OpId op, DeviceId device, double finish) {
    double latest = finish;
    for (const TensorId tensor : graph.outputs(op)) {
      for (const OpId child : graph.consumers(tensor)) {
        if (stopped || (++looks % 64 == 0 && budget.stopped())) {
          stopped = true;
          return latest;
        }
        latest = std::max(latest, childEnd(child, op, device, finish));
      }
    }
    return latest;
  };
  while (!queue.empty()) {
    const OpId op = queue.pop();
    const DeviceId device = placeOnBest(problem, schedule, op, latestChild);
    if (stopped) return {SolveEnd::kStopped, {}};
    if (!device.valid()) return {SolveEnd::kFinished, {}};
    device_of[op.index()] = device;
    readiness.finish(op, ready);
  }
  progress.plan(schedule.takePlan(), "heft-lookahead");
  return {SolveEnd::kFinished, {}};
}

}  // namespace allot::baseline
