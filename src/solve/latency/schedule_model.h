// A latency problem of the events model as flat arrays: what every latency engine works on.
//
// Ops are numbered by topological position, so producers have smaller numbers. A net is what one transfer
// carries: a tensor where each is sent once per destination, one edge of it where transfers are per edge. So
// every engine has one rule: a net is sent once to each device that holds a consumer and is not its
// producer's. Order constraints are nets that take no time.
// Guarantee: a schedule of the model is a schedule of the problem, with the same times.
// Complexity: O(ops * devices + edges), plus devices^2 per tensor whose time depends on the pair.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "allot/graph.h"
#include "allot/plan.h"
#include "allot/problem.h"

namespace allot {

class ScheduleModel {
 public:
  explicit ScheduleModel(const Problem& problem);

  const Problem* problem;
  std::size_t devices;
  LinkMode link_mode;

  // By op.
  std::vector<OpId> op_id;
  std::vector<double> seconds;  // [op * devices + device]; kCannotRun where its unit may not run
  std::vector<std::uint32_t> unit;
  Csr<std::uint32_t> inputs, outputs;  // nets
  Csr<std::uint32_t> before, after;    // ops, without doubles

  // By net.
  std::vector<TensorId> net_tensor;
  std::vector<std::uint32_t> net_producer;
  Csr<std::uint32_t> net_consumers;

  // By device.
  std::vector<double> launch;  // busy time after each op that takes time
  std::vector<double> memory;  // bytes; infinity = unlimited

  // By unit.
  Csr<std::uint32_t> unit_ops;
  std::vector<double> unit_bytes;

  std::size_t opCount() const { return op_id.size(); }
  std::size_t netCount() const { return net_tensor.size(); }
  std::size_t unitCount() const { return unit_ops.rows(); }
  double time(std::size_t op, std::size_t device) const { return seconds[op * devices + device]; }
  bool runs(std::size_t op, std::size_t device) const { return time(op, device) < kCannotRun; }
  // How long a net is on its way; 0 on the same device.
  double transfer(std::size_t net, std::size_t from, std::size_t to) const {
    if (from == to) return 0;
    const double single = net_seconds_[net];
    return single >= 0 ? single : pair_seconds_[(net_pairs_[net] * devices + from) * devices + to];
  }
  // The same between all devices that differ; negative where it depends on the pair.
  double singleTransfer(std::size_t net) const { return net_seconds_[net]; }
  // Whether resident bytes can never exceed a device's memory (static memory only).
  bool memoryNeverBinds() const;

 private:
  std::vector<double> net_seconds_;       // by net; negative where it depends on the pair
  std::vector<std::uint32_t> net_pairs_;  // by net: block of pair_seconds_
  std::vector<double> pair_seconds_;      // [block][from][to]

  void addNets();
};

struct NetTransfer {
  std::uint32_t net, to;
  double start = 0, end = 0;
};

// Decisions of the model: a device and a start for each op, a start for each transfer.
struct Schedule {
  std::vector<std::uint32_t> device;   // by op
  std::vector<double> start;           // by op
  std::vector<NetTransfer> transfers;  // those that take time; others are derived
};

// The decisions as a plan's, for `Progress::plan`, which times them anew in their order.
Plan planOf(const ScheduleModel& model, const Schedule& schedule);
// The schedule of an evaluated plan.
Schedule scheduleOf(const ScheduleModel& model, const Plan& plan);

}  // namespace allot
