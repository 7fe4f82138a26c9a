// The subgraph-calls problem boiled down to what its exact search needs: items, nets and pools.
//
// Items are sets of ops that some best plan keeps together (in one call, or all on the cpu); pools are sets
// of interchangeable accelerators; nets are tensors between items. Joining is exact:
//   - one call per accelerator: a unit whose ops behave on the cpu like one op (everything that leaves it
//   ends
//     `cpu` seconds after everything that enters it is there) is one item, unless that closes a cycle;
//   - an op that takes no time, is a source with one consumer or a sink with one producer, and holds no bytes
//   or
//     shares the unit of its neighbour, joins it: together nothing is sent between them;
//   - an op that ends at time 0 on the cpu and whose tensors cost nothing to fetch ("free") is left out;
//   - a sink that takes no time but holds bytes (a "tail" of its producer) goes with its producer's call
//   where
//     the bytes fit, or to the cpu, for which the producer's tensor must leave the call.
// Items are numbered in a topological order. Complexity: O(ops + ends of tensors), times unit size where
// units are judged, times rounds of cycle breaking.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "allot/graph.h"
#include "allot/problem.h"

namespace allot {

struct CallPool {
  std::vector<DeviceId> devices;
  double memory = std::numeric_limits<double>::infinity();
};

class CallItems {
 public:
  // `units_in_one_call`: the ops of a unit share a call, as they must where an accelerator runs only one.
  CallItems(const Problem& problem, bool units_in_one_call);

  const Problem* problem;
  // False where cpu devices differ so that no one is best for a unit: then nothing else is filled.
  bool suitable = true;
  std::vector<CallPool> pools;

  // Items, in topological order.
  Csr<OpId> item_ops;
  std::vector<double> cpu;          // seconds; infinite where the cpu may not run it
  std::vector<double> accelerator;  // [item * pools + pool]; infinite where it may not run there
  std::vector<double> bytes;
  std::vector<std::uint32_t> tie;  // by item: number of a unit of several items, or kNone
  std::size_t tie_count = 0;
  Csr<std::uint32_t> tie_items;

  // Nets: a tensor (or several with the same ends) from its producer to other items.
  std::vector<std::uint32_t> net_producer;
  Csr<std::uint32_t> net_consumers;
  std::vector<double> receive, send;  // [net * pools + pool]
  std::vector<double> tail_bytes;     // by net: bytes of its tails; 0 = it has none
  std::vector<std::vector<OpId>> tail_ops;
  Csr<std::uint32_t> item_outputs, item_inputs;  // nets
  Csr<std::uint32_t> after, before;              // items

  std::vector<DeviceId> cpu_device;  // by op: where it runs when it runs on a cpu; invalid = nowhere
  std::vector<OpId> free_ops;        // on the cpu in some best plan

  static constexpr std::uint32_t kNone = UINT32_MAX;
  std::size_t itemCount() const { return item_ops.rows(); }
  std::size_t netCount() const { return net_producer.size(); }
  std::size_t poolCount() const { return pools.size(); }
  double onPool(std::uint32_t item, std::size_t pool) const {
    return accelerator[item * pools.size() + pool];
  }
  double in(std::uint32_t net, std::size_t pool) const { return receive[net * pools.size() + pool]; }
  double out(std::uint32_t net, std::size_t pool) const { return send[net * pools.size() + pool]; }

 private:
  bool units_in_one_call_;
  std::vector<std::uint8_t> free_, tail_;  // by op
  std::vector<std::uint32_t> part_;        // by op

  void chooseCpus();
  void groupDevices();
  void findFree();
  bool takesNoTime(OpId op) const;
  bool actsAsOne(UnitId unit) const;
  void join();
  void fill(std::size_t parts, const std::vector<std::uint32_t>& order);
  void fillNets(const std::vector<std::uint32_t>& item_of_op);
};

}  // namespace allot
