#include "check/clock.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace allot {
namespace {

using Table = Problem::ShortTime::Table;

constexpr double kNoLink = std::numeric_limits<double>::infinity();

}  // namespace

Clock::Clock(const Problem& problem, bool via_host) : problem_(problem), via_host_(via_host) {
  op_seconds_ = given(Table::kOp, problem.op_seconds);
  tensor_seconds_ = given(Table::kTensor, problem.tensor_seconds);
  matrices_ = given(Table::kMatrix, problem.matrices);
  for (std::size_t d = 0; via_host && d < problem.deviceCount(); ++d) {
    to_host_.push_back(problem.cluster.linkToHost(DeviceId(d), false));
    from_host_.push_back(problem.cluster.linkFromHost(DeviceId(d), false));
  }
  step_ = std::ldexp(longestOfAll(), -50);
  const double theirs = problem.clockStep();
  if (std::fabs(step_ - theirs) <= 1e-9 * std::max(step_, theirs)) step_ = theirs;
}

// Nothing is copied where no time was too short.
std::span<const double> Clock::given(Table table, const std::vector<double>& now) {
  if (problem_.shortTimes().empty()) return now;
  return own_tables_[static_cast<std::size_t>(table)] = problem_.givenTimes(table);
}

double Clock::longestOfAll() const {
  double sum = 0;
  for (const double release : problem_.model_release) sum = std::max(sum, release);
  const std::size_t classes = problem_.cluster.classCount();
  for (std::size_t i = 0; i < problem_.opCount(); ++i) {
    double longest = 0;
    for (const double seconds : op_seconds_.subspan(i * classes, classes)) {
      if (std::isfinite(seconds)) longest = std::max(longest, seconds);
    }
    sum += longest;
  }
  return sum + longestTransfers();
}

double Clock::longestTransfers() const {
  const std::size_t devices = problem_.deviceCount();
  SlowLinks slow;
  for (std::size_t a = 0; a < devices; ++a) {
    if (via_host_ && !problem_.cluster.isAccelerator(DeviceId(a))) continue;
    for (std::size_t b = 0; !via_host_ && b < devices; ++b) {
      if (a != b) slow.add(problem_.pairLink(DeviceId(a), DeviceId(b)));
    }
    if (!via_host_) continue;
    slow.add(to_host_[a]);
    slow.add(from_host_[a]);
  }
  slow.settle();
  std::vector<double> of_matrix(devices == 0 ? 0 : matrices_.size() / (devices * devices), 0);
  for (std::size_t cell = 0; cell < of_matrix.size() * devices * devices; ++cell) {
    const std::size_t from = cell / devices % devices, to = cell % devices;
    double& longest = of_matrix[cell / (devices * devices)];
    if (from != to) longest = std::max(longest, matrices_[cell]);
  }
  double sum = 0;
  for (std::size_t t = 0; t < problem_.firstOrderTensor(); ++t) {
    const std::int32_t matrix = problem_.tensor_matrix[t];
    const double single = tensor_seconds_[t];
    const double longest = matrix >= 0           ? of_matrix[static_cast<std::size_t>(matrix)]
                           : !std::isnan(single) ? single
                                                 : slow.seconds(problem_.graph.tensor_bytes[t]);
    sum += longest * static_cast<double>(problem_.graph.consumers(TensorId(t)).size());
  }
  return sum;
}

void Clock::compareTables(Findings& findings) const {
  const Problem& problem = problem_;
  for (std::size_t i = 0; i < op_seconds_.size(); ++i) {
    if (problem.op_seconds[i] == onClock(op_seconds_[i])) continue;
    const std::size_t classes = problem.cluster.classCount();
    findings.add("op \"{}\" counts as {} s on class \"{}\" in the problem but as {} s by the clock's rule",
                 problem.graph.op_name[i / classes], problem.op_seconds[i],
                 problem.cluster.classes[i % classes].name, onClock(op_seconds_[i]));
  }
  for (std::size_t t = 0; t < tensor_seconds_.size(); ++t) {
    if (std::isnan(tensor_seconds_[t]) || problem.tensor_seconds[t] == onClock(tensor_seconds_[t])) continue;
    findings.add("tensor {} of op \"{}\" counts as {} s in the problem but as {} s by the clock's rule", t,
                 problem.graph.op_name[problem.graph.tensor_producer[t].index()], problem.tensor_seconds[t],
                 onClock(tensor_seconds_[t]));
  }
  for (std::size_t cell = 0; cell < matrices_.size(); ++cell) {
    if (std::isnan(matrices_[cell]) || problem.matrices[cell] == onClock(matrices_[cell])) continue;
    findings.add(
        "entry {} of the matrices of transfer times counts as {} s in the problem but as {} s by "
        "the clock's rule",
        cell, problem.matrices[cell], onClock(matrices_[cell]));
  }
}

double Clock::transferSeconds(TensorId tensor, DeviceId from, DeviceId to) const {
  if (from == to) return 0;
  const std::size_t t = tensor.index(), devices = problem_.deviceCount();
  if (const std::int32_t matrix = problem_.tensor_matrix[t]; matrix >= 0) {
    const std::size_t row = static_cast<std::size_t>(matrix) * devices + from.index();
    return onClock(matrices_[row * devices + to.index()]);
  }
  if (!std::isnan(tensor_seconds_[t])) return onClock(tensor_seconds_[t]);
  const Link* link = problem_.pairLink(from, to);
  return link == nullptr ? kNoLink : onClock(link->seconds(problem_.graph.tensor_bytes[t]));
}

double Clock::hostSeconds(TensorId tensor, const Link* link) const {
  const std::size_t t = tensor.index();
  if (!std::isnan(tensor_seconds_[t])) return onClock(tensor_seconds_[t]);
  return link == nullptr ? kNoLink : onClock(link->seconds(problem_.graph.tensor_bytes[t]));
}

double Clock::toHostSeconds(TensorId tensor, DeviceId device) const {
  return hostSeconds(tensor, to_host_[device.index()]);
}

double Clock::fromHostSeconds(TensorId tensor, DeviceId device) const {
  return hostSeconds(tensor, from_host_[device.index()]);
}

}  // namespace allot
