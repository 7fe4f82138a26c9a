#include <algorithm>
#include <limits>

#include "solve/latency/pareto_bound.h"

namespace allot {
namespace {
constexpr double kNever = std::numeric_limits<double>::infinity();
}

void ParetoBound::lift(const Ideal& ideal, Partial& partial) const {
  const ExactWindow& window = *model_.window;
  for (std::size_t d = 0; d < devices_; ++d) {
    double first = kNever;
    for (const std::uint16_t op : ideal.rest) {
      if (((domain_[op] >> d) & 1) && window.seconds[op * devices_ + d] > 0)
        first = std::min(first, head_[op * devices_ + d]);
    }
    partial.free[d] = std::max(partial.free[d], first);
  }
  if (model_.ports) liftPorts(ideal, partial);
  for (const std::uint16_t op : ideal.live) liftEnd(ideal, op, partial);
  for (const std::uint16_t n : ideal.nets) {
    for (std::size_t d = 0; d < devices_; ++d) {
      if (!((partial.sent[n] >> d) & 1)) continue;
      double first = kNever;
      for (const std::uint32_t reader : window.nets[n].consumers) {
        if (!ideal.done.test(reader) && ((domain_[reader] >> d) & 1))
          first = std::min(first, head_[reader * devices_ + d]);
      }
      double& arrival = partial.arrival[n * devices_ + d];
      arrival = std::max(arrival, first);
    }
  }
}

// A port matters from the first transfer on that may still use it.
void ParetoBound::liftPorts(const Ideal& ideal, Partial& partial) const {
  const ExactWindow& window = *model_.window;
  const std::size_t in = model_.receive_offset;
  std::array<double, 2 * ExactWindow::kMaxDevices> first;
  first.fill(kNever);
  for (std::size_t n = 0; n < window.nets.size(); ++n) {
    if (!model_.timed[n]) continue;
    const std::size_t producer = model_.producer[n];
    const bool done = ideal.done.test(producer);
    if (done && partial.sent[n] != 0 && model_.one_consumer[n]) continue;
    std::uint16_t to = 0;
    for (const std::uint32_t reader : window.nets[n].consumers) {
      if (!ideal.done.test(reader)) to |= domain_[reader];
    }
    if (done) to &= static_cast<std::uint16_t>(~partial.sent[n]);
    if (to == 0) continue;
    for (std::size_t from = 0; from < devices_; ++from) {
      if (done ? partial.device[producer] != from : !((domain_[producer] >> from) & 1)) continue;
      const double ready = done ? partial.end[producer] : finish_[producer * devices_ + from];
      for (std::size_t d = 0; d < devices_; ++d) {
        if (!((to >> d) & 1) || !(model_.transfer(n, from, d) > 0)) continue;
        const double start = std::max({ready, partial.port[from], partial.port[in + d]});
        first[from] = std::min(first[from], start);
        first[in + d] = std::min(first[in + d], start);
      }
    }
  }
  for (std::size_t p = 0; p < in + devices_; ++p) partial.port[p] = std::max(partial.port[p], first[p]);
}

// The end of a live op matters from the first read of it on: on its own device, or, on others, by its arrival
// there (or the start of its transfer where that needs ports).
void ParetoBound::liftEnd(const Ideal& ideal, std::size_t op, Partial& partial) const {
  const ExactWindow& window = *model_.window;
  const std::size_t from = partial.device[op];
  double first = kNever;
  for (const std::uint16_t n : model_.outputs[op]) {
    const double* way = &model_.way[(n * devices_ + from) * devices_];
    const bool sent = model_.ports && partial.sent[n] != 0 && model_.one_consumer[n];
    if (sent) continue;
    for (const std::uint32_t reader : window.nets[n].consumers) {
      if (ideal.done.test(reader)) continue;
      for (std::size_t d = 0; d < devices_; ++d) {
        if (!((domain_[reader] >> d) & 1)) continue;
        if (!model_.ports || !(way[d] > 0))
          first = std::min(first, head_[reader * devices_ + d] - way[d]);
        else if (!((partial.sent[n] >> d) & 1))
          first = std::min(first, std::max(partial.port[from], partial.port[model_.receive_offset + d]));
      }
    }
  }
  partial.end[op] = std::max(partial.end[op], first);
}

}  // namespace allot
