// Throughput: loads of stages, synchronisation of replicas and of copies of shared weights.
//
// Weights are synchronised twice over, by two rules that do not know of each other:
// - A stage on r devices that has backward or update ops: W is the stage's weights, each block of shared
//   weights once, also a block that other stages hold.
// - A block whose readers lie in several stages, in a problem with backward or update ops: k is the number of
//   all devices of these stages, replicas counted one by one; each of them pays for W = the block's bytes,
//   whatever the phases of its own readers. Each block pays apart. A block read in one stage alone is covered
//   by the first rule.
// Either takes 2 (r - 1) / r x W / bandwidth + 2 (r - 1) x latency over the slowest link between any two of
// the devices, is not divided by replicas, is added after the overlap rule, and belongs to the rest under
// `max-parts`. W has no optimiser's factor.
#include "check/parts.h"

namespace allot {
namespace {

constexpr int kForwardPart = 0, kRest = 1;

int partOf(Phase phase) {
  return phase == Phase::kForward ? kForwardPart : kRest;
}

struct StageLoad {
  double compute[2] = {0, 0};  // forward, rest; of the whole stage
  double communication[2] = {0, 0};
  double sync = 0;
  std::int64_t weight_bytes = 0;
  bool trains = false;
};

void addCompute(const CheckContext& context, const StageView& stages, std::vector<StageLoad>& loads) {
  const OpGraph& graph = context.problem.graph;
  for (std::size_t i = 0; i < context.problem.opCount(); ++i) {
    StageLoad& load = loads[stages.of_op[i]];
    const int part = partOf(graph.op_phase[i]);
    load.compute[part] += context.clock.busySeconds(OpId(i), stages.devices[stages.of_op[i]][0]);
    load.weight_bytes += graph.op_weight_bytes[i];
    load.trains = load.trains || part == kRest;
  }
}

void addCommunication(const CheckContext& context, const StageView& stages, std::vector<StageLoad>& loads) {
  const Problem& problem = context.problem;
  const bool via_host = context.transfers() == Transfers::kViaHost;
  constexpr std::size_t kNever = std::numeric_limits<std::size_t>::max();
  std::vector<std::size_t> reached(stages.count(),
                                   kNever);  // the last tensor that each stage was counted for
  for (std::size_t t = 0; t < problem.firstOrderTensor(); ++t) {
    const TensorId tensor(t);
    const OpId producer = problem.graph.producer(tensor);
    const int part = partOf(problem.graph.op_phase[producer.index()]);
    const std::uint32_t source = stages.of_op[producer.index()];
    const DeviceId from = stages.devices[source][0];
    bool cut = false;
    for (const OpId consumer : problem.graph.consumers(tensor)) {
      const std::uint32_t target = stages.of_op[consumer.index()];
      if (target == source || reached[target] == t) continue;
      reached[target] = t;
      const DeviceId to = stages.devices[target][0];
      if (!via_host) {
        const double seconds = context.clock.transferSeconds(tensor, from, to);
        loads[source].communication[part] += seconds;
        loads[target].communication[part] += seconds;
        continue;
      }
      if (!cut && problem.cluster.isAccelerator(from))
        loads[source].communication[part] += context.clock.toHostSeconds(tensor, from);
      cut = true;
      if (problem.cluster.isAccelerator(to))
        loads[target].communication[part] += context.clock.fromHostSeconds(tensor, to);
    }
  }
}

// Time in which these devices bring their copies of the weights together.
double syncSeconds(const Problem& problem, std::span<const DeviceId> devices, std::int64_t weight_bytes) {
  const double r = static_cast<double>(devices.size());
  double slowest = 0;
  for (const DeviceId a : devices) {
    for (const DeviceId b : devices) {
      if (a == b) continue;
      const Link* link = problem.pairLink(a, b);
      if (link == nullptr && weight_bytes == 0) continue;
      if (link == nullptr) return std::numeric_limits<double>::infinity();
      const double bytes = 2 * (r - 1) / r * static_cast<double>(weight_bytes);
      slowest =
          std::max(slowest, bytes / link->bandwidth_bytes_per_second + 2 * (r - 1) * link->latency_seconds);
    }
  }
  return slowest;
}

// Counts each block in the weights of the stages that read it, then adds both kinds of sync.
void addSync(const CheckContext& context, const StageView& stages, std::vector<StageLoad>& loads) {
  const OpGraph& graph = context.problem.graph;
  const bool training = std::any_of(loads.begin(), loads.end(), [](const StageLoad& l) { return l.trains; });
  std::vector<std::uint32_t> readers;
  std::vector<DeviceId> devices;
  for (std::size_t b = 0; b < graph.block_bytes.size(); ++b) {
    readers.clear();
    for (const OpId op : graph.block_readers[b]) readers.push_back(stages.of_op[op.index()]);
    std::sort(readers.begin(), readers.end());
    readers.erase(std::unique(readers.begin(), readers.end()), readers.end());
    for (const std::uint32_t stage : readers) loads[stage].weight_bytes += graph.block_bytes[b];
    if (!training || readers.size() < 2) continue;
    devices.clear();
    for (const std::uint32_t stage : readers)
      devices.insert(devices.end(), stages.devices[stage].begin(), stages.devices[stage].end());
    const double seconds = syncSeconds(context.problem, devices, graph.block_bytes[b]);
    for (const std::uint32_t stage : readers) loads[stage].sync += seconds;
  }
  for (std::size_t s = 0; s < stages.count(); ++s) {
    if (stages.devices[s].size() < 2 || !loads[s].trains) continue;
    loads[s].sync += syncSeconds(context.problem, stages.devices[s], loads[s].weight_bytes);
  }
}

double joined(Overlap overlap, double compute, double communication) {
  return overlap == Overlap::kSum ? compute + communication : std::max(compute, communication);
}

}  // namespace

Figures checkThroughput(const CheckContext& context) {
  Figures figures;
  StageView stages;
  if (!viewStages(context, stages)) return figures;
  checkContiguity(context, stages);
  figures.devices.resize(context.problem.deviceCount());
  std::vector<StageLoad> loads(stages.count());
  addCompute(context, stages, loads);
  addCommunication(context, stages, loads);
  addSync(context, stages, loads);
  const std::vector<Held> memory = stageMemory(context, stages);
  figures.held.resize(context.problem.deviceCount());
  const Modes& modes = context.modes();
  double largest = 0, largest_forward = 0, largest_rest = 0;
  for (std::size_t s = 0; s < stages.count(); ++s) {
    const StageLoad& load = loads[s];
    const double r = static_cast<double>(stages.devices[s].size());
    const double compute = load.compute[0] + load.compute[1];
    const double communication = load.communication[0] + load.communication[1];
    const double forward = joined(modes.overlap, load.compute[0], load.communication[0]) / r;
    const double rest = joined(modes.overlap, load.compute[1], load.communication[1]) / r + load.sync;
    const bool by_parts = modes.training_load == TrainingLoad::kMaxParts;
    const double seconds =
        by_parts ? forward + rest : joined(modes.overlap, compute, communication) / r + load.sync;
    if (!std::isfinite(seconds)) {
      context.findings.add("stage {} on device \"{}\" has no finite load: a link it needs is missing", s,
                           context.deviceName(stages.devices[s][0]));
      return {};
    }
    largest = std::max(largest, seconds);
    largest_forward = std::max(largest_forward, forward);
    largest_rest = std::max(largest_rest, rest);
    for (const DeviceId device : stages.devices[s]) {
      figures.devices[device.index()] = {compute / r, communication / r, seconds, 0};
      figures.held[device.index()] = memory[s];
    }
  }
  figures.value = modes.training_load == TrainingLoad::kMaxParts ? largest_forward + largest_rest : largest;
  checkMemoryLimits(context, figures.held);
  return figures;
}

}  // namespace allot
