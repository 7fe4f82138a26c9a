#include "evaluate/live_memory.h"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

namespace allot {
namespace {

struct Change {
  double time;
  std::int64_t bytes;  // frees are negative and sort first at equal times
};

struct Received {
  TensorId tensor;
  DeviceId to;
  double from, until;
};

// What a model is given lies on each device that reads it from its first reader there to the end of its last.
template <class Hold>
void holdInputs(const Problem& problem, const Plan& plan, Hold&& hold) {
  const OpGraph& graph = problem.graph;
  std::vector<OpId> readers;
  const auto on = [&](OpId op) { return plan.assignment[op.index()]; };
  for (std::size_t t = 0; t < graph.input_bytes.size(); ++t) {
    readers.assign(graph.input_readers[t].begin(), graph.input_readers[t].end());
    std::sort(readers.begin(), readers.end(), [&](OpId a, OpId b) { return on(a) < on(b); });
    for (std::size_t i = 0; i < readers.size();) {
      const DeviceId device = on(readers[i]);
      double from = std::numeric_limits<double>::infinity(), until = 0;
      for (; i < readers.size() && on(readers[i]) == device; ++i) {
        from = std::min(from, plan.start[readers[i].index()]);
        until = std::max(until, plan.end[readers[i].index()]);
      }
      hold(device, from, until, graph.input_bytes[t]);
    }
  }
}

// Resident bytes by device, each block of weights once, and `more` besides.
std::vector<double> bytesByDevice(const Problem& problem, std::span<const DeviceId> assignment,
                                  std::span<const std::int64_t> more) {
  const OpGraph& graph = problem.graph;
  std::vector<std::int64_t> held(more.begin(), more.end()), weights(held.size(), 0);
  for (std::size_t i = 0; i < problem.opCount(); ++i) {
    held[assignment[i].index()] += graph.op_memory_bytes[i] + graph.op_activation_bytes[i];
    weights[assignment[i].index()] += graph.op_weight_bytes[i];
  }
  std::vector<std::size_t> counted(held.size(), SIZE_MAX);  // the last block that was
  for (std::size_t b = 0; b < graph.block_bytes.size(); ++b) {
    for (const OpId reader : graph.block_readers[b]) {
      const std::size_t d = assignment[reader.index()].index();
      if (std::exchange(counted[d], b) != b) weights[d] += graph.block_bytes[b];
    }
  }
  std::vector<double> bytes;
  for (std::size_t d = 0; d < held.size(); ++d) {
    bytes.push_back(static_cast<double>(held[d]) +
                    static_cast<double>(weights[d]) * problem.modes.optimizer_factor);
  }
  return bytes;
}

}  // namespace

std::vector<double> residentBytesByDevice(const Problem& problem, std::span<const DeviceId> assignment) {
  return bytesByDevice(problem, assignment, std::vector<std::int64_t>(problem.deviceCount(), 0));
}

std::vector<double> livePeaks(const Problem& problem, const Plan& plan) {
  constexpr double kForever = std::numeric_limits<double>::infinity();
  const OpGraph& graph = problem.graph;
  std::vector<std::vector<Change>> changes(problem.deviceCount());
  const auto hold = [&](DeviceId device, double from, double to, std::int64_t bytes) {
    if (bytes == 0 || to <= from) return;
    changes[device.index()].push_back({from, bytes});
    if (to < kForever) changes[device.index()].push_back({to, -bytes});
  };
  for (std::size_t i = 0; i < problem.opCount(); ++i) {
    hold(plan.assignment[i], plan.start[i], plan.end[i], graph.op_workspace_bytes[i]);
  }
  std::vector<double> last_send(graph.tensorCount(), -kForever);
  std::vector<Received> received;
  for (const PlanTransfer& transfer : plan.transfers) {
    double& last = last_send[transfer.tensor.index()];
    last = std::max(last, transfer.end);
    double until = transfer.start;
    for (const OpId consumer : transfer.consumers) until = std::max(until, plan.end[consumer.index()]);
    received.push_back({transfer.tensor, transfer.to, transfer.start, until});
  }
  // Sent edge by edge, a tensor still lies once on a device: from its first arrival to its last use there.
  std::sort(received.begin(), received.end(), [](const Received& a, const Received& b) {
    return std::tie(a.tensor, a.to) < std::tie(b.tensor, b.to);
  });
  for (std::size_t i = 0; i < received.size();) {
    Received all = received[i];
    for (; i < received.size() && received[i].tensor == all.tensor && received[i].to == all.to; ++i) {
      all.from = std::min(all.from, received[i].from);
      all.until = std::max(all.until, received[i].until);
    }
    hold(all.to, all.from, all.until, graph.tensor_bytes[all.tensor.index()]);
  }
  for (std::size_t t = 0; t < graph.tensorCount(); ++t) {
    const OpId producer = graph.tensor_producer[t];
    const DeviceId on = plan.assignment[producer.index()];
    double until =
        graph.tensor_consumers[t].empty() ? kForever : std::max(last_send[t], plan.end[producer.index()]);
    for (const OpId consumer : graph.tensor_consumers[t]) {
      if (plan.assignment[consumer.index()] == on) until = std::max(until, plan.end[consumer.index()]);
    }
    hold(on, plan.start[producer.index()], until, graph.tensor_bytes[t]);
  }
  holdInputs(problem, plan, hold);
  std::vector<std::int64_t> peak(problem.deviceCount(), 0);
  for (std::size_t d = 0; d < changes.size(); ++d) {
    std::sort(changes[d].begin(), changes[d].end(), [](const Change& a, const Change& b) {
      return a.time != b.time ? a.time < b.time : a.bytes < b.bytes;
    });
    std::int64_t live = 0, most = 0;
    for (const Change& change : changes[d]) {
      live += change.bytes;
      most = std::max(most, live);
    }
    peak[d] = most;
  }
  return bytesByDevice(problem, plan.assignment, peak);
}

}  // namespace allot
