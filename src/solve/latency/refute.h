// Destructive bounds: shows that a part of a graph cannot be done within a given time.
//
// Problem: given a part between two ops (bound_module.h), devices for these two, and a time, either prove
// that no plan does the part within it, or give up. Method: each unit has a set of devices it may still run
// on. Heads and tails by device follow from the sets by paths (and in one-port modes by what must pass a port
// before an op or behind it); a device on which an op does not fit between its head and tail is dropped. Ops
// bound to one device, and transfers bound to one port, must fit into their windows together (preemptive
// single machine); a device is dropped for an op that would not fit beside those; all ops must fit on the
// devices together (prices of device time). What is left is split by deciding units one at a time. Guarantee:
// kRefuted is a proof, in every link mode, send mode and memory model. Comparisons leave room for rounding.
// Nothing else is a proof of anything: the time may still be impossible. Complexity: O(edges * devices^2 +
// ops^2 * devices) per node of the search, nodes by the caller's limit.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "allot/solve.h"
#include "solve/latency/bound_module.h"
#include "solve/latency/refute_orders.h"
#include "solve/latency/windows.h"

namespace allot {

class Refuter {
 public:
  enum class Outcome : std::uint8_t {
    kRefuted,
    kOpen,     // all units decided and nothing refutes them: more nodes do not help
    kLimit,    // out of nodes
    kStopped,  // the budget ended
  };
  static constexpr std::uint32_t kAnyDevice = ~std::uint32_t{0};

  Refuter(const BoundModule& part, const Budget& budget);

  // Devices of entry and exit, or kAnyDevice.
  Outcome refute(double target, std::uint32_t entry_device, std::uint32_t exit_device,
                 std::uint64_t node_limit);

  // Least time from the start of the entry on a device to the start of the exit, by exit device, from paths
  // alone; without an exit one number, to the end of the last op. Infinite where a device is not allowed.
  std::vector<double> paths(std::uint32_t entry_device);

  std::uint64_t nodes = 0;  // of all calls
  double next = 0;          // refuted: every time below this one is refuted as well; at least the target
  double open = 0;          // kOpen: a time that the part alone can be done in, at most the target
  Schedule schedule;        // kOpen: how; by op of the part, nets of the model

 private:
  struct Level {
    std::vector<std::uint32_t> allowed;  // by unit, masks of devices
    std::vector<double> head, tail;      // [op * devices + device]
  };

  // A transfer through the port at hand; `to`: an op that waits for it.
  struct PortUse {
    Activity transfer;
    std::uint32_t from, to;
  };
  struct Send {
    std::uint32_t net, to, activity;
    double length;
  };

  // Sums along paths and over sets are taken in other orders than a plan's.
  static constexpr double kRounding = 1e-11;

  const BoundModule& part_;
  const Budget& budget_;
  std::size_t devices_;
  double limit_ = 0;  // the target, with room for rounding
  std::uint64_t last_node_ = 0;
  std::vector<Level> levels_;
  std::vector<double> price_;  // by device
  Windows windows_;
  std::vector<Activity> list_;
  std::vector<PortUse> uses_;
  std::vector<std::size_t> bound_ops_;  // to the device at hand
  OrderRefuter orders_;
  std::vector<std::uint32_t> activity_;  // by op
  std::vector<Send> sends_;

  static bool isBound(std::uint32_t devices) { return (devices & (devices - 1)) == 0; }
  bool late(double time) {
    if (time <= limit_) return false;
    next = std::min(next, time);
    return true;
  }
  bool setRoot(std::uint32_t entry_device, std::uint32_t exit_device);
  Outcome descend(std::size_t depth);
  void listActivities(const Level& level);
  Outcome order(const Level& level);
  void polish();
  void record(const Level& level);
  bool propagate(Level& level);
  void heads(Level& level);
  void tails(Level& level);
  bool dropLate(Level& level, bool& changed);
  bool fitMemory(Level& level);
  bool fitDevices(Level& level, bool& changed);
  bool orderPairs(Level& level, std::size_t device, bool& changed);
  bool fitPorts(Level& level, bool& changed);
  void listSends(const Level& level, std::size_t device);
  void listReceives(const Level& level, std::size_t device);
  bool orderUses(Level& level, bool& changed);
  bool fitLoad(const Level& level);
  double receiveAll(const Level& level, std::size_t op, std::size_t device);
  double sendAll(const Level& level, std::size_t op, std::size_t device);
  bool drop(Level& level, std::size_t op, std::size_t device);
  std::uint32_t pickUnit(const Level& level) const;
};

}  // namespace allot
