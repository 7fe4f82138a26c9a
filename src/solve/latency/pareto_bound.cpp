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
      bound_(devices_ == 2   ? &ParetoBound::boundWith<2>
             : devices_ == 3 ? &ParetoBound::boundWith<3>
             : devices_ == 4 ? &ParetoBound::boundWith<4>
                             : &ParetoBound::boundWith<0>),
      finish_(model.ops * model.devices),
      head_(model.ops * model.devices),
      tail_(model.tail),
      reach_(model.ops * model.devices),
      domain_(model.ops),
      on_device_(model.devices),
      on_port_(2 * model.devices) {}

template <int kDevices>
double ParetoBound::boundWith(const Ideal& ideal, const Partial& partial, double target) {
  double bound = partial.value;
  if (!(bound < target) || !heads<kDevices>(ideal, partial, target, bound, false)) return kNever;
  bool narrowed = false;
  if (!tails<kDevices>(ideal, target, bound, narrowed)) return kNever;
  if (narrowed && (!heads<kDevices>(ideal, partial, target, bound, true) ||
                   !tails<kDevices>(ideal, target, bound, narrowed)))
    return kNever;
  if (!loads<kDevices>(ideal, partial, target, bound) || !machines(ideal, partial, target, bound))
    return kNever;
  return bound;
}

// What units and memory leave.
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
  return may;
}

// `again`: the domains of before hold.
template <int kDevices>
bool ParetoBound::heads(const Ideal& ideal, const Partial& partial, double target, double& bound,
                        bool again) {
  const std::size_t devices = kDevices > 0 ? kDevices : devices_;
  const ExactWindow& window = *model_.window;
  const double* tails = again ? tail_.data() : model_.tail.data();
  for (const std::uint16_t op : ideal.rest) {
    std::uint16_t may = again ? domain_[op] : startDomain(ideal, partial, op);
    double* head = &head_[op * devices];
    const double* seconds = &window.seconds[op * devices];
    for (std::size_t d = 0; d < devices; ++d) head[d] = seconds[d] > 0 ? partial.free[d] : 0;
    for (const std::uint16_t n : model_.inputs[op]) {
      const std::size_t producer = model_.producer[n];
      if (!ideal.done.test(producer)) {
        const double* finish = &finish_[producer * devices];
        const double* way = &model_.way_back[n * devices * devices];
        for (std::size_t d = 0; d < devices; ++d) {
          double earliest = kNever;
          for (std::size_t from = 0; from < devices; ++from)
            earliest = std::min(earliest, finish[from] + way[d * devices + from]);
          head[d] = std::max(head[d], earliest);
        }
        continue;
      }
      const std::size_t from = partial.device[producer];
      const double end = partial.end[producer];
      const double* way = &model_.way[(n * devices + from) * devices];
      if (!model_.ports) {
        for (std::size_t d = 0; d < devices; ++d) head[d] = std::max(head[d], end + way[d]);
        continue;
      }
      const std::uint16_t sent = partial.sent[n];
      // Who is the only one to read a net that was sent, runs where it was sent.
      if (sent != 0 && model_.one_consumer[n]) may &= sent;
      for (std::size_t d = 0; d < devices; ++d) {
        double there = end;
        if (way[d] > 0) {
          there = (sent >> d) & 1
                      ? partial.arrival[n * devices + d]
                      : std::max({end, partial.port[from], partial.port[model_.receive_offset + d]}) + way[d];
        }
        head[d] = std::max(head[d], there);
      }
    }
    std::uint16_t left = 0;
    double least = kNever;
    for (std::size_t d = 0; d < devices; ++d) {
      const double end = head[d] + seconds[d];
      const double whole = end + tails[op * devices + d];
      const bool fits = ((may >> d) & 1) && whole < target;
      finish_[op * devices + d] = fits ? end : kNever;
      if (!fits) continue;
      left |= static_cast<std::uint16_t>(1u << d);
      least = std::min(least, whole);
    }
    if (left == 0) return false;
    domain_[op] = left;
    bound = std::max(bound, least);
  }
  return bound < target;
}

template <int kDevices>
bool ParetoBound::tails(const Ideal& ideal, double target, double& bound, bool& narrowed) {
  const std::size_t devices = kDevices > 0 ? kDevices : devices_;
  const ExactWindow& window = *model_.window;
  for (std::size_t r = ideal.rest.size(); r-- > 0;) {
    const std::size_t op = ideal.rest[r];
    double* tail = &tail_[op * devices];
    for (std::size_t d = 0; d < devices; ++d) tail[d] = window.tail[op * devices + d];
    for (const std::uint16_t n : model_.outputs[op]) {
      const double* way = &model_.way[n * devices * devices];
      for (const std::uint32_t reader : window.nets[n].consumers) {
        const double* reach = &reach_[reader * devices];
        for (std::size_t d = 0; d < devices; ++d) {
          double shortest = kNever;
          for (std::size_t to = 0; to < devices; ++to)
            shortest = std::min(shortest, way[d * devices + to] + reach[to]);
          tail[d] = std::max(tail[d], shortest);
        }
      }
    }
    std::uint16_t left = 0;
    double least = kNever;
    for (std::size_t d = 0; d < devices; ++d) {
      double& finish = finish_[op * devices + d];
      const double whole = finish + tail[d];
      if (!(whole < target)) {
        finish = kNever;
        reach_[op * devices + d] = kNever;
        continue;
      }
      reach_[op * devices + d] = window.seconds[op * devices + d] + tail[d];
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

template <int kDevices>
bool ParetoBound::loads(const Ideal& ideal, const Partial& partial, double target, double& bound) const {
  const std::size_t devices = kDevices > 0 ? kDevices : devices_;
  const ExactWindow& window = *model_.window;
  std::array<double, ExactWindow::kMaxDevices> first, last;
  for (std::size_t d = 0; d < devices; ++d) first[d] = last[d] = kNever;
  double work = 0;
  for (const std::uint16_t op : ideal.rest) {
    const std::uint16_t left = domain_[op];
    const double* head = &head_[op * devices];
    const double* tail = &tail_[op * devices];
    const double* seconds = &window.seconds[op * devices];
    double cost = kNever;
    for (std::size_t d = 0; d < devices; ++d) {
      if (!((left >> d) & 1)) continue;
      if (!(seconds[d] > 0)) {
        cost = 0;
        continue;
      }
      cost = std::min(cost, ideal.weight[d] * (seconds[d] + window.launch[d]));
      first[d] = std::min(first[d], head[d]);
      last[d] = std::min(last[d], tail[d]);
    }
    work += cost;
  }
  double total = 0;
  for (std::size_t d = 0; d < devices; ++d) {
    if (first[d] == kNever) continue;
    total += ideal.weight[d];
    work += ideal.weight[d] * (first[d] + last[d] - window.launch[d]);
  }
  if (total > 0) bound = std::max(bound, work / total);
  if (!(bound < target)) return false;
  if (!model_.memory) return true;
  double room = 0;
  for (std::size_t d = 0; d < devices; ++d) room += window.memory[d] - partial.used[d];
  return room >= ideal.rest_bytes * (1 - 1e-12);
}

double ParetoBound::jackson(std::vector<Item>& items) {
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
      item = open_.back();
      open_.pop_back();
    } else {
      item.seconds -= until - now;
      now = until;
    }
  }
  return most;
}

bool ParetoBound::machines(const Ideal& ideal, const Partial& partial, double target, double& bound) {
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
      on_device_[d].push_back(
          {head_[op * devices_ + d], seconds + window.launch[d], tail - window.launch[d]});
    if (!model_.ports) continue;
    for (const std::uint16_t n : model_.inputs[op]) {
      const std::size_t producer = model_.producer[n];
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
      const double way = model_.transfer(n, from, d);
      if (from == d || !(way > 0)) continue;
      // A net that several read on one device is sent there once: the first of them stands for all.
      bool counted = false;
      for (const std::uint32_t other : window.nets[n].consumers)
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

}  // namespace allot
