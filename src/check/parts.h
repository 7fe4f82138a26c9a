// The parts of the checker and what they hand to one another.
//
// Every part recomputes from Problem and Plan by the definitions of docs/semantics.md, adds what is wrong to
// the findings and returns what later parts need. Each is linear in ops, tensors and transfers but for
// sorting intervals per device.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "allot/plan.h"
#include "allot/problem.h"
#include "check/findings.h"

namespace allot {

inline constexpr double kRelative = 1e-9;          // agreement of values, loads and bytes
inline constexpr double kAbsoluteSeconds = 1e-12;  // agreement of times near zero

struct CheckContext {
  const Problem& problem;
  const Plan& plan;
  Findings& findings;

  const Modes& modes() const { return plan.modes; }
  Transfers transfers() const { return plan.modes.transfers ? *plan.modes.transfers : problem.transfers(); }
  const std::string& opName(OpId op) const { return problem.graph.op_name[op.index()]; }
  const std::string& deviceName(DeviceId device) const {
    return problem.cluster.devices[device.index()].name;
  }
  std::string tensorName(TensorId tensor) const {
    return fmt::format("tensor {} of op \"{}\"", tensor.index(), opName(problem.graph.producer(tensor)));
  }
  bool isOp(OpId op) const { return op.index() < problem.opCount(); }
  bool isDevice(DeviceId device) const { return device.index() < problem.deviceCount(); }
  DeviceId deviceOf(OpId op) const { return plan.assignment[op.index()]; }

  double residentBytes(OpId op) const {
    const OpGraph& graph = problem.graph;
    double held = static_cast<double>(graph.op_memory_bytes[op.index()]);
    if (modes().memory == MemoryModel::kStatic)
      held += static_cast<double>(graph.op_activation_bytes[op.index()]);
    return held + static_cast<double>(graph.op_weight_bytes[op.index()]) * modes().optimizer_factor;
  }
  double memoryLimit(DeviceId device) const {
    const auto& memory = problem.cluster.devices[device.index()].memory_bytes;
    return memory ? static_cast<double>(*memory) * (1 - modes().headroom)
                  : std::numeric_limits<double>::infinity();
  }
};

// What the plan is worth and what each device carries, recomputed.
struct Figures {
  double value = std::numeric_limits<double>::quiet_NaN();  // NaN = could not be computed
  std::vector<DeviceUse> devices;                           // by device; NaN where unknown
};

// Throughput: the stages of a plan, one per used device where the plan lists none.
struct StageView {
  std::vector<std::vector<DeviceId>> devices;  // by stage; the first stands for the stage
  std::vector<std::uint32_t> of_op;
  bool listed = false;  // the plan gives them, and so their order

  std::size_t count() const { return devices.size(); }
};

// Complete, and every op where class, pins, forbids, groups and `together` sets let it be. False when nothing
// further can be computed.
bool checkPlacement(const CheckContext& context);

// Each device's bytes against its limit.
void checkMemoryLimits(const CheckContext& context, const std::vector<DeviceUse>& devices, const char* what);
// Resident bytes summed per device.
void addStaticMemory(const CheckContext& context, std::vector<DeviceUse>& devices);

// False when the stages are no partition and loads mean nothing.
bool viewStages(const CheckContext& context, StageView& stages);
// The plan's contiguity mode; brings stages that were not listed into an order of the pipeline.
void checkContiguity(const CheckContext& context, StageView& stages);
Figures checkThroughput(const CheckContext& context);

// Latency and completion by events.
Figures checkEvents(const CheckContext& context);

// How tensors come to the devices of their consumers.
struct Deliveries {
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

  // Index of the plan's transfer that serves each consumer, at the consumer's position in the graph's list of
  // all tensors' consumers.
  std::vector<std::uint32_t> cover;
};

// Ends, times and ports of all listed transfers.
Deliveries checkTransfers(const CheckContext& context, double tolerance);
// Peak of live tensors, by device.
void addLiveMemory(const CheckContext& context, const Deliveries& deliveries,
                   std::vector<DeviceUse>& devices);

// Latency by subgraph calls.
Figures checkCalls(const CheckContext& context);

inline bool agree(double a, double b, double absolute) {
  if (!std::isfinite(a) || !std::isfinite(b)) return a == b;
  return std::fabs(a - b) <= kRelative * std::max(std::fabs(a), std::fabs(b)) + absolute;
}

}  // namespace allot
