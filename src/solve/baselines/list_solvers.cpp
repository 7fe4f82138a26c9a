#include "solve/baselines/list_solvers.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "solve/baselines/list_schedule.h"
#include "solve/baselines/ranks.h"

namespace allot::baseline {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The device of least finish.
double byFinish(OpId, DeviceId, double finish) {
  return finish;
}

// The device that runs all `ops` in the least time in all, or an invalid id when none may run them all.
DeviceId bestCommonDevice(const Problem& problem, const std::vector<OpId>& ops, double& seconds) {
  DeviceId best;
  seconds = kInfinity;
  for (std::size_t d = 0; d < problem.deviceCount(); ++d) {
    double sum = 0;
    for (const OpId op : ops) {
      sum += problem.allowed(problem.unit(op), DeviceId(d)) ? problem.opSeconds(op, DeviceId(d)) : kInfinity;
    }
    if (sum < seconds) {
      seconds = sum;
      best = DeviceId(d);
    }
  }
  return best;
}

// From the op of highest priority that nothing precedes, always on to the consumer of highest priority.
std::vector<OpId> criticalPath(const Problem& problem, const std::vector<double>& priority) {
  const OpGraph& graph = problem.graph;
  const auto higher = [&](OpId a, OpId b) {
    return !b.valid() || priority[a.index()] > priority[b.index()] ||
           (priority[a.index()] == priority[b.index()] && graph.position(a) < graph.position(b));
  };
  OpId at;
  for (const OpId op : graph.topologicalOrder()) {
    if (graph.inputs(op).empty() && higher(op, at)) at = op;
  }
  std::vector<OpId> path;
  while (at.valid()) {
    path.push_back(at);
    OpId next;
    for (const TensorId tensor : graph.outputs(at)) {
      for (const OpId consumer : graph.consumers(tensor)) {
        if (higher(consumer, next)) next = consumer;
      }
    }
    at = next;
  }
  return path;
}

// By op: place of its model in the order of shortest work on the model's best device, per weight.
std::vector<double> shortestModelFirst(const Problem& problem) {
  const std::size_t models = problem.graph.modelCount();
  std::vector<std::vector<OpId>> ops(models);
  for (std::size_t i = 0; i < problem.opCount(); ++i) ops[problem.graph.op_model[i].index()].emplace_back(i);
  const std::vector<double> least = leastOpSeconds(problem);
  std::vector<double> work(models);
  for (std::size_t m = 0; m < models; ++m) {
    // A model that no device can run alone counts every op where it is fastest.
    if (!bestCommonDevice(problem, ops[m], work[m]).valid()) {
      work[m] = 0;
      for (const OpId op : ops[m]) work[m] += least[op.index()];
    }
    work[m] = problem.model_weight[m] > 0 ? work[m] / problem.model_weight[m] : kInfinity;
  }
  std::vector<std::size_t> order(models);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return work[a] < work[b]; });
  std::vector<double> place(problem.opCount());
  for (std::size_t i = 0; i < models; ++i) {
    for (const OpId op : ops[order[i]]) place[op.index()] = static_cast<double>(i);
  }
  return place;
}

// One device's view of the ready ops: those whose inputs are there and wait for the device, those whose
// inputs are still on their way, and those of zero time, which wait for no device. Entries of ops that are
// placed or that the device can no longer take are dropped when they come up; room only shrinks, so such an
// entry never becomes good again.
class EtfQueues {
 public:
  using Entry = std::tuple<double, std::uint32_t, OpId>;  // start, topological position

  void add(const Problem& problem, OpId op, DeviceId device, double arrival) {
    (problem.busySeconds(op, device) == 0 ? instant_ : coming_)
        .emplace(arrival, problem.graph.position(op), op);
  }
  // The entry that starts first when the device is free from `free`, or nothing.
  template <class Usable>
  std::optional<Entry> first(double free, Usable&& usable) {
    while (!coming_.empty() && std::get<0>(coming_.top()) <= free) {
      waiting_.emplace(0, std::get<1>(coming_.top()), std::get<2>(coming_.top()));
      coming_.pop();
    }
    std::optional<Entry> best;
    for (Heap* heap : {&waiting_, &coming_, &instant_}) {
      while (!heap->empty() && !usable(std::get<2>(heap->top()))) heap->pop();
      if (heap->empty()) continue;
      Entry entry = heap->top();
      if (heap == &waiting_) std::get<0>(entry) = free;
      if (!best || entry < *best) best = entry;
    }
    return best;
  }

 private:
  using Heap = std::priority_queue<Entry, std::vector<Entry>, std::greater<>>;
  Heap waiting_, coming_, instant_;
};

ListOutcome scheduleEtf(const Problem& problem, const Budget& budget) {
  const std::size_t devices = problem.deviceCount();
  ListSchedule schedule(problem, false);
  Readiness readiness(problem);
  std::vector<EtfQueues> queues(devices);
  std::vector<std::uint8_t> placed(problem.opCount(), 0);
  const auto ready = [&](OpId op) {
    for (std::size_t d = 0; d < devices; ++d) {
      if (schedule.canPlace(op, DeviceId(d)))
        queues[d].add(problem, op, DeviceId(d), schedule.arrival(op, DeviceId(d)));
    }
  };
  readiness.begin(ready);
  for (std::size_t count = 0; count < problem.opCount(); ++count) {
    if (count % kPollInterval == 0 && budget.stopped()) return {std::nullopt, true};
    std::optional<EtfQueues::Entry> best;
    DeviceId device;
    double seconds = 0;
    for (std::size_t d = 0; d < devices; ++d) {
      const auto usable = [&](OpId op) { return !placed[op.index()] && schedule.canPlace(op, DeviceId(d)); };
      const auto entry = queues[d].first(schedule.freeFrom(DeviceId(d)), usable);
      if (!entry) continue;
      const double here = problem.opSeconds(std::get<2>(*entry), DeviceId(d));
      if (best && !(std::tie(*entry, here) < std::tie(*best, seconds))) continue;
      best = entry;
      seconds = here;
      device = DeviceId(d);
    }
    if (!best) return {};
    const OpId op = std::get<2>(*best);
    placed[op.index()] = 1;
    schedule.place(op, device, std::get<0>(*best));
    readiness.finish(op, ready);
  }
  return {schedule.takePlan(), false};
}

}  // namespace

SolveResult heft(const Problem& problem, const Budget& budget, Progress& progress) {
  const auto rank = upwardRank(problem, meanOpSeconds(problem), meanTransferSeconds(problem));
  const auto key = [&](OpId op, double) { return -rank[op.index()]; };
  return report(scheduleList(problem, budget, key, byFinish), progress, "heft");
}

// Rank by each op's smallest time and free transfers: one slow device does not distort it.
SolveResult minEft(const Problem& problem, const Budget& budget, Progress& progress) {
  const auto rank = upwardRank(problem, leastOpSeconds(problem), {});
  const auto key = [&](OpId op, double) { return -rank[op.index()]; };
  return report(scheduleList(problem, budget, key, byFinish), progress, "min-eft");
}

// Order by the mean optimistic cost over allowed devices; device of least finish + optimistic cost.
SolveResult peft(const Problem& problem, const Budget& budget, Progress& progress) {
  const auto costs = optimisticCosts(problem, budget);
  if (!costs) return {SolveEnd::kStopped, {}};
  const std::size_t devices = problem.deviceCount();
  const auto behind = [&](OpId op, DeviceId device) {
    return (*costs)[op.index() * devices + device.index()];
  };
  const auto key = [&](OpId op, double) {
    double sum = 0, count = 0;
    for (std::size_t d = 0; d < devices; ++d) {
      if (!problem.allowed(problem.unit(op), DeviceId(d))) continue;
      sum += behind(op, DeviceId(d));
      ++count;
    }
    return count > 0 ? -sum / count : 0;
  };
  const auto cost = [&](OpId op, DeviceId device, double finish) { return finish + behind(op, device); };
  return report(scheduleList(problem, budget, key, cost), progress, "peft");
}

// Order by upward + downward rank; the ops of the critical path on the one device that runs them fastest,
// where it may and has room, the others where they finish first.
SolveResult cpop(const Problem& problem, const Budget& budget, Progress& progress) {
  const auto seconds = meanOpSeconds(problem);
  const auto transfer = meanTransferSeconds(problem);
  std::vector<double> priority = upwardRank(problem, seconds, transfer);
  const auto down = downwardRank(problem, seconds, transfer);
  for (std::size_t i = 0; i < priority.size(); ++i) priority[i] += down[i];

  const std::vector<OpId> path = criticalPath(problem, priority);
  double path_seconds = 0;
  const DeviceId path_device = bestCommonDevice(problem, path, path_seconds);
  std::vector<std::uint8_t> critical(problem.opCount(), 0);
  for (const OpId op : path) critical[op.index()] = 1;
  const auto key = [&](OpId op, double) { return -priority[op.index()]; };
  const auto cost = [&](OpId op, DeviceId device, double finish) {
    return critical[op.index()] && path_device.valid() && device != path_device ? kInfinity : finish;
  };
  return report(scheduleList(problem, budget, key, cost), progress, "cpop");
}

// Among all ready ops and devices the pair that can start first; ties by topological order, then by the
// faster device. Made for identical devices: on unlike ones it often takes a slow device only because that
// one is idle.
SolveResult etf(const Problem& problem, const Budget& budget, Progress& progress) {
  return report(scheduleEtf(problem, budget), progress, "etf");
}

// The op whose inputs ended first goes first, to the device where it finishes first.
SolveResult eft(const Problem& problem, const Budget& budget, Progress& progress) {
  const auto key = [](OpId, double ready) { return ready; };
  return report(scheduleList(problem, budget, key, byFinish), progress, "eft");
}

SolveResult spt(const Problem& problem, const Budget& budget, Progress& progress) {
  const auto place = shortestModelFirst(problem);
  const auto key = [&](OpId op, double) { return place[op.index()]; };
  return report(scheduleList(problem, budget, key, byFinish), progress, "spt");
}

SolveResult sptFastest(const Problem& problem, const Budget& budget, Progress& progress) {
  const auto place = shortestModelFirst(problem);
  const auto key = [&](OpId op, double) { return place[op.index()]; };
  const auto cost = [&](OpId op, DeviceId device, double) { return problem.opSeconds(op, device); };
  return report(scheduleList(problem, budget, key, cost), progress, "spt-fastest");
}

}  // namespace allot::baseline
