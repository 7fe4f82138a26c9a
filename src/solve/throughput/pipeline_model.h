// The throughput problem boiled down to what its engines need: items, nets and pools of devices.
//
// Items are what is placed as one: units of the problem, or blocks of the module order where stages must form
// a chain. Pools are sets of interchangeable devices. A net is a set of tensors with the same ends: a device
// that holds some but not all of its items pays for it, `send` when it holds the producer, else `receive`.
// Guarantee: under via-host transfers the load of a device with item set S is
//   compute(S) + sum of the cost of every net that S cuts      (`sum`; the larger of the two under `max`)
// exactly as the evaluator computes it, up to rounding (`exact`). Under by-link transfers the costs are the
// least that any pair of devices allows, so loads are lower bounds (`exact` is false).
// Complexity: O(ops * pools + ends of tensors), plus devices^2 per tensor with a matrix.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "allot/graph.h"
#include "allot/plan.h"
#include "allot/problem.h"

namespace allot {

// Devices that any plan may exchange: same class, memory, host and permissions, same times to and from the
// host, and where replicas synchronise the same links to all others of the class.
struct Pool {
  std::vector<DeviceId> devices;
  ClassId cls;
  double memory = std::numeric_limits<double>::infinity();  // bytes one device may hold
  bool accelerator = false;
};

class PipelineModel {
 public:
  enum class Items : std::uint8_t { kUnits, kBlocks };
  PipelineModel(const Problem& problem, Items items);

  const Problem* problem;
  bool exact = true;
  std::vector<Pool> pools;

  // Items.
  Csr<UnitId> item_units;
  std::vector<std::uint32_t> item_of_unit;
  std::vector<double> seconds;       // [item * pools + pool]; kCannotRun where the item may not run
  std::vector<double> rest_seconds;  // the part of `seconds` that is not forward; same layout
  std::vector<double> resident;      // bytes
  std::vector<double> weights;       // bytes that replicas synchronise
  std::vector<std::uint8_t> trains;  // has backward or update ops

  // Nets. Each has at least two items and costs some pool something.
  Csr<std::uint32_t> net_items;
  std::vector<std::uint32_t> net_producer;  // an item
  std::vector<std::uint8_t> net_rest;       // made by an op that is not forward
  std::vector<double> send, receive;        // [net * pools + pool]
  Csr<std::uint32_t> item_nets;

  // The forward graph over items (acyclic for blocks), without doubles.
  Csr<std::uint32_t> before, after;

  // In-flight memory: bytes that a stage stashes when it holds one of the readers.
  Csr<std::uint32_t> stash_readers;
  std::vector<double> stash_bytes;
  Csr<std::uint32_t> item_stashes;

  std::size_t itemCount() const { return item_units.rows(); }
  std::size_t netCount() const { return net_items.rows(); }
  std::size_t poolCount() const { return pools.size(); }
  double time(std::size_t item, std::size_t pool) const { return seconds[item * pools.size() + pool]; }
  bool runs(std::size_t item, std::size_t pool) const { return time(item, pool) < kCannotRun; }
  double cost(std::size_t net, std::size_t pool, bool sends) const {
    return (sends ? send : receive)[net * pools.size() + pool];
  }

  // Whether every device could hold everything, all samples in flight included.
  bool memoryNeverBinds() const;

  // For values below `most` alone: items that take longer on a device may not run there, and nets cost no
  // more than that. No load below it changes, and none falls below it.
  void limitTimes(double most);

  // Joins items that cost nothing to the only item they are tied to, where that cannot change the best value:
  // memory cannot bind, the joined item may run wherever its partner may, and every net that it ends in ends
  // in its partner too. `chain`: its partner must also be its only neighbour in the forward graph.
  void joinFreeItems(bool chain);

  // By item, the device that an assignment by op says. Units that were joined may be apart there: the one
  // that takes time decides, for the others run anywhere.
  std::vector<DeviceId> devicesOf(std::span<const DeviceId> assignment) const;
  // The assignment by op when item i is on device_of_item[i].
  std::vector<DeviceId> assignment(std::span<const DeviceId> device_of_item) const;

 private:
  void groupDevices();
  void fillItems();
  void fillNets();
  void fillForward();
  void fillStash();
  // Item i becomes item part[i] of `parts`.
  void regroup(std::span<const std::uint32_t> part, std::size_t parts);
  void fill();
};

}  // namespace allot
