#include "evaluate/sweep.h"

#include <algorithm>
#include <numeric>

namespace allot {

void listConsumers(const Problem& problem, std::span<const DeviceId> assignment,
                   std::vector<PlanTransfer>& transfers, bool by_first) {
  Csr<std::uint32_t> by_tensor;
  std::vector<std::uint32_t> next(problem.graph.tensorCount() + 1, 0);
  for (const PlanTransfer& transfer : transfers) ++next[transfer.tensor.index() + 1];
  std::partial_sum(next.begin(), next.end(), next.begin());
  by_tensor.begin = next;
  by_tensor.items.resize(transfers.size());
  for (std::uint32_t i = 0; i < transfers.size(); ++i)
    by_tensor.items[next[transfers[i].tensor.index()]++] = i;
  std::vector<std::vector<OpId>> on(problem.deviceCount());  // consumers of the tensor at hand
  for (std::size_t t = 0; t < by_tensor.rows(); ++t) {
    if (by_tensor[t].empty()) continue;
    const auto consumers = problem.graph.consumers(TensorId(t));
    for (const OpId consumer : consumers) on[assignment[consumer.index()].index()].push_back(consumer);
    for (const std::uint32_t i : by_tensor[t]) {
      std::vector<OpId>& there = on[transfers[i].to.index()];
      const bool keep = !there.empty() && (!by_first || transfers[i].consumers.front() == there.front());
      transfers[i].consumers = keep ? there : std::vector<OpId>();
    }
    for (const OpId consumer : consumers) on[assignment[consumer.index()].index()].clear();
  }
  std::erase_if(transfers, [](const PlanTransfer& transfer) { return transfer.consumers.empty(); });
}

double scheduleValue(const Problem& problem, std::span<const double> end, std::vector<double>& completion) {
  completion.assign(problem.graph.modelCount(), 0);
  for (std::size_t i = 0; i < end.size(); ++i) {
    double& latest = completion[problem.graph.op_model[i].index()];
    latest = std::max(latest, end[i]);
  }
  double value = 0;
  for (std::size_t m = 0; m < completion.size(); ++m) {
    if (problem.goal() == Goal::kCompletion)
      value += problem.model_weight[m] * completion[m];
    else
      value = std::max(value, completion[m]);
  }
  return value;
}

Sweep::Sweep(const Problem& problem)
    : problem_(problem),
      devices_(problem.deviceCount()),
      free_(problem.modes.link_mode == LinkMode::kFree),
      once_(problem.modes.send == Send::kOnce),
      completion_(problem.goal() == Goal::kCompletion),
      end_(problem.opCount()),
      device_free_(devices_),
      port_free_(2 * devices_),
      receive_offset_(problem.modes.link_mode == LinkMode::kHalfDuplex ? 0 : devices_) {
  const OpGraph& graph = problem.graph;
  for (std::size_t i = 0; i < problem.opCount(); ++i) {
    for (const TensorId tensor : graph.inputs(OpId(i))) {
      const bool matrix = problem.tensor_matrix[tensor.index()] >= 0;
      in_edges_.items.push_back(
          {graph.producer(tensor), tensor, matrix ? std::nan("") : problem.tensor_seconds[tensor.index()]});
    }
    in_edges_.closeRow();
    if (!free_) continue;
    const auto edges = in_edges_[i];
    FirstInputs first{{static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(i)}, {0, 0}};
    for (std::size_t k = 0; k < 2 && !edges.empty(); ++k) {
      const Edge& edge = edges[std::min(k, edges.size() - 1)];
      first.producer[k] = edge.producer.value;
      first.seconds[k] = edge.seconds;
    }
    first_inputs_.push_back(first);
  }
  for (std::size_t d = 0; d < devices_; ++d) {
    class_of_.push_back(problem.cluster.devices[d].cls.value);
    launch_.push_back(problem.cluster.classOf(DeviceId(d)).launch_seconds);
  }
  if (!free_ && once_) arrival_.resize(graph.tensorCount() * devices_);
}

double Sweep::run(std::span<const OpId> order, std::span<const DeviceId> assignment) {
  return sweep<false>(order, assignment, nullptr);
}

double Sweep::record(std::span<const OpId> order, std::span<const DeviceId> assignment, Plan& plan) {
  plan.start.assign(problem_.opCount(), 0);
  plan.end.assign(problem_.opCount(), 0);
  plan.transfers.clear();
  const double value = sweep<true>(order, assignment, &plan);
  // In link mode free nothing is remembered and every consumer has listed the transfer: that of the first
  // stands for all.
  if (once_) listConsumers(problem_, assignment, plan.transfers, free_);
  return value;
}

void Sweep::begin() {
  std::fill(device_free_.begin(), device_free_.end(), 0);
  std::fill(port_free_.begin(), port_free_.end(), 0);
  ++stamp_;
  sent_.clear();
}

double Sweep::append(OpId op, std::span<const DeviceId> assignment) {
  const DeviceId on = assignment[op.index()];
  double ready = completion_ ? problem_.model_release[problem_.graph.op_model[op.index()].index()] : 0;
  appending_ = true;
  ready = free_ ? readyFree(op, on, ready, assignment)
                : readyWithPorts<false>(op, on, ready, assignment, nullptr);
  appending_ = false;
  const double seconds =
      problem_.op_seconds[op.index() * problem_.cluster.classCount() + class_of_[on.index()]];
  if (seconds > 0) {
    ready = std::max(ready, device_free_[on.index()]) + seconds;
    device_free_[on.index()] = ready + launch_[on.index()];
  }
  return end_[op.index()] = ready;
}

void Sweep::mark(Mark& mark) const {
  mark.free.assign(device_free_.begin(), device_free_.end());
  mark.free.insert(mark.free.end(), port_free_.begin(), port_free_.end());
  mark.sent = sent_.size();
}

void Sweep::undo(const Mark& mark) {
  const auto ports = mark.free.begin() + static_cast<std::ptrdiff_t>(devices_);
  std::copy(mark.free.begin(), ports, device_free_.begin());
  std::copy(ports, mark.free.end(), port_free_.begin());
  for (; sent_.size() > mark.sent; sent_.pop_back()) arrival_[sent_.back()].stamp = 0;
}

template <bool kRecord>
double Sweep::sweep(std::span<const OpId> order, std::span<const DeviceId> assignment, Plan* plan) {
  std::fill(device_free_.begin(), device_free_.end(), 0);
  std::fill(port_free_.begin(), port_free_.end(), 0);
  ++stamp_;
  const std::size_t classes = problem_.cluster.classCount();
  const double* op_seconds = problem_.op_seconds.data();
  const std::uint32_t* row = in_edges_.begin.data();
  double* ends = end_.data();
  double latest = 0;
  for (const OpId op : order) {
    const DeviceId on = assignment[op.index()];
    double ready = completion_ ? problem_.model_release[problem_.graph.op_model[op.index()].index()] : 0;
    if (free_ && !kRecord) {
      ends[op.index()] = 0;
      const FirstInputs& inputs = first_inputs_[op.index()];
      const auto crossing = [&](int k) {
        return assignment[inputs.producer[k]] != on ? inputs.seconds[k] : 0.0;
      };
      const double a = ends[inputs.producer[0]] + crossing(0);
      const double b = ends[inputs.producer[1]] + crossing(1);
      if (!std::isnan(a + b) && row[op.index() + 1] - row[op.index()] <= 2) {
        ready = std::max(ready, std::max(a, b));
      } else {
        ready = readyFree(op, on, ready, assignment);
      }
    } else {
      ready = readyWithPorts<kRecord>(op, on, ready, assignment, plan);
    }
    const double seconds = op_seconds[op.index() * classes + class_of_[on.index()]];
    double end = ready;
    if (seconds > 0) {
      ready = std::max(ready, device_free_[on.index()]);
      end = ready + seconds;
      device_free_[on.index()] = end + launch_[on.index()];
    }
    ends[op.index()] = end;
    latest = std::max(latest, end);
    if constexpr (kRecord) {
      plan->start[op.index()] = ready;
      plan->end[op.index()] = end;
    }
  }
  if (!completion_) return latest;
  return scheduleValue(problem_, end_, model_end_);
}

double Sweep::readyFree(OpId op, DeviceId to, double ready, std::span<const DeviceId> assignment) const {
  for (const Edge& edge : in_edges_[op.index()]) {
    const DeviceId from = assignment[edge.producer.index()];
    double there = end_[edge.producer.index()];
    if (from != to) there += pairSeconds(edge, from, to);
    ready = std::max(ready, there);
  }
  return ready;
}

template <bool kRecord>
double Sweep::readyWithPorts(OpId op, DeviceId to, double ready, std::span<const DeviceId> assignment,
                             Plan* plan) {
  crossing_.clear();
  for (const Edge& edge : in_edges_[op.index()]) {
    if (assignment[edge.producer.index()] == to)
      ready = std::max(ready, end_[edge.producer.index()]);
    else
      crossing_.push_back(&edge);
  }
  if (crossing_.size() > 1) {
    std::sort(crossing_.begin(), crossing_.end(), [&](const Edge* a, const Edge* b) {
      const double x = end_[a->producer.index()], y = end_[b->producer.index()];
      return x != y ? x < y : a < b;
    });
  }
  for (const Edge* edge : crossing_) {
    const DeviceId from = assignment[edge->producer.index()];
    Arrival* known = arrival_.empty() ? nullptr : &arrival_[edge->tensor.index() * devices_ + to.index()];
    if (known != nullptr && known->stamp == stamp_) {
      ready = std::max(ready, known->seconds);
      continue;
    }
    const double seconds = pairSeconds(*edge, from, to);
    double start = end_[edge->producer.index()];
    double end = start + seconds;
    if (!free_ && seconds > 0) {
      double& send = port_free_[from.index()];
      double& receive = port_free_[receive_offset_ + to.index()];
      start = std::max({start, send, receive});
      end = start + seconds;
      send = receive = end;
    }
    if (known != nullptr) {
      *known = {stamp_, end};
      if (appending_) sent_.push_back(static_cast<std::size_t>(known - arrival_.data()));
    }
    ready = std::max(ready, end);
    if constexpr (kRecord) {
      if (problem_.isOrder(edge->tensor)) continue;
      plan->transfers.push_back({edge->tensor, {op}, from, to, start, end});
    }
  }
  return ready;
}

}  // namespace allot
