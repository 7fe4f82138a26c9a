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
#include <span>
#include <string>
#include <vector>

#include "allot/plan.h"
#include "allot/problem.h"
#include "check/clock.h"
#include "check/findings.h"

namespace allot {

inline constexpr double kRelative = 1e-9;  // agreement of values, loads and times

struct CheckContext {
  const Problem& problem;
  const Plan& plan;
  const Clock& clock;
  Findings& findings;

  // What a plan says of its modes holds; what it leaves open is the problem's.
  const Modes& modes() const { return plan.modes; }
  Transfers transfers() const { return plan.modes.transfers ? *plan.modes.transfers : problem.transfers(); }
  bool liveMemory() const {
    if (modes().memory) return *modes().memory == MemoryModel::kLive;
    if (modes().goal == Goal::kLatency && modes().model == LatencyModel::kSubgraphCalls) return false;
    return problem.modes.memory.value_or(problem.default_memory) == MemoryModel::kLive;
  }
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
};

// What a device holds where it holds most, by what it holds it for.
struct Held {
  std::int64_t placed = 0;                  // memory and activations of ops
  double weights = 0;                       // with the optimiser's factor, each block once
  std::int64_t tensors = 0, workspace = 0;  // while the op `at` runs
  std::int64_t arriving = 0;                // received tensors once more, of the next sample
  double in_flight = 0;                     // stashed for other samples
  OpId at;                                  // invalid where nothing changes with time

  double bytes() const {
    return static_cast<double>(placed + tensors + workspace + arriving) + weights + in_flight;
  }
};

// What the plan is worth and what each device carries, recomputed.
struct Figures {
  double value = std::numeric_limits<double>::quiet_NaN();  // NaN = could not be computed
  std::vector<DeviceUse> devices;                           // by device, but for memory
  std::vector<Held> held;                                   // by device; empty = unknown
  double tolerance_seconds = 0;                             // of devices' times, besides the relative one
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

// What ops hold for as long as they are placed, by part (device or stage) of the ops.
std::vector<Held> residentOf(const CheckContext& context, std::size_t parts,
                             std::span<const std::uint32_t> part_of_op);
// The device of each op, as a part.
std::vector<std::uint32_t> deviceParts(const CheckContext& context);
// How many bytes, at which op, and what they are.
std::string heldText(const CheckContext& context, const Held& held, bool exact);
// Each device's bytes against its limit.
void checkMemoryLimits(const CheckContext& context, std::span<const Held> held);

// False when the stages are no partition and loads mean nothing.
bool viewStages(const CheckContext& context, StageView& stages);
// The plan's contiguity mode; brings stages that were not listed into an order of the pipeline.
void checkContiguity(const CheckContext& context, StageView& stages);
Figures checkThroughput(const CheckContext& context);
// What each device of a stage holds.
std::vector<Held> stageMemory(const CheckContext& context, const StageView& stages);

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
// Peak of live tensors and workspace, added to what each device holds.
void addLiveMemory(const CheckContext& context, const Deliveries& deliveries, std::vector<Held>& held);

// Latency by subgraph calls.
Figures checkCalls(const CheckContext& context);

inline bool agree(double a, double b, double absolute) {
  if (!std::isfinite(a) || !std::isfinite(b)) return a == b;
  return std::fabs(a - b) <= kRelative * std::max(std::fabs(a), std::fabs(b)) + absolute;
}

// Bytes agree exactly, as far as a double holds single bytes.
inline bool sameBytes(double a, double b) {
  if (a == b || !(std::min(a, b) > 0x1p53)) return a == b;
  return std::fabs(a - b) <= 0x1p-50 * std::max(a, b);
}

}  // namespace allot
