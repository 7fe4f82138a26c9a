#include "solve/latency/pareto_model.h"

#include <algorithm>
#include <cmath>

namespace allot {

ParetoModel::ParetoModel(const ExactWindow& source)
    : window(&source),
      ops(source.opCount()),
      devices(source.devices),
      units(ops == 0 ? 0 : *std::max_element(source.unit.begin(), source.unit.end()) + std::size_t{1}),
      ports(source.link_mode != LinkMode::kFree),
      receive_offset(source.link_mode == LinkMode::kHalfDuplex ? 0 : devices),
      memory(!source.memory.empty()) {
  std::vector<std::vector<std::uint16_t>> in(ops), out(ops);
  for (std::size_t n = 0; n < source.nets.size(); ++n) {
    const ExactWindow::Net& net = source.nets[n];
    out[net.producer].push_back(static_cast<std::uint16_t>(n));
    for (const std::uint32_t consumer : net.consumers) in[consumer].push_back(static_cast<std::uint16_t>(n));
    producer.push_back(static_cast<std::uint16_t>(net.producer));
    one_consumer.push_back(net.consumers.size() == 1 && net.arrived.empty());
    way.insert(way.end(), net.seconds.begin(), net.seconds.end());
    for (std::size_t to = 0; to < devices; ++to) {
      for (std::size_t from = 0; from < devices; ++from) way_back.push_back(net.seconds[from * devices + to]);
    }
    timed.push_back(std::any_of(net.seconds.begin(), net.seconds.end(), [](double s) { return s > 0; }));
  }
  std::size_t last_ops = 0;
  for (std::size_t op = 0; op < ops; ++op) {
    inputs.items.insert(inputs.items.end(), in[op].begin(), in[op].end());
    inputs.closeRow();
    outputs.items.insert(outputs.items.end(), out[op].begin(), out[op].end());
    outputs.closeRow();
    std::uint16_t may = 0;
    takes_time.push_back(1);
    for (std::size_t d = 0; d < devices; ++d) {
      if (!(time(op, d) > 0)) takes_time.back() = 0;
      if (time(op, d) < kCannotRun) may |= static_cast<std::uint16_t>(1u << d);
    }
    allowed.push_back(may);
    const auto tails = source.tail.begin() + static_cast<std::ptrdiff_t>(op * devices);
    const bool ends = std::any_of(tails, tails + static_cast<std::ptrdiff_t>(devices),
                                  [](double time) { return time > 0; });
    if (out[op].empty() || ends) ++last_ops;
  }
  many_ends = last_ops > 1;
  for (std::size_t u = 0; u < units; ++u) {
    for (std::size_t op = 0; op < ops; ++op) {
      if (source.unit[op] == u) unit_ops.items.push_back(static_cast<std::uint16_t>(op));
    }
    unit_ops.closeRow();
  }
  findTails();
  findSymmetry();
}

void ParetoModel::findTails() {
  tail = window->tail;
  for (std::size_t op = ops; op-- > 0;) {
    for (std::size_t from = 0; from < devices; ++from) {
      if (!(time(op, from) < kCannotRun)) continue;
      double& longest = tail[op * devices + from];
      for (const std::uint16_t net : outputs[op]) {
        for (const std::uint32_t reader : window->nets[net].consumers) {
          double shortest = kCannotRun;
          for (std::size_t to = 0; to < devices; ++to) {
            if (!(time(reader, to) < kCannotRun)) continue;
            double between = transfer(net, from, to);
            if (from == to && time(op, from) > 0 && time(reader, from) > 0) between = window->launch[from];
            shortest = std::min(shortest, between + time(reader, to) + tail[reader * devices + to]);
          }
          longest = std::max(longest, shortest);
        }
      }
    }
  }
}

// Two devices are the same when exchanging them changes nothing: times, tails, memory, launch, entry, links.
void ParetoModel::findSymmetry() {
  const auto same = [&](std::size_t a, std::size_t b) {
    const ExactWindow& w = *window;
    if (w.launch[a] != w.launch[b] || w.device_free[a] != w.device_free[b] ||
        w.send_free[a] != w.send_free[b] || w.receive_free[a] != w.receive_free[b] ||
        (memory && w.memory[a] != w.memory[b]) || w.exit != ExactWindow::kNoExit)
      return false;
    for (std::size_t op = 0; op < ops; ++op) {
      if (time(op, a) != time(op, b) || w.tail[op * devices + a] != w.tail[op * devices + b]) return false;
      if (w.done_on[op] == a || w.done_on[op] == b) return false;
    }
    for (std::size_t n = 0; n < w.nets.size(); ++n) {
      if (transfer(n, a, b) != transfer(n, b, a)) return false;
      for (std::size_t d = 0; d < devices; ++d) {
        if (d == a || d == b) continue;
        if (transfer(n, a, d) != transfer(n, b, d) || transfer(n, d, a) != transfer(n, d, b)) return false;
      }
    }
    return true;
  };
  for (std::uint32_t d = 0; d < devices; ++d) {
    symmetric.push_back(d);
    for (std::uint32_t first = 0; first < d; ++first) {
      if (symmetric[first] == first && same(first, d)) {
        symmetric[d] = first;
        break;
      }
    }
  }
}

Partial ParetoModel::start() const {
  Partial partial;
  for (std::size_t d = 0; d < devices; ++d) {
    partial.free[d] = window->device_free[d];
    partial.port[d] = window->send_free[d];
    if (receive_offset > 0)
      partial.port[receive_offset + d] = window->receive_free[d];
    else
      partial.port[d] = std::max(window->send_free[d], window->receive_free[d]);
  }
  partial.device.assign(ops, 0);
  partial.end.assign(ops, 0);
  partial.unit_device.assign(units, 0);
  partial.sent.assign(window->nets.size(), 0);
  partial.arrival.assign(window->nets.size() * devices, 0);
  for (std::size_t op = 0; op < ops; ++op) {
    if (window->done_on[op] == ExactWindow::kToDo) continue;
    partial.device[op] = static_cast<std::uint16_t>(window->done_on[op]);
    partial.end[op] = window->done_at[op];
    partial.unit_device[window->unit[op]] = partial.device[op];
  }
  for (std::size_t n = 0; n < window->nets.size(); ++n) {
    const std::vector<double>& arrived = window->nets[n].arrived;
    for (std::size_t d = 0; d < arrived.size(); ++d) {
      if (!(arrived[d] < kCannotRun)) continue;
      partial.sent[n] |= static_cast<std::uint16_t>(1u << d);
      partial.arrival[n * devices + d] = arrived[d];
    }
  }
  return partial;
}

std::uint32_t ParetoModel::firstIdeal() {
  OpMask done;
  for (std::size_t op = 0; op < ops; ++op) {
    if (window->done_on[op] != ExactWindow::kToDo) done.set(op);
  }
  return add(done, nullptr);
}

std::uint32_t ParetoModel::childIdeal(std::uint32_t parent, std::size_t ready_index) {
  const std::uint32_t known = ideals_[parent].child[ready_index];
  if (known != Ideal::kUnknown) return known;
  OpMask done = ideals_[parent].done;
  done.set(ideals_[parent].ready[ready_index]);
  const auto found = index_.find(done);
  const std::uint32_t child = found != index_.end() ? found->second : add(done, &ideals_[parent].weight);
  ideals_[parent].child[ready_index] = child;
  return child;
}

std::uint32_t ParetoModel::add(const OpMask& done, const std::vector<double>* weight) {
  Ideal ideal;
  ideal.done = done;
  for (std::size_t op = 0; op < ops; ++op) {
    const auto id = static_cast<std::uint16_t>(op);
    if (done.test(op)) {
      ++ideal.done_count;
      bool live = false;
      for (const std::uint16_t net : outputs[op]) {
        const auto& consumers = window->nets[net].consumers;
        if (std::all_of(consumers.begin(), consumers.end(), [&](std::uint32_t c) { return done.test(c); }))
          continue;
        live = true;
        ideal.open_nets.push_back(net);
        if (ports && timed[net]) ideal.nets.push_back(net);
      }
      if (live) ideal.live.push_back(id);
      continue;
    }
    ideal.rest.push_back(id);
    const auto in = inputs[op];
    if (std::all_of(in.begin(), in.end(),
                    [&](std::uint16_t net) { return done.test(window->nets[net].producer); }))
      ideal.ready.push_back(id);
  }
  ideal.child.assign(ideal.ready.size(), Ideal::kUnknown);
  for (std::size_t u = 0; u < units; ++u) {
    std::size_t ended = 0;
    for (const std::uint16_t op : unit_ops[u]) ended += done.test(op);
    if (ended > 0 && ended < unit_ops[u].size()) ideal.open_units.push_back(static_cast<std::uint16_t>(u));
    if (ended == 0 && memory) ideal.rest_bytes += window->unit_bytes[u];
  }
  weigh(ideal, weight);
  const auto index = static_cast<std::uint32_t>(ideals_.size());
  ideals_.push_back(std::move(ideal));
  index_.emplace(done, index);
  return index;
}

// Weights under which the rest is as much work as possible: any weights give a valid bound.
void ParetoModel::weigh(Ideal& ideal, const std::vector<double>* from) const {
  const int rounds = from != nullptr ? 6 : 40;
  std::vector<double> weight = from != nullptr ? *from : std::vector<double>(devices, 1.0);
  std::vector<double> load(devices);
  ideal.weight = weight;
  double best = 0;
  for (int round = 0; round < rounds; ++round) {
    std::fill(load.begin(), load.end(), 0);
    double work = 0, total = 0;
    for (const std::uint16_t op : ideal.rest) {
      std::size_t least = devices;
      double cost = kCannotRun;
      for (std::size_t d = 0; d < devices; ++d) {
        if (weight[d] * time(op, d) < cost) cost = weight[d] * time(op, d), least = d;
      }
      if (least == devices) continue;
      work += cost;
      load[least] += time(op, least);
    }
    double largest = 0;
    for (std::size_t d = 0; d < devices; ++d) total += weight[d], largest = std::max(largest, load[d]);
    if (work > best * total) best = work / total, ideal.weight = weight;
    if (largest <= 0) break;
    const double step = 0.6 / std::sqrt(1.0 + round);
    for (std::size_t d = 0; d < devices; ++d) weight[d] *= std::exp(step * (load[d] / largest - 1));
  }
}

}  // namespace allot
