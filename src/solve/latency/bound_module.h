// A part of a graph between two ops, as flat arrays for bounds: the ops that come behind the entry and before
// the exit, with the transfers among them.
//
// Problem: in every plan the time from the start of the entry to the start of the exit holds all ops between
// them. What else shares devices and ports in that time can only make it longer, so a bound of the part alone
// is a bound on that time, whether or not the two ops are barriers of the graph.
// Without an entry the time counts from 0 and the part holds all ops before the exit; without an exit it ends
// with the last op of those behind the entry.
// Covers every link mode, send mode and memory model; of memory it holds the resident bytes of its units.
// Size: ops * devices + edges * devices^2.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "solve/latency/schedule_model.h"

namespace allot {

class BoundModule {
 public:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  // Sets of devices are masks.
  static constexpr std::size_t kMaxDevices = 32;

  struct Edge {
    std::uint32_t net, from, to;
  };

  // `inner`: the ops between, ascending; entry and exit may be kNone.
  BoundModule(const ScheduleModel& model, std::uint32_t entry, std::span<const std::uint32_t> inner,
              std::uint32_t exit);

  std::size_t devices;
  LinkMode link_mode;
  bool has_entry, has_exit;

  // By op: the entry first, the exit last, which takes no time here.
  std::vector<std::uint32_t> op;    // of the model
  std::vector<double> seconds;      // [op * devices + device]; kCannotRun where it may not run
  std::vector<double> busy;         // the same with the launch behind it, 0 where it holds no device
  std::vector<std::uint32_t> unit;  // of this part
  Csr<std::uint32_t> edges_in, edges_out;
  Csr<std::uint32_t> nets_out;

  // By edge: from the end of the one op to the start of the other, [(edge * devices + from) * devices + to].
  std::vector<Edge> edges;
  std::vector<double> delay;

  // By net of the part; times [(net * devices + from) * devices + to].
  std::vector<std::uint32_t> model_net;
  std::vector<std::uint32_t> net_from;
  std::vector<double> net_seconds;

  // By unit.
  Csr<std::uint32_t> unit_ops;
  std::vector<std::uint32_t> unit_devices;  // masks
  std::vector<double> unit_bytes;

  std::vector<double> memory;  // by device
  bool memory_binds;           // whether the units may exceed a device's memory

  std::size_t opCount() const { return op.size(); }
  std::size_t unitCount() const { return unit_ops.rows(); }
  std::size_t netCount() const { return net_from.size(); }
  double transfer(std::size_t net, std::size_t from, std::size_t to) const {
    return net_seconds[(net * devices + from) * devices + to];
  }
};

}  // namespace allot
