#include "solve/baselines/speedup_steps.h"

#include <algorithm>
#include <limits>
#include <queue>
#include <set>
#include <tuple>

#include "solve/baselines/list_schedule.h"
#include "solve/baselines/speedup_models.h"

namespace allot::baseline {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// By model: its place in the order of falling speed-ups.
std::vector<std::size_t> speedupRank(const Problem& problem) {
  const std::vector<std::size_t> order = ModelWork(problem).bySpeedup();
  std::vector<std::size_t> rank(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) rank[order[i]] = i;
  return rank;
}

// When the op's producers have ended and its model is released.
double readyTime(const Problem& problem, const ListSchedule& schedule, OpId op) {
  double time = schedule.release(op);
  for (const TensorId tensor : problem.graph.inputs(op))
    time = std::max(time, schedule.end(problem.graph.producer(tensor)));
  return time;
}

class Transient {
 public:
  Transient(const Problem& problem, const Budget& budget)
      : problem_(problem),
        budget_(budget),
        schedule_(problem, false),
        readiness_(problem),
        rank_(speedupRank(problem)) {}

  ListOutcome run() {
    readiness_.begin([&](OpId op) { coming_.push(entryOf(op)); });
    double now = 0;
    while (placed_ < problem_.opCount()) {
      if (budget_.stopped()) return {std::nullopt, true};
      if (looks_ > kTransientLooks + problem_.opCount()) return {};
      while (!coming_.empty() && std::get<0>(coming_.top()) <= now) {
        const Entry entry = coming_.top();
        coming_.pop();
        if (!placeInstant(std::get<3>(entry), now)) waiting_.insert(entry);
      }
      serveWaiting(now);
      if (!coming_.empty() && std::get<0>(coming_.top()) <= now) continue;
      const double next = nextEvent(now);
      if (next == kInfinity) break;
      now = next;
    }
    if (placed_ < problem_.opCount()) return {};
    return {schedule_.takePlan(), false};
  }

 private:
  using Entry = std::tuple<double, std::size_t, std::uint32_t, OpId>;  // ready, rank of model, position

  const Problem& problem_;
  const Budget& budget_;
  ListSchedule schedule_;
  Readiness readiness_;
  std::vector<std::size_t> rank_;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> coming_;
  std::set<Entry> waiting_;
  std::size_t placed_ = 0, looks_ = 0;

  Entry entryOf(OpId op) const {
    return {readyTime(problem_, schedule_, op), rank_[problem_.graph.op_model[op.index()].index()],
            problem_.graph.position(op), op};
  }

  void place(OpId op, DeviceId device, double now) {
    schedule_.place(op, device, std::max(now, schedule_.arrival(op, device)));
    ++placed_;
    readiness_.finish(op, [&](OpId next) { coming_.push(entryOf(next)); });
  }

  // An op of no time on some device holds none and need not wait for one.
  bool placeInstant(OpId op, double now) {
    for (std::size_t d = 0; d < problem_.deviceCount(); ++d) {
      if (!schedule_.canPlace(op, DeviceId(d)) || problem_.busySeconds(op, DeviceId(d)) > 0) continue;
      place(op, DeviceId(d), now);
      return true;
    }
    return false;
  }

  bool idle(DeviceId device, double now) const { return schedule_.freeFrom(device) <= now; }

  void serveWaiting(double now) {
    std::size_t idle_devices = 0;
    for (std::size_t d = 0; d < problem_.deviceCount(); ++d) idle_devices += idle(DeviceId(d), now) ? 1 : 0;
    for (auto it = waiting_.begin(); it != waiting_.end() && idle_devices > 0;) {
      const OpId op = std::get<3>(*it);
      ++looks_;
      DeviceId best;
      for (std::size_t d = 0; d < problem_.deviceCount(); ++d) {
        const DeviceId device(d);
        if (!idle(device, now) || !schedule_.canPlace(op, device)) continue;
        if (!best.valid() || problem_.opSeconds(op, device) < problem_.opSeconds(op, best)) best = device;
      }
      if (!best.valid()) {
        ++it;
        continue;
      }
      it = waiting_.erase(it);
      place(op, best, now);
      --idle_devices;
    }
  }

  double nextEvent(double now) const {
    double next = coming_.empty() ? kInfinity : std::get<0>(coming_.top());
    for (std::size_t d = 0; d < problem_.deviceCount(); ++d) {
      const double free = schedule_.freeFrom(DeviceId(d));
      if (free > now) next = std::min(next, free);
    }
    return next;
  }
};

// The device of the kind with the least work of the model; invalid where there is none.
DeviceId leastWork(const Problem& problem, const ModelWork& work, std::size_t model, bool accelerator) {
  DeviceId best;
  for (std::size_t d = 0; d < problem.deviceCount(); ++d) {
    if (problem.cluster.isAccelerator(DeviceId(d)) != accelerator) continue;
    if (!best.valid() || work.seconds(model, DeviceId(d)) < work.seconds(model, best)) best = DeviceId(d);
  }
  return best;
}

ListOutcome schedulePublishedTransient(const Problem& problem, const Budget& budget) {
  const ModelWork work(problem);
  const std::vector<std::size_t> order = work.bySpeedup();
  const std::vector<std::size_t> rank = speedupRank(problem);
  const DeviceId accelerator = leastWork(problem, work, order.front(), true);
  std::vector<DeviceId> cpu(order.size());
  for (std::size_t m = 0; m < order.size(); ++m) cpu[m] = leastWork(problem, work, m, false);
  std::vector<std::uint8_t> moved(order.size(), 0);  // by model: the rest runs on the accelerator
  moved[order.front()] = 1;

  ListSchedule schedule(problem, false);
  Readiness readiness(problem);
  ReadyQueue queue(problem);
  const auto model = [&](OpId op) { return problem.graph.op_model[op.index()].index(); };
  const auto ready = [&](OpId op) { queue.push(op, static_cast<double>(rank[model(op)])); };
  const auto startOn = [&](OpId op, DeviceId device) {
    return schedule.earliestStart(op, device, schedule.arrival(op, device));
  };
  readiness.begin(ready);
  for (std::size_t placed = 0; !queue.empty(); ++placed) {
    if (placed % kPollInterval == 0 && budget.stopped()) return {std::nullopt, true};
    const OpId op = queue.pop();
    const std::size_t m = model(op);
    DeviceId device = accelerator;
    if (!moved[m] && cpu[m].valid() && schedule.canPlace(op, cpu[m])) {
      if (!accelerator.valid() || startOn(op, cpu[m]) <= schedule.freeFrom(accelerator))
        device = cpu[m];
      else
        moved[m] = 1;
    }
    if (!device.valid() || !schedule.canPlace(op, device)) {
      device = DeviceId();
      double finish = kInfinity;
      for (std::size_t d = 0; d < problem.deviceCount(); ++d) {
        if (!schedule.canPlace(op, DeviceId(d))) continue;
        const double here = startOn(op, DeviceId(d)) + problem.opSeconds(op, DeviceId(d));
        if (here < finish) {
          finish = here;
          device = DeviceId(d);
        }
      }
      if (!device.valid()) return {};
    }
    schedule.place(op, device, startOn(op, device));
    readiness.finish(op, ready);
  }
  return {schedule.takePlan(), false};
}

}  // namespace

SolveResult transientSpeedup(const Problem& problem, const Budget& budget, Progress& progress) {
  return report(Transient(problem, budget).run(), progress, "transient-speedup");
}

SolveResult transientSpeedupPublished(const Problem& problem, const Budget& budget, Progress& progress) {
  return report(schedulePublishedTransient(problem, budget), progress, "transient-speedup-published");
}

}  // namespace allot::baseline
