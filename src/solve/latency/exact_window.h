// A part of a latency problem as a problem of its own, and its exact search.
//
// Problem: ops in topological order, some of them done at entry with their device and end; times at which
//   devices and ports are free; for each op and device a time that must still pass after its end (`tail`).
//   Wanted: the least max over ops of end + tail, and where an `exit` op is named, for each device of it.
// Method: `searchWindow` of pareto_search.h.
// Use: the whole graph, a module between two barriers, or a window of a schedule that a search frees.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "allot/solve.h"
#include "solve/latency/schedule_model.h"

namespace allot {

struct ExactWindow {
  static constexpr std::size_t kMaxOps = 128, kMaxDevices = 16;
  static constexpr std::uint32_t kToDo = 0xffffffff;
  static constexpr std::uint32_t kNoExit = 0xffffffff;

  struct Net {
    std::uint32_t producer = 0;
    std::vector<std::uint32_t> consumers;
    std::vector<double> seconds;  // [from * devices + to]
    // By device, where its producer is done at entry: when it came there, infinity where it was not sent;
    // empty: nowhere.
    std::vector<double> arrived;
  };

  std::size_t devices = 0;
  LinkMode link_mode = LinkMode::kFree;
  // By op.
  std::vector<double> seconds;           // [op * devices + device]; kCannotRun where it may not run
  std::vector<double> tail;              // [op * devices + device]
  std::vector<std::uint32_t> unit;       // ops of a unit share a device
  std::vector<std::uint32_t> done_on;    // device at entry, or kToDo
  std::vector<double> done_at;           // end at entry
  std::vector<std::uint32_t> source_op;  // op of the model
  std::vector<Net> nets;
  std::vector<std::uint32_t> source_net;  // net of the model
  // By device.
  std::vector<double> launch, device_free, send_free, receive_free;
  std::vector<double> memory;      // bytes; empty = does not matter
  std::vector<double> unit_bytes;  // by unit, where memory matters
  std::uint32_t exit = kNoExit;

  std::size_t opCount() const { return unit.size(); }
  double time(std::size_t op, std::size_t device) const { return seconds[op * devices + device]; }
};

// The window of these ops of a model (each behind its producers): nets among them only, nothing done,
// everything free at 0, no tails, no memory. Nets without time that are implied by the order of ops stay, as
// they carry precedence.
ExactWindow windowOf(const ScheduleModel& model, const std::vector<std::uint32_t>& ops);

struct WindowLimits {
  double target = std::numeric_limits<double>::infinity();  // only values below it are wanted
  std::size_t width = 0;   // partial schedules kept in each round; 0 = all, the search is exact
  std::size_t states = 0;  // partial schedules made in all before it gives up; 0 = no limit
  const Budget* budget = nullptr;
};

struct WindowPlan {
  double value = std::numeric_limits<double>::infinity();
  double end = std::numeric_limits<double>::infinity();  // of the exit op, or the latest of all
  std::vector<std::uint32_t> device;                     // by op
  std::vector<double> start;                             // by op
  std::vector<NetTransfer> transfers;                    // nets of the window
  std::vector<std::uint32_t> order;  // ops to do, as the search appended them, each behind its producers
};

struct WindowResult {
  // True: there is no plan below the target other than those that are no better than `best`.
  bool complete = false;
  std::vector<WindowPlan> best;  // one, or by device of the exit op; value infinite where none was found
  std::size_t states = 0;        // partial schedules made
};

// Least values over all schedules, exact up to rounding when `complete`. Partial schedules are compared only
// where the same ops are done, so memory grows with the number of ideals and of ways to share them out.
WindowResult searchWindow(const ExactWindow& window, const WindowLimits& limits);

}  // namespace allot
