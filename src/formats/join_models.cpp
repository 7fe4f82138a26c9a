// Several models on one cluster as one problem.
#include <fmt/format.h>

#include <algorithm>

#include "allot/formats.h"
#include "cost/provenance.h"

namespace allot {
namespace {

bool sameCluster(const Cluster& a, const Cluster& b) {
  // The written form holds all that a cluster says.
  Cluster x = a, y = b;
  x.name = y.name = "";
  return writeCluster(x) == writeCluster(y);
}

void append(Problem& all, const Problem& one, const std::string& prefix) {
  const OpGraph& from = one.graph;
  OpGraph& to = all.graph;
  const std::size_t first_op = to.opCount();
  const std::size_t first_model = to.modelCount();
  const std::size_t first_group = to.group_name.size();
  const auto shifted = [&](OpId op) { return OpId(op.index() + first_op); };
  for (const std::string& model : from.model_name)
    to.model_name.push_back(from.modelCount() == 1 ? prefix : prefix + "/" + model);
  all.model_weight.insert(all.model_weight.end(), one.model_weight.begin(), one.model_weight.end());
  all.model_release.insert(all.model_release.end(), one.model_release.begin(), one.model_release.end());
  for (const std::string& group : from.group_name) to.group_name.push_back(prefix + "/" + group);
  for (std::size_t i = 0; i < from.opCount(); ++i) {
    const std::size_t op = to.addOp(prefix + "/" + from.op_name[i]).index();
    to.op_type[op] = to.internType(from.type_name[from.op_type[i]]);
    to.op_model[op] = ModelId(from.op_model[i].index() + first_model);
    to.op_phase[op] = from.op_phase[i];
    if (from.op_group[i].valid()) to.op_group[op] = GroupId(from.op_group[i].index() + first_group);
    to.op_flops[op] = from.op_flops[i];
    to.op_memory_bytes[op] = from.op_memory_bytes[i];
    to.op_weight_bytes[op] = from.op_weight_bytes[i];
    to.op_workspace_bytes[op] = from.op_workspace_bytes[i];
    to.op_activation_bytes[op] = from.op_activation_bytes[i];
    to.op_read_bytes[op] = from.op_read_bytes[i];
    to.op_written_bytes[op] = from.op_written_bytes[i];
    to.op_data_type[op] = from.op_data_type[i];
    to.op_cost_unknown[op] = from.op_cost_unknown[i];
  }
  using Table = Problem::ShortTime::Table;
  const std::vector<double> op_seconds = one.givenTimes(Table::kOp);
  const std::vector<double> tensor_seconds = one.givenTimes(Table::kTensor);
  const std::vector<double> matrices = one.givenTimes(Table::kMatrix);
  all.op_seconds.insert(all.op_seconds.end(), op_seconds.begin(), op_seconds.end());
  const std::size_t cells = one.deviceCount() * one.deviceCount();
  const auto first_matrix = static_cast<std::int32_t>(all.matrices.size() / cells);
  std::vector<OpId> consumers;
  for (std::size_t t = 0; t < one.firstOrderTensor(); ++t) {
    consumers.clear();
    for (const OpId consumer : from.tensor_consumers[t]) consumers.push_back(shifted(consumer));
    all.addTensor(shifted(from.tensor_producer[t]), consumers, from.tensor_bytes[t], tensor_seconds[t]);
    if (one.tensor_matrix[t] >= 0) all.tensor_matrix.back() = one.tensor_matrix[t] + first_matrix;
  }
  all.matrices.insert(all.matrices.end(), matrices.begin(), matrices.end());
  const auto shiftedAll = [&](std::span<const OpId> ops) {
    std::vector<OpId> out;
    for (const OpId op : ops) out.push_back(shifted(op));
    return out;
  };
  // Names of blocks are those of one model, so they need no prefix.
  for (std::size_t b = 0; b < from.block_bytes.size(); ++b)
    to.addBlock(from.block_name[b], from.block_bytes[b], shiftedAll(from.block_readers[b]));
  for (std::size_t i = 0; i < from.input_bytes.size(); ++i)
    to.addInput(from.input_bytes[i], shiftedAll(from.input_readers[i]));
  for (const auto& [op, device] : one.constraints.pin) all.constraints.pin.emplace_back(shifted(op), device);
  for (const auto& [op, device] : one.constraints.forbid)
    all.constraints.forbid.emplace_back(shifted(op), device);
  for (const auto& [first, then] : one.constraints.order)
    all.constraints.order.emplace_back(shifted(first), shifted(then));
  for (const auto& set : one.constraints.together) {
    auto& copy = all.constraints.together.emplace_back();
    for (const OpId op : set) copy.push_back(shifted(op));
  }
}

}  // namespace

Result<Problem> joinModels(std::vector<Problem> problems) {
  if (problems.size() == 1) return std::move(problems.front());
  Problem all;
  all.cluster = problems.front().cluster;
  all.modes = problems.front().modes;
  all.modes.goal = Goal::kCompletion;
  all.modes.memory.reset();
  std::vector<std::string> costs;
  bool hinted = false;
  for (const Problem& one : problems) {
    costs.push_back(one.costs);
    if (one.modes.dtype != all.modes.dtype) all.modes.dtype.reset();
    // Where tensors of one model count, those of its neighbours do.
    if (one.default_memory == MemoryModel::kLive) all.default_memory = MemoryModel::kLive;
    if (one.liveMemory()) all.modes.memory = MemoryModel::kLive;
    hinted = hinted || !one.graph.order_hint.empty();
  }
  all.costs = joinProvenance(costs);
  std::vector<std::string> used;
  for (const Problem& one : problems) {
    if (!sameCluster(all.cluster, one.cluster)) {
      return badInput(one.name, "the inputs describe different devices",
                      "give one --cluster for all of them");
    }
    std::string prefix = one.name.empty() ? "model" : one.name;
    const auto copies = std::count(used.begin(), used.end(), prefix);
    used.push_back(prefix);
    if (copies > 0) prefix += fmt::format("#{}", copies + 1);
    all.name += (all.name.empty() ? "" : "+") + prefix;
    const std::size_t first_op = all.opCount();
    append(all, one, prefix);
    if (!hinted) continue;
    for (const OpId op : one.graph.referenceOrder())
      all.graph.order_hint.push_back(OpId(op.index() + first_op));
  }
  ALLOT_CHECK(all.finish());
  return all;
}

}  // namespace allot
