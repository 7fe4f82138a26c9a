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
      tail_(model.tail),
      domain_(model.ops),
      on_device_(model.devices),
      on_port_(2 * model.devices) {}

double ParetoBound::operator()(const Ideal& ideal, const Partial& partial, double target) {
  double bound = partial.value;
  if (!(bound < target) || !heads(ideal, partial, target, bound, false)) return kNever;
  bool narrowed = false;
  if (!tails(ideal, target, bound, narrowed)) return kNever;
  if (narrowed && (!heads(ideal, partial, target, bound, true) || !tails(ideal, target, bound, narrowed)))
    return kNever;
  if (!loads(ideal, partial, target, bound) || !machines(ideal, partial, target, bound)) return kNever;
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

// `again`: the domains of before hold.
bool ParetoBound::heads(const Ideal& ideal, const Partial& partial, double target, double& bound, bool again) {
  const ExactWindow& window = *model_.window;
  for (const std::uint16_t op : ideal.rest) {
    const std::uint16_t may = again ? domain_[op] : startDomain(ideal, partial, op);
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
      const double whole = end + (again ? tail_ : model_.tail)[op * devices_ + d];
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

bool ParetoBound::tails(const Ideal& ideal, double target, double& bound, bool& narrowed) {
  const ExactWindow& window = *model_.window;
  for (std::size_t r = ideal.rest.size(); r-- > 0;) {
    const std::size_t op = ideal.rest[r];
    double* tail = &tail_[op * devices_];
    for (std::size_t d = 0; d < devices_; ++d) tail[d] = window.tail[op * devices_ + d];
    for (const std::uint16_t n : model_.outputs[op]) {
      const ExactWindow::Net& net = window.nets[n];
      for (const std::uint32_t reader : net.consumers) {
        const double* behind = &tail_[reader * devices_];
        const double* seconds = &window.seconds[reader * devices_];
        for (std::size_t d = 0; d < devices_; ++d) {
          double shortest = kNever;
          for (std::size_t to = 0; to < devices_; ++to) {
            if ((domain_[reader] >> to) & 1)
              shortest = std::min(shortest, net.seconds[d * devices_ + to] + seconds[to] + behind[to]);
          }
          tail[d] = std::max(tail[d], shortest);
        }
      }
    }
    std::uint16_t left = 0;
    double least = kNever;
    for (std::size_t d = 0; d < devices_; ++d) {
      if (!((domain_[op] >> d) & 1)) continue;
      const double whole = finish_[op * devices_ + d] + tail[d];
      if (!(whole < target)) {
        finish_[op * devices_ + d] = kNever;
        continue;
      }
      left |= static_cast<std::uint16_t>(1u << d);
      least = std::min(least, whole);
    }
    if (left == 0) return false;
    narrowed = narrowed || left != domain_[op];
    domain_[op] = left;
    bound = std::max(bound, least);
  }
  return bound < target;
}

double ParetoBound::jackson(std::vector<Item>& items) const {
  std::sort(items.begin(), items.end(), [](const Item& a, const Item& b) { return a.head < b.head; });
  open_.clear();
  double now = 0, most = 0;
  std::size_t next = 0;
  while (next < items.size() || !open_.empty()) {
    if (open_.empty()) now = std::max(now, items[next].head);
    while (next < items.size() && items[next].head <= now) open_.push_back(items[next++]);
    std::size_t urgent = 0;
    for (std::size_t i = 1; i < open_.size(); ++i) {
      if (open_[i].tail > open_[urgent].tail) urgent = i;
    }
    const double until = next < items.size() ? items[next].head : kNever;
    Item& item = open_[urgent];
    if (now + item.seconds <= until) {
      now += item.seconds;
      most = std::max(most, now + item.tail);
      open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(urgent));
    } else {
      item.seconds -= until - now;
      now = until;
    }
  }
  return most;
}

bool ParetoBound::machines(const Ideal& ideal, const Partial& partial, double target, double& bound) const {
  const ExactWindow& window = *model_.window;
  for (auto& items : on_device_) items.clear();
  if (model_.ports) {
    for (auto& items : on_port_) items.clear();
  }
  const auto single = [](std::uint16_t left) { return (left & (left - 1)) == 0; };
  for (const std::uint16_t op : ideal.rest) {
    if (!single(domain_[op])) continue;
    const auto d = static_cast<std::size_t>(std::countr_zero(domain_[op]));
    const double seconds = window.seconds[op * devices_ + d], tail = tail_[op * devices_ + d];
    if (seconds > 0)
      on_device_[d].push_back({head_[op * devices_ + d], seconds + window.launch[d], tail - window.launch[d]});
    if (!model_.ports) continue;
    for (const std::uint16_t n : model_.inputs[op]) {
      const ExactWindow::Net& net = window.nets[n];
      const std::size_t producer = net.producer;
      std::size_t from;
      double head;
      if (ideal.done.test(producer)) {
        if ((partial.sent[n] >> d) & 1) continue;
        from = partial.device[producer];
        head = std::max({partial.end[producer], partial.port[from], partial.port[model_.receive_offset + d]});
      } else {
        if (!single(domain_[producer])) continue;
        from = static_cast<std::size_t>(std::countr_zero(domain_[producer]));
        head = finish_[producer * devices_ + from];
      }
      const double way = net.seconds[from * devices_ + d];
      if (from == d || !(way > 0)) continue;
      // A net that several read on one device is sent there once: the first of them stands for all.
      bool counted = false;
      for (const std::uint32_t other : net.consumers)
        counted = counted || (other < op && !ideal.done.test(other) && domain_[other] == domain_[op]);
      if (counted) continue;
      on_port_[from].push_back({head, way, seconds + tail});
      on_port_[model_.receive_offset + d].push_back({head, way, seconds + tail});
    }
  }
  for (auto& items : on_device_) {
    if (items.size() > 1) bound = std::max(bound, jackson(items));
  }
  if (model_.ports) {
    for (auto& items : on_port_) {
      if (items.size() > 1) bound = std::max(bound, jackson(items));
    }
  }
  return bound < target;
}

bool ParetoBound::loads(const Ideal& ideal, const Partial& partial, double target, double& bound) const {
  const ExactWindow& window = *model_.window;
  std::array<double, ExactWindow::kMaxDevices> first, last;
  for (std::size_t d = 0; d < devices_; ++d) {
    first[d] = last[d] = kNever;
  }
  double work = 0;
  for (const std::uint16_t op : ideal.rest) {
    const std::uint16_t left = domain_[op];
    const double* head = &head_[op * devices_];
    const double* tail = &tail_[op * devices_];
    const double* seconds = &window.seconds[op * devices_];
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
    }
    work += cost;
  }
  double total = 0;
  for (std::size_t d = 0; d < devices_; ++d) {
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
