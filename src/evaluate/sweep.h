// The value of (order, assignment) in one pass: the inner loop of every search over schedules.
//
// Problem: ops are taken in a given topological order; each starts as soon as its inputs are there and its
// device is free
//   (append, no insertion). Transfers are appended to their ports when their consumer is taken, in order of
//   the producers' ends.
// Guarantee: the schedule is valid in the problem's link mode and send mode; memory is not looked at.
// Complexity: O(ops + edges), at most 10 ns per op in link mode `free` at 1e6 ops (make bench).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "allot/plan.h"
#include "allot/problem.h"

namespace allot {

class Sweep {
 public:
  explicit Sweep(const Problem& problem);

  // Latest end (latency) or weighted sum of completions (completion).
  double run(std::span<const OpId> order, std::span<const DeviceId> assignment);
  // The same, leaving start and end of every op and every transfer in `plan`.
  double record(std::span<const OpId> order, std::span<const DeviceId> assignment, Plan& plan);

  // The same pass one op at a time, with a way back: `append` takes an op whose producers have been taken and
  // gives its end, `undo` leaves what was there at the mark.
  struct Mark {
    std::vector<double> free;  // devices, then ports
    std::size_t sent = 0;
  };
  void begin();
  double append(OpId op, std::span<const DeviceId> assignment);
  void mark(Mark& mark) const;
  void undo(const Mark& mark);
  // Of what has been appended.
  double end(OpId op) const { return end_[op.index()]; }
  double deviceFree(DeviceId device) const { return device_free_[device.index()]; }
  // When a tensor is at a device that has read it; only where it is sent once through ports.
  double arrival(TensorId tensor, DeviceId device) const {
    return arrival_[tensor.index() * devices_ + device.index()].seconds;
  }
  bool keepsArrivals() const { return !arrival_.empty(); }

 private:
  struct Edge {
    OpId producer;
    TensorId tensor;
    double seconds;  // single time; NaN where it depends on the pair
  };
  // The first two inputs of an op, side by side: most ops have no more, and two selects are faster than a
  // loop whose end cannot be predicted. One input stands twice; an op without inputs reads itself, whose end
  // is 0 until it is known.
  struct FirstInputs {
    std::uint32_t producer[2];
    double seconds[2];  // NaN where it depends on the pair
  };
  struct Arrival {
    std::uint32_t stamp = 0;
    double seconds = 0;
  };

  const Problem& problem_;
  std::size_t devices_;
  bool free_, once_, completion_;
  Csr<Edge> in_edges_;                     // by op
  std::vector<FirstInputs> first_inputs_;  // by op, for link mode free
  std::vector<std::uint32_t> class_of_;    // by device
  std::vector<double> launch_;             // by device
  std::vector<double> end_;                // by op
  std::vector<double> device_free_;
  std::vector<double> port_free_;  // send ports, then receive ports (the same in half-duplex)
  std::size_t receive_offset_;
  std::vector<Arrival> arrival_;  // [tensor * devices + device], only for `once` with ports
  std::uint32_t stamp_ = 0;
  std::vector<std::size_t> sent_;  // arrivals since `begin`, where ops are appended one at a time
  bool appending_ = false;
  std::vector<const Edge*> crossing_;
  std::vector<double> model_end_;

  template <bool kRecord>
  double sweep(std::span<const OpId> order, std::span<const DeviceId> assignment, Plan* plan);
  // Kept out of the loop: inlined, it costs the selects their form and the sweep a quarter of its speed.
  [[gnu::noinline]] double readyFree(OpId op, DeviceId to, double ready,
                                     std::span<const DeviceId> assignment) const;
  template <bool kRecord>
  double readyWithPorts(OpId op, DeviceId to, double ready, std::span<const DeviceId> assignment, Plan* plan);
  double pairSeconds(const Edge& edge, DeviceId from, DeviceId to) const {
    return edge.seconds == edge.seconds ? edge.seconds : problem_.transferSeconds(edge.tensor, from, to);
  }
};

// Gives each transfer all consumers of its tensor on its destination, in the graph's order. `by_first`: only
// those transfers stay that named the first of them. O(transfers + consumers of what is sent).
void listConsumers(const Problem& problem, std::span<const DeviceId> assignment,
                   std::vector<PlanTransfer>& transfers, bool by_first = false);

// Sum of weight x completion over the models, or the largest end: the value of a schedule.
double scheduleValue(const Problem& problem, std::span<const double> end, std::vector<double>& completion);

}  // namespace allot
