#include "solve/online/packing.h"

#include <algorithm>

namespace allot::online {

void Occupancy::add(Need& need, OpId op) const {
  const OpGraph& graph = problem_.graph;
  need.memory += graph.op_memory_bytes[op.index()] + graph.op_activation_bytes[op.index()];
  need.weights += graph.op_weight_bytes[op.index()];
  for (const BlockId block : graph.blocks(op)) {
    const auto at = std::lower_bound(need.blocks.begin(), need.blocks.end(), block);
    if (at == need.blocks.end() || *at != block) need.blocks.insert(at, block);
  }
}

void Occupancy::know(OpId op, DeviceId device) {
  for (const BlockId block : problem_.graph.blocks(op))
    block_job_[block.index() * held_.size() + device.index()] = job_;
}

void Occupancy::put(const Need& need, DeviceId device) {
  Held& held = held_[device.index()];
  held.memory += need.memory;
  held.weights += need.weights;
  for (const BlockId block : need.blocks) {
    std::uint32_t& job = block_job_[block.index() * held_.size() + device.index()];
    if (job != job_) held.weights += problem_.graph.block_bytes[block.index()];
    job = job_;
  }
}

double Occupancy::bytesWith(const Need& need, DeviceId device) const {
  const Held& held = held_[device.index()];
  std::int64_t weights = held.weights + need.weights;
  for (const BlockId block : need.blocks) {
    if (block_job_[block.index() * held_.size() + device.index()] != job_)
      weights += problem_.graph.block_bytes[block.index()];
  }
  return static_cast<double>(held.memory + need.memory) +
         static_cast<double>(weights) * problem_.modes.optimizer_factor;
}

bool Occupancy::empty() const {
  return std::all_of(held_.begin(), held_.end(),
                     [](const Held& held) { return held.memory == 0 && held.weights == 0; });
}

std::vector<DeviceId> packUnits(const Problem& problem, const ModelPlan& model,
                                std::span<const std::uint8_t> ops, std::span<const std::uint8_t> up,
                                std::span<const DeviceId> home, std::uint32_t& unplaced) {
  Occupancy room(problem);
  std::vector<Need> needs(model.units);
  std::vector<double> alone(model.units, 0);
  std::vector<std::uint32_t> largest_first;
  for (std::uint32_t u = 0; u < model.units; ++u) {
    bool any = false;
    for (const std::uint32_t i : model.unit_ops[u]) {
      if (!ops.empty() && !ops[i]) continue;
      room.add(needs[u], model.ops[i]);
      any = true;
    }
    if (!any) continue;
    alone[u] = room.bytesWith(needs[u], DeviceId(0));
    largest_first.push_back(u);
  }
  std::stable_sort(largest_first.begin(), largest_first.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return alone[a] > alone[b]; });
  std::vector<DeviceId> device_of(model.units);
  for (const std::uint32_t u : largest_first) {
    const UnitId unit = problem.unit(model.ops[model.unit_ops[u].front()]);
    double most = 0;
    for (std::size_t d = 0; d < problem.deviceCount(); ++d) {
      const DeviceId device(d);
      if (!home.empty() && home[u].valid() && home[u] != device) continue;
      if ((!up.empty() && !up[d]) || !problem.allowed(unit, device)) continue;
      const double left = problem.memoryLimit(device) - room.bytesWith(needs[u], device);
      if (left < 0 || (device_of[u].valid() && left <= most)) continue;
      device_of[u] = device;
      most = left;
    }
    if (!device_of[u].valid()) {
      unplaced = u;
      return {};
    }
    room.put(needs[u], device_of[u]);
  }
  return device_of;
}

}  // namespace allot::online
