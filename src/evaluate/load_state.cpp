#include "evaluate/load_state.h"

#include <algorithm>

namespace allot {
namespace {

int partOf(const Problem& problem, OpId op) {
  return problem.graph.op_phase[op.index()] == Phase::kForward ? 0 : 1;
}

}  // namespace

LoadState::LoadState(const Problem& problem, std::span<const DeviceId> assignment)
    : problem_(problem),
      devices_(problem.deviceCount()),
      via_host_(problem.transfers() == Transfers::kViaHost),
      device_(problem.unitCount()),
      parts_(devices_),
      resident_(devices_),
      unit_count_(devices_),
      ends_(problem.graph.tensorCount() * devices_),
      producer_device_(problem.graph.tensorCount()),
      mark_(problem.graph.tensorCount()) {
  for (std::size_t u = 0; u < problem.unitCount(); ++u) {
    device_[u] = assignment[problem.unitOps(UnitId(u)).front().index()];
    ++unit_count_[device_[u].index()];
  }
  for (std::size_t i = 0; i < problem.opCount(); ++i) addCompute(OpId(i), assignment[i], 1);
  const OpGraph& graph = problem.graph;
  for (std::size_t t = 0; t < graph.tensorCount(); ++t) {
    producer_device_[t] = assignment[graph.tensor_producer[t].index()];
    ++ends_[t * devices_ + producer_device_[t].index()];
    for (const OpId consumer : graph.tensor_consumers[t])
      ++ends_[t * devices_ + assignment[consumer.index()].index()];
    addCommunication(TensorId(t), 1);
  }
}

void LoadState::addCompute(OpId op, DeviceId device, double sign) {
  parts_[device.index()].compute[partOf(problem_, op)] += sign * problem_.busySeconds(op, device);
  resident_[device.index()] += sign * problem_.residentBytes(op);
}

void LoadState::addCommunication(TensorId tensor, double sign) {
  const std::uint32_t* ends = &ends_[tensor.index() * devices_];
  const DeviceId from = producer_device_[tensor.index()];
  const std::size_t all = problem_.graph.consumers(tensor).size() + 1;
  if (ends[from.index()] == all) return;  // not cut
  const int part = partOf(problem_, problem_.graph.producer(tensor));
  if (via_host_ && problem_.cluster.isAccelerator(from)) {
    parts_[from.index()].communication[part] += sign * problem_.toHostSeconds(tensor, from);
  }
  for (std::size_t d = 0; d < devices_; ++d) {
    if (ends[d] == 0 || d == from.index()) continue;
    const DeviceId to(d);
    if (via_host_) {
      if (problem_.cluster.isAccelerator(to)) {
        parts_[d].communication[part] += sign * problem_.fromHostSeconds(tensor, to);
      }
    } else {
      const double seconds = sign * problem_.transferSeconds(tensor, from, to);
      parts_[from.index()].communication[part] += seconds;
      parts_[d].communication[part] += seconds;
    }
  }
}

void LoadState::move(UnitId unit, DeviceId to) {
  const DeviceId from = device_[unit.index()];
  if (from == to) return;
  ++stamp_;
  touched_.clear();
  const auto touch = [&](TensorId tensor) {
    if (mark_[tensor.index()] == stamp_) return;
    mark_[tensor.index()] = stamp_;
    touched_.push_back(tensor);
    addCommunication(tensor, -1);
  };
  const OpGraph& graph = problem_.graph;
  for (const OpId op : problem_.unitOps(unit)) {
    for (const TensorId tensor : graph.outputs(op)) touch(tensor);
    for (const TensorId tensor : graph.inputs(op)) touch(tensor);
  }
  const auto shift = [&](TensorId tensor) {
    --ends_[tensor.index() * devices_ + from.index()];
    ++ends_[tensor.index() * devices_ + to.index()];
  };
  for (const OpId op : problem_.unitOps(unit)) {
    addCompute(op, from, -1);
    addCompute(op, to, 1);
    for (const TensorId tensor : graph.outputs(op)) {
      producer_device_[tensor.index()] = to;
      shift(tensor);
    }
    for (const TensorId tensor : graph.inputs(op)) shift(tensor);
  }
  for (const TensorId tensor : touched_) addCommunication(tensor, 1);
  device_[unit.index()] = to;
  --unit_count_[from.index()];
  ++unit_count_[to.index()];
  if (unit_count_[from.index()] == 0) {  // an empty device has no load: drop what rounding left
    parts_[from.index()] = {};
    resident_[from.index()] = 0;
  }
}

double stageLoad(const Problem& problem, const LoadState::Parts& parts, double replicas, int part) {
  const auto one = [&](double compute, double communication) {
    const double both =
        problem.modes.overlap == Overlap::kSum ? compute + communication : std::max(compute, communication);
    return both / replicas;
  };
  if (problem.modes.training_load == TrainingLoad::kMaxParts)
    return one(parts.compute[part], parts.communication[part]);
  return one(parts.compute[0] + parts.compute[1], parts.communication[0] + parts.communication[1]);
}

double LoadState::load(DeviceId device) const {
  const Parts& p = parts_[device.index()];
  if (problem_.modes.training_load == TrainingLoad::kMaxParts) {
    return stageLoad(problem_, p, 1, 0) + stageLoad(problem_, p, 1, 1);
  }
  return stageLoad(problem_, p, 1, 0);
}

double LoadState::value() const {
  double forward = 0, rest = 0;
  const bool parts = problem_.modes.training_load == TrainingLoad::kMaxParts;
  for (std::size_t d = 0; d < devices_; ++d) {
    forward = std::max(forward, stageLoad(problem_, parts_[d], 1, 0));
    if (parts) rest = std::max(rest, stageLoad(problem_, parts_[d], 1, 1));
  }
  return forward + rest;
}

}  // namespace allot
