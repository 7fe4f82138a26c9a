#include "solve/baselines/baechi.h"

#include <algorithm>

#include "solve/baselines/favourites.h"
#include "solve/baselines/list_schedule.h"
#include "solve/baselines/port_schedule.h"

namespace allot::baseline {

SolveResult mTopo(const Problem& problem, const Budget& budget, Progress& progress) {
  if (budget.stopped()) return {SolveEnd::kStopped, {}};
  const std::size_t devices = problem.deviceCount();
  std::vector<double> unit_bytes(problem.unitCount(), 0);
  double total = 0, largest = 0;
  for (std::size_t i = 0; i < problem.opCount(); ++i) {
    double& bytes = unit_bytes[problem.unit(OpId(i)).index()];
    bytes += problem.residentBytes(OpId(i));
    total += problem.residentBytes(OpId(i));
    largest = std::max(largest, bytes);
  }
  const double share = total / static_cast<double>(devices) + largest;
  PortSchedule schedule(problem);
  std::vector<double> filled(devices, 0);
  std::size_t current = 0, count = 0;
  for (const OpId op : problem.graph.topologicalOrder()) {
    if (++count % 256 == 0 && budget.stopped()) return {SolveEnd::kStopped, {}};
    const double bytes = unit_bytes[problem.unit(op).index()];
    const DeviceId fixed = schedule.deviceOf(op);
    DeviceId device = fixed;
    // On to the next device when the share is used up; a unit that may not run there goes to the next one
    // that takes it, the filling goes on where it was.
    while (!fixed.valid() && current + 1 < devices && filled[current] + bytes > share) ++current;
    for (std::size_t step = 0; step < devices && !device.valid(); ++step) {
      const DeviceId next((current + step) % devices);
      if (schedule.canPlace(op, next)) device = next;
    }
    if (!device.valid()) return {SolveEnd::kFinished, {}};
    if (!fixed.valid()) filled[device.index()] += bytes;
    schedule.place(op, device);
  }
  return report({schedule.takePlan(), false}, progress, "m-topo");
}

SolveResult mEtf(const Problem& problem, const Budget& budget, Progress& progress) {
  if (budget.stopped()) return {SolveEnd::kStopped, {}};
  PortSchedule schedule(problem);
  bool stopped = false;
  auto plan = scheduleEarliestStart(problem, budget, schedule, {}, stopped);
  return report({std::move(plan), stopped}, progress, "m-etf");
}

SolveResult mSct(const Problem& problem, const Budget& budget, Progress& progress) {
  if (budget.stopped()) return {SolveEnd::kStopped, {}};
  const auto favourite = favouriteChildren(problem, budget);
  if (!favourite) return {budget.stopped() ? SolveEnd::kStopped : SolveEnd::kFinished, {}};
  PortSchedule schedule(problem);
  std::vector<OpId> kept_for(problem.deviceCount());  // by device: the favourite child of its last op
  EarliestStart rules;
  rules.placed = [&](OpId op, DeviceId device) { kept_for[device.index()] = (*favourite)[op.index()]; };
  rules.admits = [&](OpId op, DeviceId device, double start) {
    const OpId child = kept_for[device.index()];
    if (!child.valid() || child == op || schedule.placed(child)) return true;
    // Kept only for a child that is ready but for this device.
    for (const TensorId tensor : problem.graph.inputs(child)) {
      if (!schedule.placed(problem.graph.producer(tensor))) return true;
    }
    if (!schedule.canPlace(child, device)) return true;
    // Urgent: no device would make it wait.
    for (std::size_t d = 0; d < problem.deviceCount(); ++d) {
      if (schedule.canPlace(op, DeviceId(d)) && schedule.startOn(op, DeviceId(d)) > start) return false;
    }
    return true;
  };
  bool stopped = false;
  auto plan = scheduleEarliestStart(problem, budget, schedule, rules, stopped);
  return report({std::move(plan), stopped}, progress, "m-sct");
}

}  // namespace allot::baseline
