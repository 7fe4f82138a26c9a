// The core that all list schedulers share: device timelines, arrival of inputs, memory, and the loop over
// ready ops.
//
// Problem: place ops one by one, each on one device at the earliest time its inputs and the device allow.
// Assumptions: events model. Transfers take the pair's time and meet no other transfer (link mode free);
// under other link
//   modes the evaluator keeps the order and finds the true times.
// Guarantee: units stay together (the first op of a unit takes the memory of all), only allowed devices with
// room are used. Complexity: O(inputs) per op and device, plus the scan of idle gaps with insertion. When
// time runs out: no plan.
#pragma once

#include <optional>
#include <queue>
#include <tuple>
#include <utility>
#include <vector>

#include "allot/solve.h"

namespace allot::baseline {

// Beyond this many ops a scheduler appends instead of looking through idle gaps.
inline constexpr std::size_t kInsertionLimit = 50'000;
// Ops between two looks at the clock.
inline constexpr std::size_t kPollInterval = 256;

class ListSchedule {
 public:
  // Without `insertion` an op never starts before the device's last op has ended.
  ListSchedule(const Problem& problem, bool insertion);

  // Whether the op's unit is on the device, or may be put there and has room.
  bool canPlace(OpId op, DeviceId device) const;
  // When all inputs are on the device and the model is released; every producer must have been placed.
  double arrival(OpId op, DeviceId device) const;
  // The earliest start at or after `arrival`.
  double earliestStart(OpId op, DeviceId device, double arrival) const;
  // Time at which the device has ended all its ops.
  double freeFrom(DeviceId device) const { return gaps_[device.index()].back().begin; }
  double end(OpId op) const { return end_[op.index()]; }
  double release(OpId op) const;

  void place(OpId op, DeviceId device, double start);
  // The decisions, once every op has been placed.
  Plan takePlan();

 private:
  struct Gap {
    double begin, end;
  };

  const Problem& problem_;
  bool insertion_;
  std::vector<std::vector<Gap>> gaps_;  // idle times by device, in order; the last never ends
  std::vector<double> used_bytes_;      // by device
  std::vector<double> unit_bytes_;
  std::vector<DeviceId> unit_device_;
  std::vector<double> start_, end_;
};

// Ops whose producers are all done, from which the smallest (key, topological position) is taken next.
class ReadyQueue {
 public:
  explicit ReadyQueue(const Problem& problem);

  bool empty() const { return queue_.empty(); }
  void push(OpId op, double key) { queue_.emplace(key, problem_.graph.position(op), op); }
  OpId pop();

 private:
  using Entry = std::tuple<double, std::uint32_t, OpId>;
  const Problem& problem_;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue_;
};

// Counts producers that are not yet done.
class Readiness {
 public:
  explicit Readiness(const Problem& problem);
  // Calls ready(op) for each op without producers, in topological order.
  template <class Ready>
  void begin(Ready&& ready) const {
    for (const OpId op : problem_.graph.topologicalOrder()) {
      if (waiting_[op.index()] == 0) ready(op);
    }
  }
  // Calls ready(consumer) for each op that `op` was the last to hold back.
  template <class Ready>
  void finish(OpId op, Ready&& ready) {
    for (const TensorId tensor : problem_.graph.outputs(op)) {
      for (const OpId consumer : problem_.graph.consumers(tensor)) {
        if (--waiting_[consumer.index()] == 0) ready(consumer);
      }
    }
  }

 private:
  const Problem& problem_;
  std::vector<std::uint32_t> waiting_;  // by op: inputs whose producer is not done
};

struct ListOutcome {
  std::optional<Plan> plan;  // absent when an op found no device with room, or time ran out
  bool stopped = false;
};

// Hands the plan on, where there is one.
SolveResult report(ListOutcome outcome, Progress& progress, std::string_view solver);

// Puts the op on the device of least cost(op, device, finish), then of least finish, then the first. Invalid
// when none has room.
template <class Cost>
DeviceId placeOnBest(const Problem& problem, ListSchedule& schedule, OpId op, Cost&& cost) {
  DeviceId best;
  double best_start = 0;
  std::pair<double, double> best_cost;
  for (std::size_t d = 0; d < problem.deviceCount(); ++d) {
    const DeviceId device(d);
    if (!schedule.canPlace(op, device)) continue;
    const double start = schedule.earliestStart(op, device, schedule.arrival(op, device));
    const double finish = start + problem.opSeconds(op, device);
    const std::pair device_cost{cost(op, device, finish), finish};
    if (best.valid() && !(device_cost < best_cost)) continue;
    best = device;
    best_start = start;
    best_cost = device_cost;
  }
  if (best.valid()) schedule.place(op, best, best_start);
  return best;
}

// Takes ready ops by key(op, ready time), smallest first, and puts each on the device of least cost(op,
// device, finish); ties go to the topologically first op and the first device. An infinite cost forbids the
// device unless all are infinite.
template <class Key, class Cost>
ListOutcome scheduleList(const Problem& problem, const Budget& budget, Key&& key, Cost&& cost) {
  ListSchedule schedule(problem, problem.opCount() <= kInsertionLimit);
  Readiness readiness(problem);
  ReadyQueue queue(problem);
  const auto ready = [&](OpId op) {
    double time = schedule.release(op);
    for (const TensorId tensor : problem.graph.inputs(op))
      time = std::max(time, schedule.end(problem.graph.producer(tensor)));
    queue.push(op, key(op, time));
  };
  readiness.begin(ready);
  for (std::size_t placed = 0; !queue.empty(); ++placed) {
    if (placed % kPollInterval == 0 && budget.stopped()) return {std::nullopt, true};
    const OpId op = queue.pop();
    if (!placeOnBest(problem, schedule, op, cost).valid()) return {};
    readiness.finish(op, ready);
  }
  return {schedule.takePlan(), false};
}

}  // namespace allot::baseline
