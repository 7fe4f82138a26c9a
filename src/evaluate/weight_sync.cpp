#include "evaluate/weight_sync.h"

#include <algorithm>

namespace allot {
namespace {

double ringSeconds(const Problem& problem, std::span<const DeviceId> devices, std::int64_t bytes) {
  const double r = static_cast<double>(devices.size());
  double slowest = 0;
  for (const DeviceId a : devices) {
    for (const DeviceId b : devices) {
      const Link* link = a == b ? nullptr : problem.pairLink(a, b);
      if (link == nullptr) continue;
      const double seconds = 2 * (r - 1) / r * static_cast<double>(bytes) / link->bandwidth_bytes_per_second +
                             2 * (r - 1) * link->latency_seconds;
      slowest = std::max(slowest, seconds);
    }
  }
  return slowest;
}

}  // namespace

double syncSeconds(const Problem& problem, const PlanStage& stage) {
  if (stage.devices.size() < 2) return 0;
  const OpGraph& graph = problem.graph;
  std::int64_t weights = 0;
  bool trains = false;
  std::vector<BlockId> blocks;
  for (const OpId op : stage.ops) {
    weights += graph.op_weight_bytes[op.index()];
    trains = trains || graph.op_phase[op.index()] != Phase::kForward;
    blocks.insert(blocks.end(), graph.blocks(op).begin(), graph.blocks(op).end());
  }
  if (!trains) return 0;
  std::sort(blocks.begin(), blocks.end());
  blocks.erase(std::unique(blocks.begin(), blocks.end()), blocks.end());
  for (const BlockId block : blocks) weights += graph.block_bytes[block.index()];
  return ringSeconds(problem, stage.devices, weights);
}

std::vector<double> blockSyncSeconds(const Problem& problem, std::span<const PlanStage> stages) {
  std::vector<double> seconds(stages.size(), 0);
  const OpGraph& graph = problem.graph;
  if (!problem.hasTraining() || graph.block_bytes.empty() || stages.size() < 2) return seconds;
  std::vector<std::uint32_t> stage_of(problem.opCount(), 0);
  for (std::uint32_t s = 0; s < stages.size(); ++s) {
    for (const OpId op : stages[s].ops) stage_of[op.index()] = s;
  }
  std::vector<std::uint32_t> readers;
  std::vector<DeviceId> holders;
  for (std::size_t b = 0; b < graph.block_bytes.size(); ++b) {
    readers.clear();
    for (const OpId op : graph.block_readers[b]) readers.push_back(stage_of[op.index()]);
    std::sort(readers.begin(), readers.end());
    readers.erase(std::unique(readers.begin(), readers.end()), readers.end());
    if (readers.size() < 2) continue;
    holders.clear();
    for (const std::uint32_t s : readers)
      holders.insert(holders.end(), stages[s].devices.begin(), stages[s].devices.end());
    const double sync = ringSeconds(problem, holders, graph.block_bytes[b]);
    for (const std::uint32_t s : readers) seconds[s] += sync;
  }
  return seconds;
}

}  // namespace allot
