// What ops hold on their devices, and the problem as engines know it.
#include <algorithm>
#include <cmath>
#include <utility>

#include "allot/problem.h"

namespace allot {
namespace {

// Calls `visit(block, readers)` with one reader of each unit that reads the block, where there are any.
template <class Visit>
void forEachBlock(const Problem& problem, Visit&& visit) {
  const Csr<OpId>& readers = problem.graph.block_readers;
  std::vector<std::uint32_t> seen_by(problem.unitCount(), UINT32_MAX);
  std::vector<OpId> first_of_unit;
  for (std::uint32_t b = 0; b < readers.rows(); ++b) {
    first_of_unit.clear();
    for (const OpId reader : readers[b]) {
      if (std::exchange(seen_by[problem.unit(reader).index()], b) != b) first_of_unit.push_back(reader);
    }
    if (!first_of_unit.empty()) visit(b, first_of_unit);
  }
}

}  // namespace

double Problem::memoryLimit(DeviceId device) const {
  const auto& memory = cluster.devices[device.index()].memory_bytes;
  return memory ? static_cast<double>(*memory) * (1 - modes.headroom)
                : std::numeric_limits<double>::infinity();
}

void Problem::dropMemoryLimits() {
  for (Device& device : cluster.devices) device.memory_bytes.reset();
  memory_bars_.clear();
  applyConstraints();
}

void Problem::findLeastResident() {
  const double factor = modes.optimizer_factor;
  const std::size_t n = opCount();
  least_resident_.resize(n);
  resident_adds_up_ = true;
  for (std::size_t i = 0; i < n; ++i) {
    const double weights = static_cast<double>(graph.op_weight_bytes[i]) * factor;
    least_resident_[i] =
        static_cast<double>(graph.op_memory_bytes[i] + graph.op_activation_bytes[i]) + std::floor(weights);
    resident_adds_up_ = resident_adds_up_ && weights == std::floor(weights);
  }
  forEachBlock(*this, [&](std::uint32_t b, const std::vector<OpId>& first_of_unit) {
    const double bytes = static_cast<double>(graph.block_bytes[b]) * factor;
    const double share = std::floor(bytes / static_cast<double>(first_of_unit.size()));
    for (const OpId reader : first_of_unit) least_resident_[reader.index()] += share;
    resident_adds_up_ = resident_adds_up_ && first_of_unit.size() == 1 && share == bytes;
  });
}

double Problem::residentBytes(std::span<const OpId> ops, std::int64_t more) const {
  std::int64_t held = more, weights = 0;
  std::vector<BlockId> blocks;
  for (const OpId op : ops) {
    const std::size_t i = op.index();
    held += graph.op_memory_bytes[i] + graph.op_activation_bytes[i];
    weights += graph.op_weight_bytes[i];
    blocks.insert(blocks.end(), graph.blocks(op).begin(), graph.blocks(op).end());
  }
  std::sort(blocks.begin(), blocks.end());
  blocks.erase(std::unique(blocks.begin(), blocks.end()), blocks.end());
  for (const BlockId block : blocks) weights += graph.block_bytes[block.index()];
  return static_cast<double>(held) + static_cast<double>(weights) * modes.optimizer_factor;
}

bool Problem::relaxedIsExact() const {
  const bool more_than_static = goal() == Goal::kThroughput && liveMemory();
  // Static memory knows no tensors, those that models are given among them.
  return resident_adds_up_ && (graph.input_bytes.empty() || !liveMemory()) && !more_than_static;
}

Problem Problem::relaxed() const {
  Problem plain = *this;
  if (liveMemory()) plain.findMemoryBars();
  forEachBlock(*this, [&](std::uint32_t b, const std::vector<OpId>& first_of_unit) {
    // What replicas exchange adds up the same way.
    for (const OpId reader : first_of_unit) {
      plain.graph.op_weight_bytes[reader.index()] +=
          graph.block_bytes[b] / static_cast<std::int64_t>(first_of_unit.size());
    }
  });
  plain.graph.dropBlocksAndInputs();
  for (std::size_t i = 0; i < opCount(); ++i) {
    plain.graph.op_memory_bytes[i] = static_cast<std::int64_t>(least_resident_[i]);
    plain.graph.op_activation_bytes[i] = 0;
  }
  plain.modes.optimizer_factor = 0;  // weights are in the memory of their ops
  if (goal() == Goal::kThroughput && liveMemory()) {
    plain.modes.memory = MemoryModel::kStatic;
    // Static memory counts one sample's stash more, which live memory need not hold all at once.
    plain.modes.in_flight = false;
  }
  plain.findLeastResident();
  plain.applyConstraints();
  return plain;
}

void Problem::findMemoryBars() {
  memory_bars_.clear();
  for (std::uint32_t u = 0; u < unitCount(); ++u) {
    const double resident = residentBytes(unitOps(UnitId(u)));
    for (const OpId op : unitOps(UnitId(u))) {
      double bytes = resident + static_cast<double>(graph.op_workspace_bytes[op.index()]);
      const auto add = [&bytes](std::int64_t more) { bytes += static_cast<double>(more); };
      for (const TensorId tensor : graph.inputs(op)) add(graph.tensor_bytes[tensor.index()]);
      for (const TensorId tensor : graph.outputs(op)) add(graph.tensor_bytes[tensor.index()]);
      for (const InputId input : graph.modelInputs(op)) add(graph.input_bytes[input.index()]);
      for (std::uint32_t d = 0; d < deviceCount(); ++d) {
        const DeviceId device(d);
        // By events an op without length holds nothing.
        const bool runs = goal() == Goal::kThroughput || opSeconds(op, device) > 0;
        if (runs && allowed(UnitId(u), device) && bytes > memoryLimit(device))
          memory_bars_.push_back({op, device, bytes});
      }
    }
  }
}

}  // namespace allot
