#include "solve/latency/coarse_problem.h"

#include <algorithm>
#include <cmath>

#include "solve/baselines/ranks.h"

namespace allot {

std::optional<CoarseProblem> makeCoarse(const Problem& fine, const std::vector<std::uint32_t>& part) {
  const OpGraph& graph = fine.graph;
  const std::size_t parts = part.empty() ? 0 : 1 + *std::max_element(part.begin(), part.end());
  const std::size_t classes = fine.cluster.classCount();
  CoarseProblem coarse;
  coarse.part_ops.resize(parts);
  for (const OpId op : graph.topologicalOrder()) coarse.part_ops[part[op.index()]].push_back(op);
  Problem& p = coarse.problem;
  p.name = fine.name;
  p.cluster = fine.cluster;
  p.modes = fine.modes;
  p.modes.fuse = Fuse::kNone;  // what is fused is in one part already, or shares a unit
  p.modes.memory = MemoryModel::kStatic;
  p.costs = fine.costs;
  p.graph.model_name = graph.model_name;
  p.model_weight = fine.model_weight;
  p.model_release = fine.model_release;
  p.matrices = fine.matrices;
  p.op_seconds.assign(parts * classes, 0);
  for (std::size_t i = 0; i < parts; ++i) {
    const auto& ops = coarse.part_ops[i];
    const OpId id = p.graph.addOp(graph.op_name[ops.front().index()]);
    p.graph.op_model[id.index()] = graph.op_model[ops.front().index()];
    for (const OpId op : ops) {
      p.graph.op_memory_bytes[id.index()] += graph.op_memory_bytes[op.index()];
      p.graph.op_activation_bytes[id.index()] += graph.op_activation_bytes[op.index()];
      p.graph.op_weight_bytes[id.index()] += graph.op_weight_bytes[op.index()];
    }
    for (std::size_t c = 0; c < classes; ++c) {
      double& seconds = p.op_seconds[i * classes + c];
      std::size_t timed = 0;
      for (const OpId op : ops) {
        seconds += fine.opSeconds(op, ClassId(c));
        timed += fine.opSeconds(op, ClassId(c)) > 0;
      }
      if (timed > 1) seconds += static_cast<double>(timed - 1) * fine.cluster.classes[c].launch_seconds;
    }
    for (std::size_t d = 0; d < fine.deviceCount(); ++d) {
      const bool may = std::all_of(ops.begin(), ops.end(),
                                   [&](OpId op) { return fine.allowed(fine.unit(op), DeviceId(d)); });
      if (!may) p.constraints.forbid.emplace_back(id, DeviceId(d));
    }
  }
  std::vector<OpId> readers;
  for (std::size_t b = 0; b < graph.block_bytes.size(); ++b) {
    readers.clear();
    for (const OpId op : graph.block_readers[b]) readers.emplace_back(part[op.index()]);
    std::sort(readers.begin(), readers.end());
    readers.erase(std::unique(readers.begin(), readers.end()), readers.end());
    p.graph.addBlock(graph.block_name[b], graph.block_bytes[b], readers);
  }
  for (std::size_t u = 0; u < fine.unitCount(); ++u) {
    std::vector<OpId> together;
    for (const OpId op : fine.unitOps(UnitId(u))) together.emplace_back(part[op.index()]);
    std::sort(together.begin(), together.end());
    together.erase(std::unique(together.begin(), together.end()), together.end());
    if (together.size() > 1) p.constraints.together.push_back(std::move(together));
  }
  std::vector<OpId> consumers;
  for (std::size_t t = 0; t < graph.tensorCount(); ++t) {
    const OpId producer(part[graph.tensor_producer[t].index()]);
    consumers.clear();
    for (const OpId consumer : graph.tensor_consumers[t]) {
      const OpId to(part[consumer.index()]);
      if (to != producer) consumers.push_back(to);
    }
    std::sort(consumers.begin(), consumers.end());
    consumers.erase(std::unique(consumers.begin(), consumers.end()), consumers.end());
    if (consumers.empty()) continue;
    if (fine.isOrder(TensorId(t))) {
      for (const OpId to : consumers) p.constraints.order.emplace_back(producer, to);
      continue;
    }
    p.addTensor(producer, consumers, graph.tensor_bytes[t], fine.tensor_seconds[t]);
    p.tensor_matrix.back() = fine.tensor_matrix[t];
  }
  if (!p.finish()) return std::nullopt;
  return coarse;
}

Plan expandPlan(const Problem& fine, const CoarseProblem& coarse, const Plan& plan) {
  Plan out;
  out.modes = fine.modes;
  out.assignment.resize(fine.opCount());
  out.start.resize(fine.opCount());
  for (std::size_t i = 0; i < coarse.part_ops.size(); ++i) {
    double time = plan.start[i];
    for (const OpId op : coarse.part_ops[i]) {
      out.assignment[op.index()] = plan.assignment[i];
      out.start[op.index()] = time;
      time += fine.busySeconds(op, plan.assignment[i]);
    }
  }
  return out;
}

PartJoiner::PartJoiner(const Problem& problem, double most_share)
    : problem_(problem), most_share_(most_share) {}

void PartJoiner::begin(const std::vector<std::uint32_t>& part) {
  const std::size_t parts = part.empty() ? 0 : 1 + *std::max_element(part.begin(), part.end());
  const std::size_t devices = problem_.deviceCount();
  bytes_.assign(parts, 0);
  allowed_.assign(parts * devices, 1);
  for (std::size_t i = 0; i < part.size(); ++i) {
    bytes_[part[i]] += problem_.residentBytes(OpId(i));
    for (std::size_t d = 0; d < devices; ++d) {
      if (!problem_.allowed(problem_.unit(OpId(i)), DeviceId(d))) allowed_[part[i] * devices + d] = 0;
    }
  }
}

bool PartJoiner::operator()(std::uint32_t a, std::uint32_t b) {
  const std::size_t devices = problem_.deviceCount();
  const double bytes = bytes_[a] + bytes_[b];
  bool fits = false;
  for (std::size_t d = 0; d < devices && !fits; ++d) {
    fits = allowed_[a * devices + d] && allowed_[b * devices + d] &&
           bytes <= most_share_ * problem_.memoryLimit(DeviceId(d));
  }
  if (!fits) return false;
  bytes_[a] = bytes;
  for (std::size_t d = 0; d < devices; ++d) allowed_[a * devices + d] &= allowed_[b * devices + d];
  return true;
}

std::vector<WeightedEdge> transferEdges(const Problem& problem, const std::vector<std::uint32_t>& part) {
  const std::vector<double> mean = baseline::meanTransferSeconds(problem);
  std::vector<WeightedEdge> edges;
  for (std::size_t t = 0; t < problem.graph.tensorCount(); ++t) {
    const std::uint32_t from = part[problem.graph.tensor_producer[t].index()];
    for (const OpId consumer : problem.graph.tensor_consumers[t]) {
      const std::uint32_t to = part[consumer.index()];
      if (from != to) edges.push_back({from, to, mean[t]});
    }
  }
  return edges;
}

}  // namespace allot
