// A placement with its schedule, its value and its proof.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "allot/ids.h"
#include "allot/options.h"

namespace allot {

enum class Status : std::uint8_t { kOptimal, kFeasible, kInfeasible, kNoPlan, kBadInput, kInternalError };

std::string_view name(Status status);

// "optimal" is said only when the gap is at most this.
inline constexpr double kOptimalGap = 1e-9;

struct DeviceUse {
  double compute_seconds = 0;
  double communication_seconds = 0;
  double load_seconds = 0;
  double memory_bytes = 0;  // static sum, in-flight sum or live peak, as the modes say
};

// Throughput: the ops of one stage and the devices that hold replicas of it (the first is the one the
// assignment names). Subgraph-calls: one call of an accelerator.
struct PlanStage {
  std::vector<DeviceId> devices;
  std::vector<OpId> ops;
};

struct PlanTransfer {
  TensorId tensor;
  std::vector<OpId> consumers;  // all of the tensor's consumers on `to`, or one where transfers are per edge
  DeviceId from, to;
  double start = 0, end = 0;
};

struct CurvePoint {
  double seconds, value, bound;
};

// What the plan's decisions are worth when op times are not what they were said to be.
struct NoiseReport {
  double share = 0;  // standard deviation of the logarithm of each time's factor
  std::uint32_t samples = 0;
  double mean = 0, p95 = 0;  // seconds
};

struct Plan {
  Modes modes;  // every mode the plan was made for, the goal among them
  Status status = Status::kNoPlan;
  double value = std::numeric_limits<double>::infinity();
  double bound = 0;
  std::string solver;
  std::string proof;
  std::uint64_t seed = 0;
  double seconds = 0;
  bool time_limited = false;
  std::vector<CurvePoint> curve;
  std::string costs;

  std::vector<DeviceId> assignment;  // by op; invalid where a file names none
  std::vector<DeviceUse> devices;    // by device
  std::vector<PlanStage> stages;
  std::vector<double> start, end;  // by op, seconds; empty when the goal has no schedule
  std::vector<PlanTransfer> transfers;
  std::vector<double> completion;  // by model, seconds
  std::optional<NoiseReport> noise;

  bool hasPlan() const { return status == Status::kOptimal || status == Status::kFeasible; }
  // (value - bound) / value; 0 for value 0.
  double gap() const { return value > 0 ? (value - bound) / value : 0; }
};

// The smallest explanation found for "no plan can exist", one line per fact.
struct Conflict {
  std::vector<std::string> facts;
};

}  // namespace allot
