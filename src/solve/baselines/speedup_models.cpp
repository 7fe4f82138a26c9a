#include "solve/baselines/speedup_models.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "solve/baselines/list_schedule.h"

namespace allot::baseline {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Choice {
  std::vector<std::size_t> order;  // models, in the order in which they are placed
  std::vector<DeviceId> device;    // by model
};

// Devices with the end of what was promised to them.
class Promises {
 public:
  Promises(const Problem& problem, const ModelWork& work)
      : problem_(problem), work_(work), end_(problem.deviceCount(), 0) {}

  // Of the devices for which `fits`, the one that ends the model first; invalid when none can run it.
  template <class Fits>
  DeviceId take(std::size_t model, Fits&& fits) {
    DeviceId best;
    double best_end = kInfinity;
    for (std::size_t d = 0; d < end_.size(); ++d) {
      if (!fits(DeviceId(d))) continue;
      const double end = std::max(end_[d], problem_.model_release[model]) + work_.seconds(model, DeviceId(d));
      if (end < best_end) {
        best = DeviceId(d);
        best_end = end;
      }
    }
    if (best.valid()) end_[best.index()] = best_end;
    return best;
  }
  bool used(DeviceId device) const { return end_[device.index()] > 0; }

 private:
  const Problem& problem_;
  const ModelWork& work_;
  std::vector<double> end_;
};

SolveResult placeModels(const Problem& problem, const Budget& budget, Progress& progress,
                        const Choice& choice, std::string_view solver) {
  std::vector<double> place(problem.graph.modelCount());
  for (std::size_t i = 0; i < choice.order.size(); ++i) place[choice.order[i]] = static_cast<double>(i);
  const auto model = [&](OpId op) { return problem.graph.op_model[op.index()].index(); };
  const auto key = [&](OpId op, double) { return place[model(op)]; };
  const auto cost = [&](OpId op, DeviceId device, double) {
    return choice.device[model(op)] == device ? 0 : kInfinity;
  };
  ListOutcome outcome = scheduleList(problem, budget, key, cost);
  if (outcome.plan) progress.plan(std::move(*outcome.plan), solver);
  return {outcome.stopped ? SolveEnd::kStopped : SolveEnd::kFinished, {}};
}

}  // namespace

ModelWork::ModelWork(const Problem& problem)
    : devices_(problem.deviceCount()),
      seconds_(problem.graph.modelCount() * devices_, 0),
      weight_(problem.model_weight) {
  for (std::size_t i = 0; i < problem.opCount(); ++i) {
    const std::size_t model = problem.graph.op_model[i].index();
    for (std::size_t d = 0; d < devices_; ++d) {
      seconds_[model * devices_ + d] += problem.allowed(problem.unit(OpId(i)), DeviceId(d))
                                            ? problem.busySeconds(OpId(i), DeviceId(d))
                                            : kInfinity;
    }
  }
  bool cpus = false, accelerators = false;
  for (std::size_t d = 0; d < devices_; ++d)
    (problem.cluster.isAccelerator(DeviceId(d)) ? accelerators : cpus) = true;
  for (std::size_t m = 0; m < problem.graph.modelCount(); ++m) {
    double cpu = kInfinity, accelerator = kInfinity, slowest = 0;
    for (std::size_t d = 0; d < devices_; ++d) {
      const double here = seconds(m, DeviceId(d));
      const bool fast = problem.cluster.isAccelerator(DeviceId(d));
      if (fast || !accelerators) accelerator = std::min(accelerator, here);
      if (!fast) cpu = std::min(cpu, here);
      if (here < kInfinity) slowest = std::max(slowest, here);
    }
    if (!cpus || !accelerators) cpu = slowest;
    speedup_.push_back(accelerator == kInfinity ? 0
                       : accelerator > 0        ? cpu / accelerator
                       : cpu > 0                ? kInfinity
                                                : 1);
  }
}

std::vector<std::size_t> ModelWork::bySpeedup() const {
  std::vector<std::size_t> order(speedup_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return speedup_[a] > speedup_[b]; });
  return order;
}

std::vector<std::size_t> ModelWork::byLength() const {
  std::vector<double> length;
  for (std::size_t m = 0; m < speedup_.size(); ++m) {
    const auto row = seconds_.begin() + static_cast<std::ptrdiff_t>(m * devices_);
    const double best = *std::min_element(row, row + static_cast<std::ptrdiff_t>(devices_));
    length.push_back(weight_[m] > 0 ? best / weight_[m] : kInfinity);
  }
  std::vector<std::size_t> order(length.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return length[a] < length[b]; });
  return order;
}

SolveResult averageSpeedup(const Problem& problem, const Budget& budget, Progress& progress) {
  const ModelWork work(problem);
  Promises promises(problem, work);
  Choice choice{work.bySpeedup(), std::vector<DeviceId>(problem.graph.modelCount())};
  const auto idle = [&](DeviceId d) { return problem.cluster.isAccelerator(d) && !promises.used(d); };
  const auto cpu = [&](DeviceId d) { return !problem.cluster.isAccelerator(d); };
  const auto any = [](DeviceId) { return true; };
  for (const std::size_t model : choice.order) {
    DeviceId& device = choice.device[model];
    device = promises.take(model, idle);
    if (!device.valid()) device = promises.take(model, cpu);
    if (!device.valid()) device = promises.take(model, any);
  }
  return placeModels(problem, budget, progress, choice, "average-speedup");
}

SolveResult averageSpeedupMeasured(const Problem& problem, const Budget& budget, Progress& progress) {
  const ModelWork work(problem);
  Promises promises(problem, work);
  Choice choice{work.bySpeedup(), std::vector<DeviceId>(problem.graph.modelCount())};
  const auto accelerator = [&](DeviceId d) { return problem.cluster.isAccelerator(d); };
  const auto any = [](DeviceId) { return true; };
  for (const std::size_t model : choice.order) {
    DeviceId& device = choice.device[model];
    device = promises.take(model, accelerator);
    if (!device.valid()) device = promises.take(model, any);
  }
  return placeModels(problem, budget, progress, choice, "average-speedup-measured");
}

SolveResult shortestFirst(const Problem& problem, const Budget& budget, Progress& progress) {
  const ModelWork work(problem);
  Promises promises(problem, work);
  Choice choice{work.byLength(), std::vector<DeviceId>(problem.graph.modelCount())};
  for (const std::size_t model : choice.order)
    choice.device[model] = promises.take(model, [](DeviceId) { return true; });
  return placeModels(problem, budget, progress, choice, "shortest-first");
}

}  // namespace allot::baseline
