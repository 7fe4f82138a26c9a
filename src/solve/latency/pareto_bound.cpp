#include "solve/latency/pareto_bound.h"

#include <algorithm>
#include <array>
#include <limits>

namespace allot {
namespace {
constexpr double kNever = std::numeric_limits<double>::infinity();
}

ParetoBound::ParetoBound(const ParetoModel& model)
    : model_(model),
      devices_(model.devices),
      finish_(model.ops * model.devices),
      head_(model.ops * model.devices),
      domain_(model.ops) {}

double ParetoBound::operator()(const Ideal& ideal, const Partial& partial, double target) {
  double bound = partial.value;
  if (!(bound < target) || !heads(ideal, partial, target, bound) || !loads(ideal, partial, target, bound))
    return kNever;
  return bound;
}

// What units, memory and transfers on their way leave.
std::uint16_t ParetoBound::startDomain(const Ideal& ideal, const Partial& partial, std::size_t op) const {
  const ExactWindow& window = *model_.window;
  std::uint16_t may = model_.allowed[op];
  const std::uint32_t unit = window.unit[op];
  bool open = false;
  if (model_.unit_ops[unit].size() > 1) {
    for (const std::uint16_t other : ideal.open_units) open = open || other == unit;
    if (open) may &= static_cast<std::uint16_t>(1u << partial.unit_device[unit]);
  }
  if (model_.memory && !open) {
    for (std::size_t d = 0; d < devices_; ++d) {
      if (partial.used[d] + window.unit_bytes[unit] > window.memory[d])
        may &= static_cast<std::uint16_t>(~(1u << d));
    }
  }
  if (model_.ports) {
    for (const std::uint16_t net : model_.inputs[op]) {
      // Who is the only one to read a net that was sent, runs where it was sent.
      if (ideal.done.test(window.nets[net].producer) && partial.sent[net] != 0 &&
          window.nets[net].consumers.size() == 1)
        may &= partial.sent[net];
    }
  }
  return may;
}

bool ParetoBound::heads(const Ideal& ideal, const Partial& partial, double target, double& bound) {
  const ExactWindow& window = *model_.window;
  for (const std::uint16_t op : ideal.rest) {
    const std::uint16_t may = startDomain(ideal, partial, op);
    double* head = &head_[op * devices_];
    const double* seconds = &window.seconds[op * devices_];
    for (std::size_t d = 0; d < devices_; ++d) head[d] = seconds[d] > 0 ? partial.free[d] : 0;
    for (const std::uint16_t n : model_.inputs[op]) {
      const ExactWindow::Net& net = window.nets[n];
      const std::size_t producer = net.producer;
      if (ideal.done.test(producer)) {
        const std::size_t from = partial.device[producer];
        const double end = partial.end[producer];
        const double* way = &net.seconds[from * devices_];
        if (!model_.ports) {
          for (std::size_t d = 0; d < devices_; ++d) head[d] = std::max(head[d], end + way[d]);
          continue;
        }
        for (std::size_t d = 0; d < devices_; ++d) {
          double there = end;
          if (d != from && way[d] > 0) {
            there =
                (partial.sent[n] >> d) & 1
                    ? partial.arrival[n * devices_ + d]
                    : std::max({end, partial.port[from], partial.port[model_.receive_offset + d]}) + way[d];
          }
          head[d] = std::max(head[d], there);
        }
        continue;
      }
      const double* finish = &finish_[producer * devices_];
      for (std::size_t d = 0; d < devices_; ++d) {
        double earliest = kNever;
        for (std::size_t from = 0; from < devices_; ++from)
          earliest = std::min(earliest, finish[from] + net.seconds[from * devices_ + d]);
        head[d] = std::max(head[d], earliest);
      }
    }
    std::uint16_t left = 0;
    double least = kNever;
    for (std::size_t d = 0; d < devices_; ++d) {
      double& finish = finish_[op * devices_ + d];
      finish = kNever;
      if (!((may >> d) & 1)) continue;
      const double end = head[d] + seconds[d];
      const double whole = end + model_.tail[op * devices_ + d];
      if (!(whole < target)) continue;
      left |= static_cast<std::uint16_t>(1u << d);
      finish = end;
      least = std::min(least, whole);
    }
    if (left == 0) return false;
    domain_[op] = left;
    bound = std::max(bound, least);
  }
  return bound < target;
}

bool ParetoBound::loads(const Ideal& ideal, const Partial& partial, double target, double& bound) const {
  const ExactWindow& window = *model_.window;
  std::array<double, ExactWindow::kMaxDevices> first, last, alone, alone_first, alone_last;
  for (std::size_t d = 0; d < devices_; ++d) {
    first[d] = last[d] = alone_first[d] = alone_last[d] = kNever;
    alone[d] = 0;
  }
  double work = 0;
  for (const std::uint16_t op : ideal.rest) {
    const std::uint16_t left = domain_[op];
    const double* head = &head_[op * devices_];
    const double* tail = &model_.tail[op * devices_];
    const double* seconds = &window.seconds[op * devices_];
    const bool single = (left & (left - 1)) == 0;
    double cost = kNever;
    for (std::size_t d = 0; d < devices_; ++d) {
      if (!((left >> d) & 1)) continue;
      if (!(seconds[d] > 0)) {
        cost = 0;
        continue;
      }
      const double busy = seconds[d] + window.launch[d];
      cost = std::min(cost, ideal.weight[d] * busy);
      first[d] = std::min(first[d], head[d]);
      last[d] = std::min(last[d], tail[d]);
      if (single) {
        alone[d] += busy;
        alone_first[d] = std::min(alone_first[d], head[d]);
        alone_last[d] = std::min(alone_last[d], tail[d]);
      }
    }
    work += cost;
  }
  double total = 0;
  for (std::size_t d = 0; d < devices_; ++d) {
    if (alone[d] > 0) bound = std::max(bound, alone_first[d] + alone[d] - window.launch[d] + alone_last[d]);
    if (first[d] == kNever) continue;
    total += ideal.weight[d];
    work += ideal.weight[d] * (first[d] + last[d] - window.launch[d]);
  }
  if (total > 0) bound = std::max(bound, work / total);
  if (!(bound < target)) return false;
  if (model_.memory) {
    double room = 0;
    for (std::size_t d = 0; d < devices_; ++d) room += window.memory[d] - partial.used[d];
    if (room < ideal.rest_bytes * (1 - 1e-12)) return false;
  }
  return true;
}

}  // namespace allot
