#include "solve/baselines/port_schedule.h"

#include <algorithm>
#include <tuple>

#include "evaluate/sweep.h"
#include "solve/baselines/list_schedule.h"

namespace allot::baseline {

PortSchedule::PortSchedule(const Problem& problem)
    : problem_(problem),
      devices_(problem.deviceCount()),
      ports_(problem.modes.link_mode != LinkMode::kFree),
      half_(problem.modes.link_mode == LinkMode::kHalfDuplex),
      once_(problem.modes.send == Send::kOnce),
      device_free_(devices_, 0),
      send_free_(devices_, 0),
      receive_free_(devices_, 0),
      used_bytes_(devices_, 0),
      unit_bytes_(problem.unitCount(), 0),
      unit_device_(problem.unitCount()),
      start_(problem.opCount(), 0),
      end_(problem.opCount(), 0),
      done_(problem.opCount(), 0) {
  for (std::size_t i = 0; i < problem.opCount(); ++i)
    unit_bytes_[problem.unit(OpId(i)).index()] += problem.residentBytes(OpId(i));
  if (ports_ && once_) arrived_.assign(problem.graph.tensorCount() * devices_, -1);
}

bool PortSchedule::canPlace(OpId op, DeviceId device) const {
  const UnitId unit = problem_.unit(op);
  const DeviceId fixed = unit_device_[unit.index()];
  if (fixed.valid()) return fixed == device;
  return problem_.allowed(unit, device) &&
         used_bytes_[device.index()] + unit_bytes_[unit.index()] <= problem_.memoryLimit(device);
}

double PortSchedule::arrival(OpId op, DeviceId device, bool commit) {
  const OpGraph& graph = problem_.graph;
  double ready = 0;
  crossing_.clear();
  for (const TensorId tensor : graph.inputs(op)) {
    const OpId producer = graph.producer(tensor);
    const DeviceId from = deviceOf(producer);
    const double end = end_[producer.index()];
    if (from == device) {
      ready = std::max(ready, end);
    } else if (!ports_) {
      ready = std::max(ready, end + problem_.transferSeconds(tensor, from, device));
    } else if (once_ && arrived_[tensor.index() * devices_ + device.index()] >= 0) {
      ready = std::max(ready, arrived_[tensor.index() * devices_ + device.index()]);
    } else {
      crossing_.push_back({end, tensor, from});
    }
  }
  if (crossing_.empty()) return ready;
  std::stable_sort(crossing_.begin(), crossing_.end(),
                   [](const Crossing& a, const Crossing& b) { return a.ready < b.ready; });
  probe_send_ = send_free_;
  double receive = half_ ? probe_send_[device.index()] : receive_free_[device.index()];
  for (const Crossing& c : crossing_) {
    const double seconds = problem_.transferSeconds(c.tensor, c.from, device);
    double end = c.ready;
    if (seconds > 0) {
      double& send = probe_send_[c.from.index()];
      end = std::max({c.ready, send, receive}) + seconds;
      send = receive = end;
    }
    ready = std::max(ready, end);
    if (commit) transfers_.push_back({c.tensor, {op}, c.from, device, end - seconds, end});
    if (commit && once_) arrived_[c.tensor.index() * devices_ + device.index()] = end;
  }
  if (commit) {
    if (half_)
      probe_send_[device.index()] = receive;
    else
      receive_free_[device.index()] = receive;
    send_free_ = probe_send_;
  }
  return ready;
}

double PortSchedule::startOn(OpId op, DeviceId device) {
  const double ready = arrival(op, device, false);
  return problem_.busySeconds(op, device) > 0 ? std::max(ready, device_free_[device.index()]) : ready;
}

void PortSchedule::place(OpId op, DeviceId device) {
  const UnitId unit = problem_.unit(op);
  if (!unit_device_[unit.index()].valid()) {
    unit_device_[unit.index()] = device;
    used_bytes_[device.index()] += unit_bytes_[unit.index()];
  }
  double start = arrival(op, device, true);
  const double busy = problem_.busySeconds(op, device);
  if (busy > 0) {
    start = std::max(start, device_free_[device.index()]);
    device_free_[device.index()] = start + busy;
  }
  start_[op.index()] = start;
  end_[op.index()] = start + problem_.opSeconds(op, device);
  done_[op.index()] = 1;
}

Plan PortSchedule::takePlan() {
  Plan plan;
  plan.modes = problem_.modes;
  plan.assignment.resize(problem_.opCount());
  for (std::size_t i = 0; i < problem_.opCount(); ++i) plan.assignment[i] = deviceOf(OpId(i));
  plan.transfers = std::move(transfers_);
  if (once_) listConsumers(problem_, plan.assignment, plan.transfers);
  plan.start = std::move(start_);
  plan.end = std::move(end_);
  return plan;
}

std::optional<Plan> scheduleEarliestStart(const Problem& problem, const Budget& budget,
                                          PortSchedule& schedule, const EarliestStart& rules, bool& stopped) {
  Readiness readiness(problem);
  std::vector<OpId> ready;
  readiness.begin([&](OpId op) { ready.push_back(op); });
  std::uint64_t looks = 0;
  while (!ready.empty()) {
    // start, position, device, place in `ready`
    using Choice = std::tuple<double, std::uint32_t, std::uint32_t, std::size_t>;
    std::optional<Choice> best, any;
    for (std::size_t r = 0; r < ready.size(); ++r) {
      for (std::uint32_t d = 0; d < problem.deviceCount(); ++d) {
        const OpId op = ready[r];
        const DeviceId device(d);
        if (!schedule.canPlace(op, device)) continue;
        if ((++looks & 1023) == 0 && budget.stopped()) {
          stopped = true;
          return std::nullopt;
        }
        const double start = schedule.startOn(op, device);
        const Choice choice{start, problem.graph.position(op), d, r};
        if (!any || choice < *any) any = choice;
        if (best && !(choice < *best)) continue;
        if (!rules.admits || rules.admits(op, device, start)) best = choice;
      }
    }
    if (!best) best = any;
    if (!best) return std::nullopt;
    const OpId op = ready[std::get<3>(*best)];
    const DeviceId device(std::get<2>(*best));
    ready.erase(ready.begin() + static_cast<std::ptrdiff_t>(std::get<3>(*best)));
    schedule.place(op, device);
    if (rules.placed) rules.placed(op, device);
    readiness.finish(op, [&](OpId next) { ready.push_back(next); });
  }
  return schedule.takePlan();
}

}  // namespace allot::baseline
