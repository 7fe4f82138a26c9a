#include "solve/completion/speed_weights.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace allot {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

void normalise(std::vector<double>& weight, std::span<const double> count) {
  double sum = 0;
  for (std::size_t c = 0; c < weight.size(); ++c) sum += weight[c] * count[c];
  for (double& w : weight) w /= sum;
}

template <class Value>
SpeedWeights climb(std::span<const SpeedJob> jobs, std::span<const double> count, Value&& value) {
  SpeedWeights best;
  best.weight.assign(count.size(), 1);
  for (std::size_t c = 0; c < count.size(); ++c) {
    if (count[c] == 0) best.weight[c] = 0;
  }
  normalise(best.weight, count);
  best.bound = value(weightedWork(jobs, best.weight));
  for (const double factor : {16.0, 4.0, 2.0, 1.5, 1.2, 1.1, 1.03, 1.01, 1.003}) {
    bool better = count.size() > 1;
    for (int round = 0; better && round < 20; ++round) {
      better = false;
      for (std::size_t c = 0; c < count.size(); ++c) {
        for (const double step : {factor, 1 / factor}) {
          std::vector<double> weight = best.weight;
          weight[c] *= step;
          normalise(weight, count);
          const double bound = value(weightedWork(jobs, weight));
          if (!(bound > best.bound * (1 + 1e-12))) continue;
          best = {std::move(weight), bound};
          better = true;
        }
      }
    }
  }
  return best;
}

}  // namespace

double oneMachineSum(std::span<const SpeedJob> jobs, std::span<const double> work) {
  std::vector<std::size_t> order(jobs.size());
  std::iota(order.begin(), order.end(), 0);
  double time = kInfinity, sum = 0;
  for (const SpeedJob& job : jobs) time = std::min(time, job.release);
  const auto key = [&](std::size_t j) { return jobs[j].weight > 0 ? work[j] / jobs[j].weight : kInfinity; };
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return key(a) < key(b); });
  for (const std::size_t j : order) {
    time += work[j];
    sum += jobs[j].weight * time;
  }
  return sum;
}

std::vector<double> weightedWork(std::span<const SpeedJob> jobs, std::span<const double> weight) {
  std::vector<double> work(jobs.size(), 0);
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    const std::vector<double>& seconds = jobs[j].seconds;
    for (std::size_t at = 0; at + weight.size() <= seconds.size(); at += weight.size()) {
      double least = kInfinity;
      for (std::size_t c = 0; c < weight.size(); ++c) {
        if (seconds[at + c] < kInfinity) least = std::min(least, weight[c] * seconds[at + c]);
      }
      if (least < kInfinity) work[j] += least;
    }
  }
  return work;
}

SpeedWeights weightsForSum(std::span<const SpeedJob> jobs, std::span<const double> count) {
  return climb(jobs, count, [&](const std::vector<double>& work) { return oneMachineSum(jobs, work); });
}

SpeedWeights weightsForLoad(std::span<const SpeedJob> jobs, std::span<const double> count) {
  return climb(jobs, count, [](const std::vector<double>& work) {
    return std::accumulate(work.begin(), work.end(), 0.0);
  });
}

}  // namespace allot
