// A placement problem: graph + cluster + op times + transfer times + constraints + objective.
//
// Problem: say completely what a plan must satisfy and what its value is, so that solvers and the checker
// need nothing else. Guarantee: `finish` validates everything once; solvers and the checker may assume a
// finished problem is sound. Order constraints are kept as tensors of zero time and zero bytes behind the
// real ones (`firstOrderTensor`), so that every algorithm that respects tensors respects them too.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "allot/cluster.h"
#include "allot/graph.h"
#include "allot/ids.h"
#include "allot/options.h"
#include "allot/result.h"

namespace allot {

inline constexpr double kCannotRun = std::numeric_limits<double>::infinity();
// Limits of sane input; beyond them a unit is almost surely wrong.
inline constexpr double kMaxSeconds = 1e12;
inline constexpr std::int64_t kMaxBytes = std::int64_t{1} << 60;

struct Constraints {
  std::vector<std::pair<OpId, DeviceId>> pin;
  std::vector<std::pair<OpId, DeviceId>> forbid;
  std::vector<std::vector<OpId>> together;
  std::vector<std::pair<OpId, OpId>> order;
};

class Problem {
 public:
  std::string name;
  OpGraph graph;
  Cluster cluster;
  std::vector<double> op_seconds;     // [op * classes + class], kCannotRun where it cannot
  std::vector<double> model_weight;   // by model
  std::vector<double> model_release;  // seconds, by model
  // By tensor: a single time, or NaN where a matrix or the links decide.
  std::vector<double> tensor_seconds;
  // By tensor: row of `matrices`, or -1. A matrix is [from device][to device].
  std::vector<std::int32_t> tensor_matrix;
  std::vector<double> matrices;
  Constraints constraints;
  Modes modes;
  std::string costs = "given";                        // provenance of the times
  MemoryModel default_memory = MemoryModel::kStatic;  // where the modes name none

  // Adds a tensor with a single transfer time (NaN = from the links).
  TensorId addTensor(OpId producer, std::span<const OpId> consumers, std::int64_t bytes, double seconds);

  // Validates, joins units, applies pins and forbids, resolves links, orders the graph. Call once, after the
  // last change; `setModes` may follow.
  Result<void> finish();
  // Adds pins, forbids and together sets to a finished problem; its order constraints cannot change any more.
  Result<void> addConstraints(const Constraints& more);
  // Replaces pins, forbids and together sets of a finished problem; order constraints stay.
  void replacePlacement(Constraints placement);
  // Changes the objective of a finished problem; checks what the new modes need (links, hosts, no matrix
  // under via-host).
  Result<void> setModes(const Modes& modes);

  Goal goal() const { return *modes.goal; }
  Transfers transfers() const { return *modes.transfers; }
  std::size_t opCount() const { return graph.opCount(); }
  std::size_t deviceCount() const { return cluster.deviceCount(); }
  // Tensors from this index on are order constraints.
  std::size_t firstOrderTensor() const { return first_order_tensor_; }
  bool isOrder(TensorId tensor) const { return tensor.index() >= first_order_tensor_; }

  double opSeconds(OpId op, ClassId cls) const {
    return op_seconds[op.index() * cluster.classCount() + cls.index()];
  }
  double opSeconds(OpId op, DeviceId device) const {
    return opSeconds(op, cluster.devices[device.index()].cls);
  }
  // Time the device is busy with the op, its launch included.
  double busySeconds(OpId op, DeviceId device) const {
    const double seconds = opSeconds(op, device);
    return seconds > 0 ? seconds + cluster.classOf(device).launch_seconds : 0;
  }
  // Time of one tensor between two devices; 0 on the same one.
  double transferSeconds(TensorId tensor, DeviceId from, DeviceId to) const;
  // via-host: time between an accelerator and its host.
  double toHostSeconds(TensorId tensor, DeviceId device) const;
  double fromHostSeconds(TensorId tensor, DeviceId device) const;

  // The link of an ordered pair of distinct devices, or nullptr.
  const Link* pairLink(DeviceId from, DeviceId to) const;

  // Bytes a device may hold, headroom taken off; +infinity when unlimited.
  double memoryLimit(DeviceId device) const;
  // Whole bytes an op adds at least to a device that holds it, its share of the blocks it reads included:
  // sums of these never exceed what `residentBytes(ops)` says of all ops of a device. What searches add up.
  double residentBytes(OpId op) const { return least_resident_[op.index()]; }
  // Bytes these ops hold on one device for as long as they are placed, each block once, and `more` besides.
  // Whole numbers are added up first, so that every sum of the same parts is the same.
  double residentBytes(std::span<const OpId> ops, std::int64_t more = 0) const;
  // Whether sums of residentBytes(op) are exact for every set of whole units.
  bool residentBytesAddUp() const { return resident_adds_up_; }
  bool liveMemory() const { return modes.memory == MemoryModel::kLive; }

  std::size_t unitCount() const { return unit_ops_.rows(); }
  UnitId unit(OpId op) const { return op_unit_[op.index()]; }
  std::span<const OpId> unitOps(UnitId unit) const { return unit_ops_[unit.index()]; }
  // Whether class, pins and forbids let the unit run on the device.
  bool allowed(UnitId unit, DeviceId device) const {
    return allowed_[unit.index() * deviceCount() + device.index()] != 0;
  }
  bool hasTraining() const { return has_training_; }

  // The problem as search engines know it: memory adds up op by op, and under throughput it is static. A plan
  // of this problem is a plan there, worth no more; what is proven there is a bound here.
  Problem relaxed() const;
  // Whether the reverse holds too, so that what is optimal or infeasible there is so here.
  bool relaxedIsExact() const;
  // A device that cannot hold an op while it runs, even with nothing there but the op's unit; `allowed` knows
  // it in relaxed().
  struct MemoryBar {
    OpId op;
    DeviceId device;
    double bytes;  // that it would hold
  };
  std::span<const MemoryBar> memoryBars() const { return memory_bars_; }
  // Makes every device's memory unlimited.
  void dropMemoryLimits();

  // A time that is too short to move the clock counts as 0; here is what it was before (docs/semantics.md).
  struct ShortTime {
    enum class Table : std::uint8_t { kOp, kTensor, kMatrix } table;
    std::size_t index;  // in op_seconds, tensor_seconds or matrices
    double seconds;
  };
  std::span<const ShortTime> shortTimes() const { return short_times_; }
  // A table of times as it was given, the short ones among them.
  std::vector<double> givenTimes(ShortTime::Table table) const;
  // Below this, times of ops and transfers count as 0.
  double clockStep() const { return clock_step_; }

 private:
  std::size_t first_order_tensor_ = 0;
  std::vector<UnitId> op_unit_;
  Csr<OpId> unit_ops_;
  std::vector<std::uint8_t> allowed_;  // [unit * devices + device]
  bool has_training_ = false;
  // Resolved links by ordered pair of devices, and between each device and its host.
  std::vector<Link> pair_link_;
  std::vector<Link> to_host_, from_host_;
  std::vector<double> least_resident_;  // by op
  bool resident_adds_up_ = true;
  std::vector<MemoryBar> memory_bars_;  // of a relaxed problem
  double clock_step_ = 0;
  std::vector<ShortTime> short_times_;

  void joinUnits();
  void applyConstraints();
  Result<void> checkSizes() const;
  void resolveLinks();
  void findLeastResident();
  void findMemoryBars();
  void dropShortTimes();
  double longestWork() const;
  double longestTransfer(TensorId tensor, std::span<const Link> links,
                         std::span<const double> longest_of_matrix) const;
  double onClock(double seconds) const { return seconds < clock_step_ ? 0 : seconds; }
  Result<void> checkModes() const;
  Result<void> checkReplicaLinks() const;
  Result<void> checkSyncLink(DeviceId from, DeviceId to, std::string_view who) const;
  Transfers defaultTransfers() const;
};

}  // namespace allot
