#include "solve/baselines/ranks.h"

#include <algorithm>
#include <limits>

#include "solve/baselines/list_schedule.h"

namespace allot::baseline {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

template <class Visit>
void forAllowed(const Problem& problem, OpId op, Visit&& visit) {
  const UnitId unit = problem.unit(op);
  for (std::size_t d = 0; d < problem.deviceCount(); ++d) {
    if (problem.allowed(unit, DeviceId(d))) visit(DeviceId(d));
  }
}

// Mean over ordered pairs of distinct devices.
template <class Value>
double meanOverPairs(std::size_t devices, Value&& value) {
  if (devices < 2) return 0;
  double sum = 0;
  for (std::size_t a = 0; a < devices; ++a) {
    for (std::size_t b = 0; b < devices; ++b) sum += a == b ? 0 : value(a, b);
  }
  return sum / static_cast<double>(devices * (devices - 1));
}

}  // namespace

std::vector<double> meanOpSeconds(const Problem& problem) {
  std::vector<double> mean(problem.opCount(), 0);
  for (std::size_t i = 0; i < mean.size(); ++i) {
    std::size_t count = 0;
    forAllowed(problem, OpId(i), [&](DeviceId device) {
      mean[i] += problem.opSeconds(OpId(i), device);
      ++count;
    });
    if (count > 0) mean[i] /= static_cast<double>(count);
  }
  return mean;
}

std::vector<double> leastOpSeconds(const Problem& problem) {
  std::vector<double> least(problem.opCount(), kInfinity);
  for (std::size_t i = 0; i < least.size(); ++i) {
    forAllowed(problem, OpId(i),
               [&](DeviceId device) { least[i] = std::min(least[i], problem.opSeconds(OpId(i), device)); });
  }
  return least;
}

std::vector<double> meanTransferSeconds(const Problem& problem) {
  const std::size_t devices = problem.deviceCount();
  // Links: the mean of latency + bytes / bandwidth is linear in the bytes.
  const auto linkMean = [&](auto&& value) {
    return meanOverPairs(devices, [&](std::size_t a, std::size_t b) {
      const Link* link = problem.pairLink(DeviceId(a), DeviceId(b));
      return link ? value(*link) : 0.0;
    });
  };
  const double latency = linkMean([](const Link& link) { return link.latency_seconds; });
  const double per_byte = linkMean([](const Link& link) { return 1 / link.bandwidth_bytes_per_second; });
  std::vector<double> matrix_mean(devices > 0 ? problem.matrices.size() / (devices * devices) : 0);
  for (std::size_t m = 0; m < matrix_mean.size(); ++m) {
    const double* matrix = &problem.matrices[m * devices * devices];
    matrix_mean[m] =
        meanOverPairs(devices, [&](std::size_t a, std::size_t b) { return matrix[a * devices + b]; });
  }

  std::vector<double> mean(problem.graph.tensorCount(), 0);
  for (std::size_t t = 0; t < mean.size() && devices > 1; ++t) {
    if (problem.tensor_matrix[t] >= 0)
      mean[t] = matrix_mean[static_cast<std::size_t>(problem.tensor_matrix[t])];
    else if (!std::isnan(problem.tensor_seconds[t]))
      mean[t] = problem.tensor_seconds[t];
    else
      mean[t] = latency + per_byte * static_cast<double>(problem.graph.tensor_bytes[t]);
  }
  return mean;
}

std::vector<double> upwardRank(const Problem& problem, const std::vector<double>& op,
                               const std::vector<double>& transfer) {
  const OpGraph& graph = problem.graph;
  std::vector<double> rank(problem.opCount(), 0);
  const auto order = graph.topologicalOrder();
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    const OpId v = *it;
    double behind = 0;
    for (const TensorId tensor : graph.outputs(v)) {
      const double cost = transfer.empty() ? 0 : transfer[tensor.index()];
      for (const OpId consumer : graph.consumers(tensor))
        behind = std::max(behind, cost + rank[consumer.index()]);
    }
    rank[v.index()] = op[v.index()] + behind;
  }
  return rank;
}

std::vector<double> downwardRank(const Problem& problem, const std::vector<double>& op,
                                 const std::vector<double>& transfer) {
  const OpGraph& graph = problem.graph;
  std::vector<double> rank(problem.opCount(), 0);
  for (const OpId v : graph.topologicalOrder()) {
    for (const TensorId tensor : graph.inputs(v)) {
      const std::size_t producer = graph.producer(tensor).index();
      const double cost = transfer.empty() ? 0 : transfer[tensor.index()];
      rank[v.index()] = std::max(rank[v.index()], rank[producer] + op[producer] + cost);
    }
  }
  return rank;
}

std::optional<std::vector<double>> optimisticCosts(const Problem& problem, const Budget& budget) {
  const OpGraph& graph = problem.graph;
  const std::size_t devices = problem.deviceCount();
  std::vector<double> cost(problem.opCount() * devices, 0);
  std::vector<double> from_start(devices);  // of the consumer: its own time and what follows
  std::size_t done = 0;
  const auto order = graph.topologicalOrder();
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    const OpId v = *it;
    if (done++ % kPollInterval == 0 && budget.stopped()) return std::nullopt;
    double* row = &cost[v.index() * devices];
    for (const TensorId tensor : graph.outputs(v)) {
      const bool single =
          problem.tensor_matrix[tensor.index()] < 0 && !std::isnan(problem.tensor_seconds[tensor.index()]);
      for (const OpId consumer : graph.consumers(tensor)) {
        const bool same_unit = problem.unit(consumer) == problem.unit(v);
        std::fill(from_start.begin(), from_start.end(), kInfinity);
        forAllowed(problem, consumer, [&](DeviceId d) {
          from_start[d.index()] =
              cost[consumer.index() * devices + d.index()] + problem.opSeconds(consumer, d);
        });
        const double least = *std::min_element(from_start.begin(), from_start.end());
        forAllowed(problem, v, [&](DeviceId from) {
          double best = from_start[from.index()];
          if (single && !same_unit) best = std::min(best, least + problem.tensor_seconds[tensor.index()]);
          if (!single && !same_unit) {
            for (std::size_t to = 0; to < devices; ++to) {
              if (from_start[to] >= best) continue;
              best = std::min(best, from_start[to] + problem.transferSeconds(tensor, from, DeviceId(to)));
            }
          }
          row[from.index()] = std::max(row[from.index()], best);
        });
      }
    }
  }
  return cost;
}

}  // namespace allot::baseline
