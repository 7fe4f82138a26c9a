// What a state of the search can still lead to, and which of its times matter.
#include <algorithm>
#include <functional>
#include <limits>

#include "solve/completion/state_search.h"

namespace allot {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace

// No schedule that goes on from the state is better.
double StateSearch::bound(const State& s) {
  ends_.assign(n_ * devices_, kInfinity);
  starts_.assign(n_ * devices_, kInfinity);
  path_.assign(s.latest.begin(), s.latest.end());
  work_.assign(weight_.size(), 0);
  for (std::size_t op = 0; op < n_; ++op) {
    if ((s.done >> op & 1) != 0) continue;
    const std::size_t unit = model_.unit[op];
    double least = kInfinity;
    for (std::size_t d = 0; d < devices_; ++d) {
      if (!model_.runs(op, d) || (s.unit_device[unit] != kNowhere && s.unit_device[unit] != d)) continue;
      const double seconds = model_.time(op, d);
      double ready = std::max(s.now, release_[op_model_[op]]);
      for (const std::uint32_t net : model_.inputs[op]) {
        const std::size_t producer = model_.net_producer[net];
        double there = kInfinity;
        if ((s.done >> producer & 1) != 0) {
          there = s.arrival[net * devices_ + d];
          if (there == kInfinity) {
            const std::size_t from = s.device[producer];
            there = std::max(s.now, s.arrival[net * devices_ + from]) + model_.transfer(net, from, d);
          }
        } else {
          for (std::size_t from = 0; from < devices_; ++from)
            there = std::min(there, ends_[producer * devices_ + from] + model_.transfer(net, from, d));
        }
        ready = std::max(ready, there);
      }
      if (seconds > 0) ready = std::max(ready, s.free[d]);
      starts_[op * devices_ + d] = ready;
      ends_[op * devices_ + d] = ready + seconds;
      least = std::min(least, ready + seconds);
    }
    if (least == kInfinity) return kInfinity;
    path_[op_model_[op]] = std::max(path_[op_model_[op]], least);
    work_[op_model_[op]] += op_work_[op];
  }
  double sum = 0;
  for (std::size_t m = 0; m < weight_.size(); ++m) sum += weight_[m] * path_[m];
  return sum >= cutoff_ ? sum : std::max(sum, oneMachine(s));
}

// When devices can have done so much weighted work: capacity grows as they become free.
double StateSearch::timeOfWork(const State& s, double work) const {
  double time = s.now;
  while (true) {
    double rate = 0, until = kInfinity;
    for (std::size_t d = 0; d < devices_; ++d) {
      if (s.free[d] <= time)
        rate += speed_[d];
      else
        until = std::min(until, s.free[d]);
    }
    if (until == kInfinity || work <= rate * (until - time)) return rate > 0 ? time + work / rate : time;
    work -= rate * (until - time);
    time = until;
  }
}

// Whatever order the models that are left end in, each ends no earlier than its path, nor than devices can
// have done its work and that of those before it. Few models: the best of all orders. Many: the k-th end is
// no earlier than the k-th path, nor than the work of the k smallest, and the largest weights go with the
// earliest ends.
double StateSearch::oneMachine(const State& s) {
  double sum = 0;
  left_.clear();
  for (std::uint32_t m = 0; m < weight_.size(); ++m) {
    if (work_[m] <= 0)
      sum += weight_[m] * path_[m];
    else
      left_.push_back(m);
  }
  if (left_.size() <= 3) {
    double best = kInfinity;
    do {
      double total = 0, order_sum = 0;
      for (const std::uint32_t m : left_) {
        total += work_[m];
        order_sum += weight_[m] * std::max(path_[m], timeOfWork(s, total));
      }
      best = std::min(best, order_sum);
    } while (std::next_permutation(left_.begin(), left_.end()));
    return sum + best;
  }
  sorted_.clear();
  weights_down_.clear();
  small_first_.clear();
  for (const std::uint32_t m : left_) {
    sorted_.push_back(path_[m]);
    weights_down_.push_back(weight_[m]);
    small_first_.push_back(work_[m]);
  }
  std::sort(sorted_.begin(), sorted_.end());
  std::sort(small_first_.begin(), small_first_.end());
  std::sort(weights_down_.begin(), weights_down_.end(), std::greater<>());
  double total = 0;
  for (std::size_t k = 0; k < sorted_.size(); ++k) {
    total += small_first_[k];
    sum += weights_down_[k] * std::max(timeOfWork(s, total), sorted_[k]);
  }
  return sum;
}

// Raises times to where they begin to matter, as `bound` has found: states that differ only in time that
// nothing can use become alike.
void StateSearch::raiseTimes(State& s) const {
  double first = kInfinity;
  for (std::size_t d = 0; d < devices_; ++d) {
    double use = kInfinity;
    for (std::size_t op = 0; op < n_; ++op) {
      const double start = starts_[op * devices_ + d];
      first = std::min(first, start);
      if (start < use && model_.time(op, d) > 0) use = start;
    }
    s.free[d] = use < kInfinity ? std::max(s.free[d], use) : 0;
  }
  for (std::size_t net = 0; net < consumers_.size(); ++net) {
    const std::size_t producer = model_.net_producer[net];
    if ((s.done >> producer & 1) == 0) continue;
    for (std::size_t d = 0; d < devices_; ++d) {
      double& there = s.arrival[net * devices_ + d];
      // Transfers start at the producer's device.
      if (there == kInfinity || (ports_ && s.device[producer] == d)) continue;
      double use = kInfinity;
      for (const std::uint32_t c : model_.net_consumers[net]) use = std::min(use, starts_[c * devices_ + d]);
      there = use < kInfinity ? std::max(there, use) : 0;
    }
  }
  for (std::size_t m = 0; m < path_.size(); ++m) s.latest[m] = std::max(s.latest[m], path_[m]);
  if (!ports_) s.now = std::max(s.now, first);
}

}  // namespace allot
