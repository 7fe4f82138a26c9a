#include "solve/baselines/list_schedule.h"

#include <algorithm>
#include <limits>

namespace allot::baseline {

ListSchedule::ListSchedule(const Problem& problem, bool insertion)
    : problem_(problem),
      insertion_(insertion),
      gaps_(problem.deviceCount(), {Gap{0, std::numeric_limits<double>::infinity()}}),
      used_bytes_(problem.deviceCount(), 0),
      unit_bytes_(problem.unitCount(), 0),
      unit_device_(problem.unitCount()),
      start_(problem.opCount(), 0),
      end_(problem.opCount(), 0) {
  for (std::size_t i = 0; i < problem.opCount(); ++i) {
    unit_bytes_[problem.unit(OpId(i)).index()] += problem.residentBytes(OpId(i));
  }
}

bool ListSchedule::canPlace(OpId op, DeviceId device) const {
  const UnitId unit = problem_.unit(op);
  const DeviceId fixed = unit_device_[unit.index()];
  if (fixed.valid()) return fixed == device;
  return problem_.allowed(unit, device) &&
         used_bytes_[device.index()] + unit_bytes_[unit.index()] <= problem_.memoryLimit(device);
}

double ListSchedule::release(OpId op) const {
  if (problem_.goal() != Goal::kCompletion) return 0;
  return problem_.model_release[problem_.graph.op_model[op.index()].index()];
}

double ListSchedule::arrival(OpId op, DeviceId device) const {
  double time = release(op);
  for (const TensorId tensor : problem_.graph.inputs(op)) {
    const OpId producer = problem_.graph.producer(tensor);
    const DeviceId from = unit_device_[problem_.unit(producer).index()];
    time = std::max(time, end_[producer.index()] + problem_.transferSeconds(tensor, from, device));
  }
  return time;
}

double ListSchedule::earliestStart(OpId op, DeviceId device, double arrival) const {
  const double busy = problem_.busySeconds(op, device);
  if (busy == 0) return arrival;  // holds no device
  const std::vector<Gap>& gaps = gaps_[device.index()];
  auto gap = insertion_ ? std::partition_point(gaps.begin(), gaps.end(),
                                               [&](const Gap& g) { return g.end <= arrival; })
                        : gaps.end() - 1;
  while (std::max(gap->begin, arrival) + busy > gap->end) ++gap;
  return std::max(gap->begin, arrival);
}

void ListSchedule::place(OpId op, DeviceId device, double start) {
  const UnitId unit = problem_.unit(op);
  if (!unit_device_[unit.index()].valid()) {
    unit_device_[unit.index()] = device;
    used_bytes_[device.index()] += unit_bytes_[unit.index()];
  }
  start_[op.index()] = start;
  end_[op.index()] = start + problem_.opSeconds(op, device);
  const double busy = problem_.busySeconds(op, device);
  if (busy == 0) return;

  std::vector<Gap>& gaps = gaps_[device.index()];
  if (!insertion_) {
    gaps.back().begin = start + busy;
    return;
  }
  auto gap = std::partition_point(gaps.begin(), gaps.end(), [&](const Gap& g) { return g.end <= start; });
  const Gap before{gap->begin, start};
  gap->begin = start + busy;
  if (gap->begin >= gap->end) {
    *gap = before;
    if (before.begin >= before.end) gaps.erase(gap);
  } else if (before.begin < before.end) {
    gaps.insert(gap, before);
  }
}

Plan ListSchedule::takePlan() {
  Plan plan;
  plan.modes = problem_.modes;
  plan.assignment.resize(problem_.opCount());
  for (std::size_t i = 0; i < problem_.opCount(); ++i) {
    plan.assignment[i] = unit_device_[problem_.unit(OpId(i)).index()];
  }
  plan.start = std::move(start_);
  return plan;
}

ReadyQueue::ReadyQueue(const Problem& problem) : problem_(problem) {}

OpId ReadyQueue::pop() {
  const OpId op = std::get<2>(queue_.top());
  queue_.pop();
  return op;
}

Readiness::Readiness(const Problem& problem) : problem_(problem), waiting_(problem.opCount()) {
  for (std::size_t i = 0; i < problem.opCount(); ++i) {
    waiting_[i] = static_cast<std::uint32_t>(problem.graph.inputs(OpId(i)).size());
  }
}

SolveResult report(ListOutcome outcome, Progress& progress, std::string_view solver) {
  if (outcome.plan) progress.plan(std::move(*outcome.plan), solver);
  return {outcome.stopped ? SolveEnd::kStopped : SolveEnd::kFinished, {}};
}

}  // namespace allot::baseline
