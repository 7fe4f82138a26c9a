// Throughput: loads of stages, synchronisation of replicas, memory with samples in flight.
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
  double weight_bytes = 0;
  bool trains = false;
};

void addCompute(const CheckContext& context, const StageView& stages, std::vector<StageLoad>& loads) {
  const OpGraph& graph = context.problem.graph;
  for (std::size_t i = 0; i < context.problem.opCount(); ++i) {
    StageLoad& load = loads[stages.of_op[i]];
    const int part = partOf(graph.op_phase[i]);
    load.compute[part] += context.problem.busySeconds(OpId(i), stages.devices[stages.of_op[i]][0]);
    load.weight_bytes += static_cast<double>(graph.op_weight_bytes[i]);
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
        const double seconds = problem.transferSeconds(tensor, from, to);
        loads[source].communication[part] += seconds;
        loads[target].communication[part] += seconds;
        continue;
      }
      if (!cut && problem.cluster.isAccelerator(from))
        loads[source].communication[part] += problem.toHostSeconds(tensor, from);
      cut = true;
      if (problem.cluster.isAccelerator(to))
        loads[target].communication[part] += problem.fromHostSeconds(tensor, to);
    }
  }
}

// Replicas that train exchange their weights over the slowest link between any two of them.
double syncSeconds(const CheckContext& context, const std::vector<DeviceId>& devices, const StageLoad& load) {
  if (devices.size() < 2 || !load.trains) return 0;
  const double r = static_cast<double>(devices.size());
  double slowest = 0;
  for (const DeviceId a : devices) {
    for (const DeviceId b : devices) {
      if (a == b) continue;
      const Link* link = context.problem.pairLink(a, b);
      if (link == nullptr && load.weight_bytes == 0) continue;
      const double seconds = link == nullptr
                                 ? std::numeric_limits<double>::infinity()
                                 : 2 * (r - 1) / r * load.weight_bytes / link->bandwidth_bytes_per_second +
                                       2 * (r - 1) * link->latency_seconds;
      slowest = std::max(slowest, seconds);
    }
  }
  return slowest;
}

double joined(Overlap overlap, double compute, double communication) {
  return overlap == Overlap::kSum ? compute + communication : std::max(compute, communication);
}

// Bytes that forward ops made and backward ops of each stage read, each tensor once per stage.
std::vector<double> stashBytes(const Problem& problem, const StageView& stages) {
  const OpGraph& graph = problem.graph;
  constexpr std::size_t kNever = std::numeric_limits<std::size_t>::max();
  std::vector<double> stash(stages.count(), 0);
  std::vector<std::size_t> counted(stages.count(), kNever);
  for (std::size_t t = 0; t < graph.tensorCount(); ++t) {
    if (graph.op_phase[graph.tensor_producer[t].index()] != Phase::kForward) continue;
    for (const OpId consumer : graph.tensor_consumers[t]) {
      const std::uint32_t stage = stages.of_op[consumer.index()];
      if (graph.op_phase[consumer.index()] != Phase::kBackward || counted[stage] == t) continue;
      counted[stage] = t;
      stash[stage] += static_cast<double>(graph.tensor_bytes[t]);
    }
  }
  return stash;
}

std::vector<double> stageMemory(const CheckContext& context, const StageView& stages) {
  std::vector<double> memory(stages.count(), 0);
  for (std::size_t i = 0; i < context.problem.opCount(); ++i)
    memory[stages.of_op[i]] += context.residentBytes(OpId(i));
  if (!context.modes().in_flight) return memory;
  const std::vector<double> stash = stashBytes(context.problem, stages);
  for (std::size_t s = 0; s < stages.count(); ++s) {
    const std::size_t replicas = stages.devices[s].size();
    const std::size_t samples = (stages.count() - s + replicas - 1) / replicas;
    memory[s] += static_cast<double>(samples) * stash[s];
  }
  return memory;
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
  const std::vector<double> memory = stageMemory(context, stages);
  const Modes& modes = context.modes();
  double largest = 0, largest_forward = 0, largest_rest = 0;
  for (std::size_t s = 0; s < stages.count(); ++s) {
    StageLoad& load = loads[s];
    const double r = static_cast<double>(stages.devices[s].size());
    load.sync = syncSeconds(context, stages.devices[s], load);
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
      figures.devices[device.index()] = {compute / r, communication / r, seconds, memory[s]};
    }
  }
  figures.value = modes.training_load == TrainingLoad::kMaxParts ? largest_forward + largest_rest : largest;
  checkMemoryLimits(context, figures.devices,
                    modes.in_flight ? "resident and samples in flight" : "resident");
  return figures;
}

}  // namespace allot
