#include "solve/latency/schedule_model.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "evaluate/sweep.h"

namespace allot {

ScheduleModel::ScheduleModel(const Problem& source)
    : problem(&source), devices(source.deviceCount()), link_mode(source.modes.link_mode) {
  const OpGraph& graph = source.graph;
  op_id.assign(graph.topologicalOrder().begin(), graph.topologicalOrder().end());
  seconds.reserve(op_id.size() * devices);
  for (const OpId op : op_id) {
    const UnitId of = source.unit(op);
    unit.push_back(of.value);
    for (std::size_t d = 0; d < devices; ++d)
      seconds.push_back(source.allowed(of, DeviceId(d)) ? source.opSeconds(op, DeviceId(d)) : kCannotRun);
  }
  for (std::size_t u = 0; u < source.unitCount(); ++u) {
    double bytes = 0;
    for (const OpId op : source.unitOps(UnitId(u))) {
      unit_ops.items.push_back(graph.position(op));
      bytes += source.residentBytes(op);
    }
    std::sort(unit_ops.items.begin() + unit_ops.begin.back(), unit_ops.items.end());
    unit_ops.closeRow();
    unit_bytes.push_back(bytes);
  }
  for (std::size_t d = 0; d < devices; ++d) {
    launch.push_back(source.cluster.classOf(DeviceId(d)).launch_seconds);
    memory.push_back(source.memoryLimit(DeviceId(d)));
  }
  addNets();
}

void ScheduleModel::addNets() {
  const OpGraph& graph = problem->graph;
  const bool once = problem->modes.send == Send::kOnce;
  std::unordered_map<std::int32_t, std::uint32_t> block_of_matrix;
  std::vector<std::vector<std::uint32_t>> nets_in(opCount());
  for (std::uint32_t position = 0; position < opCount(); ++position) {
    for (const TensorId tensor : graph.outputs(op_id[position])) {
      double single = problem->tensor_seconds[tensor.index()];
      const std::int32_t matrix = problem->tensor_matrix[tensor.index()];
      std::uint32_t block = 0;
      if (matrix >= 0 || std::isnan(single)) {
        single = -1;
        const auto next = static_cast<std::uint32_t>(pair_seconds_.size() / (devices * devices));
        const auto found = block_of_matrix.find(matrix);
        if (matrix >= 0 && found != block_of_matrix.end()) {
          block = found->second;
        } else {
          block = next;
          if (matrix >= 0) block_of_matrix[matrix] = block;
          for (std::size_t from = 0; from < devices; ++from) {
            for (std::size_t to = 0; to < devices; ++to)
              pair_seconds_.push_back(
                  from == to ? 0 : problem->transferSeconds(tensor, DeviceId(from), DeviceId(to)));
          }
        }
      }
      const auto consumers = graph.consumers(tensor);
      const std::size_t copies = once ? 1 : consumers.size();
      for (std::size_t copy = 0; copy < copies; ++copy) {
        const auto net = static_cast<std::uint32_t>(net_tensor.size());
        net_tensor.push_back(tensor);
        net_producer.push_back(position);
        net_seconds_.push_back(single);
        net_pairs_.push_back(block);
        outputs.items.push_back(net);
        for (std::size_t c = once ? 0 : copy; c < (once ? consumers.size() : copy + 1); ++c) {
          const std::uint32_t consumer = graph.position(consumers[c]);
          net_consumers.items.push_back(consumer);
          nets_in[consumer].push_back(net);
        }
        net_consumers.closeRow();
      }
    }
    outputs.closeRow();
  }
  std::vector<std::uint32_t> around;
  const auto closeDistinct = [&around](Csr<std::uint32_t>& rows) {
    std::sort(around.begin(), around.end());
    around.erase(std::unique(around.begin(), around.end()), around.end());
    rows.items.insert(rows.items.end(), around.begin(), around.end());
    rows.closeRow();
    around.clear();
  };
  for (std::uint32_t position = 0; position < opCount(); ++position) {
    for (const std::uint32_t net : nets_in[position]) {
      inputs.items.push_back(net);
      around.push_back(net_producer[net]);
    }
    inputs.closeRow();
    closeDistinct(before);
    for (const std::uint32_t net : outputs[position])
      around.insert(around.end(), net_consumers[net].begin(), net_consumers[net].end());
    closeDistinct(after);
  }
}

bool ScheduleModel::memoryNeverBinds() const {
  double total = 0;
  for (const double bytes : unit_bytes) total += bytes;
  return std::all_of(memory.begin(), memory.end(), [&](double limit) { return total <= limit; });
}

Plan planOf(const ScheduleModel& model, const Schedule& schedule) {
  Plan plan;
  plan.modes = model.problem->modes;
  plan.assignment.resize(model.opCount());
  plan.start.resize(model.opCount());
  plan.end.resize(model.opCount());
  for (std::size_t i = 0; i < model.opCount(); ++i) {
    const std::size_t op = model.op_id[i].index();
    plan.assignment[op] = DeviceId(schedule.device[i]);
    plan.start[op] = schedule.start[i];
    plan.end[op] = schedule.start[i] + model.time(i, schedule.device[i]);
  }
  for (const NetTransfer& transfer : schedule.transfers) {
    const TensorId tensor = model.net_tensor[transfer.net];
    if (model.problem->isOrder(tensor)) continue;
    // Its only consumer, where each has a transfer of its own.
    const OpId consumer = model.op_id[model.net_consumers[transfer.net].front()];
    plan.transfers.push_back({tensor,
                              {consumer},
                              DeviceId(schedule.device[model.net_producer[transfer.net]]),
                              DeviceId(transfer.to),
                              transfer.start,
                              transfer.end});
  }
  if (model.problem->modes.send == Send::kOnce)
    listConsumers(*model.problem, plan.assignment, plan.transfers);
  return plan;
}

Schedule scheduleOf(const ScheduleModel& model, const Plan& plan) {
  Schedule schedule;
  for (const OpId op : model.op_id) {
    schedule.device.push_back(plan.assignment[op.index()].value);
    schedule.start.push_back(plan.start[op.index()]);
  }
  for (const PlanTransfer& transfer : plan.transfers) {
    if (transfer.end <= transfer.start) continue;
    const std::uint32_t consumer = model.problem->graph.position(transfer.consumers.front());
    for (const std::uint32_t net : model.inputs[consumer]) {
      if (model.net_tensor[net] == transfer.tensor)
        schedule.transfers.push_back({net, transfer.to.value, transfer.start, transfer.end});
    }
  }
  return schedule;
}

}  // namespace allot
