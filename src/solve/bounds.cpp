#include "solve/bounds.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "allot/solve.h"
#include "problem/calls_model.h"
#include "solve/polls.h"

namespace allot {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// An item of work: a unit (throughput) or an op (schedules), with its time on each class that some allowed
// device has.
struct Work {
  std::size_t classes = 0;
  std::vector<double> seconds;  // [item * classes + class], kInfinity where not allowed
  std::vector<std::uint32_t> model;
};

Work workOf(const Problem& problem) {
  Work work;
  work.classes = problem.cluster.classCount();
  const bool by_unit = problem.goal() == Goal::kThroughput;
  const std::size_t items = by_unit ? problem.unitCount() : problem.opCount();
  work.seconds.assign(items * work.classes, kInfinity);
  work.model.assign(items, 0);
  for (std::size_t i = 0; i < items; ++i) {
    const UnitId unit = by_unit ? UnitId(i) : problem.unit(OpId(i));
    if (!by_unit) work.model[i] = problem.graph.op_model[i].value;
    for (std::size_t d = 0; d < problem.deviceCount(); ++d) {
      if (!problem.allowed(unit, DeviceId(d))) continue;
      double& seconds = work.seconds[i * work.classes + problem.cluster.devices[d].cls.index()];
      if (seconds != kInfinity) continue;
      seconds = 0;
      if (by_unit) {
        for (const OpId op : problem.unitOps(unit)) seconds += problem.busySeconds(op, DeviceId(d));
      } else {
        seconds = problem.opSeconds(OpId(i), DeviceId(d));
      }
    }
  }
  return work;
}

std::vector<double> classCounts(const Problem& problem) {
  std::vector<double> count(problem.cluster.classCount(), 0);
  for (const Device& device : problem.cluster.devices) ++count[device.cls.index()];
  return count;
}

// Sum of weight x completion on one machine that needs `work` for each model: shortest weighted work first.
double oneMachine(const Problem& problem, const std::vector<double>& work) {
  std::vector<std::size_t> order(work.size());
  std::iota(order.begin(), order.end(), 0);
  const auto key = [&](std::size_t m) {
    return problem.model_weight[m] > 0 ? work[m] / problem.model_weight[m] : kInfinity;
  };
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return key(a) < key(b); });
  double time = 0, sum = 0;
  for (const std::size_t m : order) {
    time += work[m];
    sum += problem.model_weight[m] * time;
  }
  return sum;
}

double fractionalBound(const Problem& problem, const Budget& budget) {
  const Work work = workOf(problem);
  const std::size_t classes = work.classes;
  const std::size_t items = work.model.size();
  const std::vector<double> count = classCounts(problem);
  const std::size_t rounds = std::clamp<std::size_t>(100'000'000 / (items * classes + 1), 3, 300);
  std::vector<double> weight(classes, 1.0 / static_cast<double>(problem.deviceCount()));
  std::vector<double> model_work(problem.graph.modelCount());
  double best = 0;
  for (std::size_t round = 0; round < rounds && !budget.stopped(); ++round) {
    std::vector<double> load(classes, 0);
    std::fill(model_work.begin(), model_work.end(), 0);
    double total = 0;
    for (std::size_t i = 0; i < items; ++i) {
      double least = kInfinity;
      std::size_t where = 0;
      for (std::size_t c = 0; c < classes; ++c) {
        const double seconds = work.seconds[i * classes + c];
        // A class of weight 0 takes any work for nothing; a time that is not allowed takes none.
        if (seconds == kInfinity || weight[c] * seconds >= least) continue;
        least = weight[c] * seconds;
        where = c;
      }
      if (least == kInfinity) continue;  // no device may run it; reported as a conflict elsewhere
      total += least;
      model_work[work.model[i]] += least;
      load[where] += work.seconds[i * classes + where];
    }
    best = std::max(best, problem.goal() == Goal::kCompletion ? oneMachine(problem, model_work) : total);
    if (classes == 1 || total <= 0) break;
    // Raise the weight of classes with more than their share of work.
    const double step = 0.5 / std::sqrt(1.0 + static_cast<double>(round));
    double sum = 0;
    for (std::size_t c = 0; c < classes; ++c) {
      if (count[c] == 0) continue;
      weight[c] *= std::exp(std::clamp(step * (load[c] / count[c] / total - 1), -1.0, 1.0));
      sum += weight[c] * count[c];
    }
    for (double& w : weight) w /= sum;
  }
  return best;
}

// The heaviest unit on its best device alone.
double heaviestUnit(const Problem& problem) {
  const Work work = workOf(problem);
  const std::vector<double> count = classCounts(problem);
  double most = 0;
  for (std::size_t i = 0; i < work.model.size(); ++i) {
    double least = kInfinity;
    for (std::size_t c = 0; c < work.classes; ++c) {
      const double replicas = problem.modes.replicate ? std::max(1.0, count[c]) : 1;
      least = std::min(least, work.seconds[i * work.classes + c] / replicas);
    }
    if (least < kInfinity) most = std::max(most, least);
  }
  return most;
}

}  // namespace

std::vector<double> earliestEnds(const Problem& problem, const Budget& budget) {
  const OpGraph& graph = problem.graph;
  const std::size_t devices = problem.deviceCount();
  const bool calls = isCallsModel(problem);
  std::vector<double> end(problem.opCount() * devices, kInfinity);  // [op * devices + device]
  std::vector<double> least(problem.opCount(), 0);
  Polls polls(budget, 10'000);
  std::size_t steps = 0;
  for (const OpId op : graph.topologicalOrder()) {
    if (polls.stop(steps)) break;
    steps = 0;
    const UnitId unit = problem.unit(op);
    const double release =
        problem.goal() == Goal::kCompletion ? problem.model_release[graph.op_model[op.index()].index()] : 0;
    double best = kInfinity;
    for (std::size_t d = 0; d < devices; ++d) {
      if (!problem.allowed(unit, DeviceId(d))) continue;
      double ready = release;
      for (const TensorId tensor : graph.inputs(op)) {
        ++steps;
        const OpId from = graph.producer(tensor);
        const double* row = &end[from.index() * devices];
        double there = kInfinity;
        if (calls) {
          there = least[from.index()];
        } else if (problem.tensor_matrix[tensor.index()] < 0 &&
                   !std::isnan(problem.tensor_seconds[tensor.index()])) {
          there = std::min(row[d], least[from.index()] + problem.tensor_seconds[tensor.index()]);
        } else {
          steps += devices;
          for (std::size_t e = 0; e < devices; ++e) {
            if (row[e] == kInfinity) continue;
            there = std::min(there, row[e] + problem.transferSeconds(tensor, DeviceId(e), DeviceId(d)));
          }
        }
        if (there < kInfinity) ready = std::max(ready, there);
      }
      end[op.index() * devices + d] = ready + problem.opSeconds(op, DeviceId(d));
      best = std::min(best, end[op.index() * devices + d]);
    }
    least[op.index()] = best < kInfinity ? best : 0;
  }
  return least;
}

double lowerBound(const Problem& problem) {
  RunOptions run;
  run.work_limit = 1;  // no clock
  return lowerBound(problem, Budget(run, nullptr));
}

double lowerBound(const Problem& problem, const Budget& budget) {
  double bound = 0;
  if (problem.goal() == Goal::kThroughput) {
    bound = std::max(heaviestUnit(problem), fractionalBound(problem, budget));
  } else {
    const std::vector<double> ends = earliestEnds(problem, budget);
    std::vector<double> completion(problem.graph.modelCount(), 0);
    for (std::size_t i = 0; i < ends.size(); ++i) {
      double& latest = completion[problem.graph.op_model[i].index()];
      latest = std::max(latest, ends[i]);
    }
    for (std::size_t m = 0; m < completion.size(); ++m) {
      if (problem.goal() == Goal::kCompletion)
        bound += problem.model_weight[m] * completion[m];
      else
        bound = std::max(bound, completion[m]);
    }
    if (!isCallsModel(problem)) bound = std::max(bound, fractionalBound(problem, budget));
  }
  // Sums were taken in another order than a plan's value: give rounding its due.
  return bound * (1 - 1e-12);
}

}  // namespace allot
