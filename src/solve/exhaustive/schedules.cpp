#include <algorithm>
#include <limits>

#include "evaluate/live_memory.h"
#include "evaluate/sweep.h"
#include "solve/exhaustive/exhaustive.h"

namespace allot {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

// All schedules of one assignment. An activity is an op or a transfer that crosses devices.
class ScheduleSearch {
 public:
  ScheduleSearch(const Problem& problem, Progress& progress, Steps& steps)
      : problem_(problem),
        progress_(progress),
        steps_(steps),
        n_(problem.opCount()),
        live_(problem.liveMemory()),
        ports_(problem.modes.link_mode != LinkMode::kFree) {}

  bool run(const std::vector<DeviceId>& choice) {
    plan_ = {};
    plan_.modes = problem_.modes;
    plan_.assignment = assignmentOf(problem_, choice);
    makeActivities();
    device_free_.assign(problem_.deviceCount(), 0);
    port_free_.assign(2 * problem_.deviceCount(), 0);
    return descend(0, 0);
  }

 private:
  struct Activity {
    bool transfer = false;
    OpId op;  // the op, or the transfer's producer
    TensorId tensor;
    DeviceId from, to;
    std::vector<OpId> consumers;
    double seconds = 0;
    std::vector<std::uint32_t> before;  // activities that must have ended
    double start = 0, end = 0;
    bool done = false;
  };

  const Problem& problem_;
  Progress& progress_;
  Steps& steps_;
  std::size_t n_;
  bool live_, ports_;
  Plan plan_;
  std::vector<Activity> activities_;  // ops first, by op index
  std::vector<double> device_free_, port_free_;

  void makeActivities() {
    activities_.assign(n_, {});
    const OpGraph& graph = problem_.graph;
    for (std::size_t i = 0; i < n_; ++i) {
      activities_[i].op = OpId(i);
      activities_[i].to = plan_.assignment[i];
      activities_[i].seconds = problem_.opSeconds(OpId(i), plan_.assignment[i]);
    }
    for (std::size_t t = 0; t < graph.tensorCount(); ++t) {
      const OpId producer = graph.tensor_producer[t];
      const DeviceId from = plan_.assignment[producer.index()];
      std::vector<std::pair<DeviceId, std::uint32_t>> sent;
      for (const OpId consumer : graph.tensor_consumers[t]) {
        const DeviceId to = plan_.assignment[consumer.index()];
        if (to == from) {
          activities_[consumer.index()].before.push_back(producer.value);
          continue;
        }
        const auto known =
            std::find_if(sent.begin(), sent.end(), [&](const auto& entry) { return entry.first == to; });
        std::uint32_t index = static_cast<std::uint32_t>(activities_.size());
        if (problem_.modes.send == Send::kOnce && known != sent.end()) {
          index = known->second;
          activities_[index].consumers.push_back(consumer);
        } else {
          Activity transfer{true, producer,         TensorId(t), from, to,   {consumer},
                            0,    {producer.value}, 0,           0,    false};
          transfer.seconds = problem_.transferSeconds(TensorId(t), from, to);
          activities_.push_back(std::move(transfer));
          sent.emplace_back(to, index);
        }
        activities_[consumer.index()].before.push_back(index);
      }
    }
  }

  double& sendPort(const Activity& a) { return port_free_[a.from.index()]; }
  double& receivePort(const Activity& a) {
    const std::size_t offset = problem_.modes.link_mode == LinkMode::kHalfDuplex ? 0 : problem_.deviceCount();
    return port_free_[offset + a.to.index()];
  }

  // Earliest start given what has begun, or never while something it waits for has not.
  double earliest(const Activity& a) {
    double ready = 0;
    if (!a.transfer && problem_.goal() == Goal::kCompletion) {
      ready = problem_.model_release[problem_.graph.op_model[a.op.index()].index()];
    }
    for (const std::uint32_t b : a.before) {
      if (!activities_[b].done) return kNever;
      ready = std::max(ready, activities_[b].end);
    }
    if (a.seconds == 0) return ready;
    if (!a.transfer) return std::max(ready, device_free_[a.to.index()]);
    return ports_ ? std::max({ready, sendPort(a), receivePort(a)}) : ready;
  }

  // No completion of what has begun is better than this.
  double bound(double now) {
    std::vector<double> op_end(n_);
    for (const OpId op : problem_.graph.topologicalOrder()) {
      Activity& a = activities_[op.index()];
      double value = a.end;
      if (!a.done) {
        double ready = now;
        for (const std::uint32_t b : a.before) {
          const Activity& before = activities_[b];
          if (before.done)
            ready = std::max(ready, before.end);
          else if (!before.transfer)
            ready = std::max(ready, op_end[b]);
          else
            ready = std::max(ready, std::max(now, op_end[before.op.index()]) + before.seconds);
        }
        if (problem_.goal() == Goal::kCompletion) {
          ready = std::max(ready, problem_.model_release[problem_.graph.op_model[op.index()].index()]);
        }
        if (a.seconds > 0) ready = std::max(ready, device_free_[a.to.index()]);
        value = ready + a.seconds;
      }
      op_end[op.index()] = value;
    }
    std::vector<double> completion;
    double value = scheduleValue(problem_, op_end, completion);
    if (problem_.goal() == Goal::kLatency) {
      std::vector<double> load = device_free_;
      for (std::size_t i = 0; i < n_; ++i) {
        const Activity& a = activities_[i];
        if (!a.done && a.seconds > 0) load[a.to.index()] += problem_.busySeconds(a.op, a.to);
      }
      for (std::size_t d = 0; d < load.size(); ++d) {
        value = std::max(value, load[d] - problem_.cluster.classOf(DeviceId(d)).launch_seconds);
      }
    }
    return value;
  }

  bool descend(std::size_t depth, double now) {
    if (!steps_.next()) return false;
    if (depth == activities_.size()) return leaf();
    if (bound(now) * (1 - 1e-12) >= progress_.bestValue()) return true;
    for (std::uint32_t index = 0; index < activities_.size(); ++index) {
      if (activities_[index].done) continue;
      const double first = earliest(activities_[index]);
      if (first == kNever) continue;
      for (const double start : starts(first, now)) {
        if (!begin(index, start, depth)) return false;
      }
    }
    return true;
  }

  std::vector<double> starts(double first, double now) const {
    std::vector<double> list;
    if (first >= now) list.push_back(first);
    if (!live_) return list;
    for (const Activity& a : activities_) {
      if (a.done && a.end > first && a.end >= now) list.push_back(a.end);
    }
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
    return list;
  }

  bool begin(std::uint32_t index, double start, std::size_t depth) {
    Activity& a = activities_[index];
    double* held[2] = {nullptr, nullptr};
    if (a.seconds > 0) {
      if (!a.transfer)
        held[0] = &device_free_[a.to.index()];
      else if (ports_)
        held[0] = &sendPort(a), held[1] = &receivePort(a);
    }
    double before[2] = {};
    a.start = start;
    a.end = start + a.seconds;
    a.done = true;
    for (int k = 0; k < 2; ++k) {
      if (held[k] == nullptr) continue;
      before[k] = *held[k];
      *held[k] = a.transfer ? a.end : start + problem_.busySeconds(a.op, a.to);
    }
    const bool goes_on = descend(depth + 1, start);
    for (int k = 1; k >= 0; --k) {
      if (held[k] != nullptr) *held[k] = before[k];
    }
    activities_[index].done = false;
    return goes_on;
  }

  bool leaf() {
    ++steps_.plans;
    Plan plan = plan_;
    plan.start.resize(n_);
    plan.end.resize(n_);
    for (std::size_t i = 0; i < n_; ++i) {
      plan.start[i] = activities_[i].start;
      plan.end[i] = activities_[i].end;
    }
    std::vector<double> completion;
    if (scheduleValue(problem_, plan.end, completion) >= progress_.bestValue()) return true;
    for (std::size_t t = n_; t < activities_.size(); ++t) {
      const Activity& a = activities_[t];
      if (problem_.isOrder(a.tensor)) continue;
      plan.transfers.push_back({a.tensor, a.consumers, a.from, a.to, a.start, a.end});
    }
    if (live_) {
      const std::vector<double> peak = livePeaks(problem_, plan);
      for (std::size_t d = 0; d < peak.size(); ++d) {
        if (peak[d] > problem_.memoryLimit(DeviceId(d))) return true;
      }
    }
    progress_.plan(std::move(plan), "exhaustive");
    return true;
  }
};

}  // namespace

bool exhaustSchedules(const Problem& problem, Progress& progress, Steps& steps) {
  ScheduleSearch search(problem, progress, steps);
  return forEachPlacement(
      problem, [](std::size_t, const std::vector<DeviceId>&) { return true; },
      [&](const std::vector<DeviceId>& choice) { return search.run(choice); });
}

}  // namespace allot
