// The core of the list schedulers that look at ports: ops are appended, transfers queue at the ports of the
// problem's link mode when their consumer is placed.
//
// Guarantee: units stay together, only allowed devices with room are used, times are those of the evaluator's
// sweep over the same order. Complexity: O(inputs log inputs + devices) per op and device looked at.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "allot/solve.h"

namespace allot::baseline {

class PortSchedule {
 public:
  explicit PortSchedule(const Problem& problem);

  // Whether the op's unit is on the device, or may be put there and has room.
  bool canPlace(OpId op, DeviceId device) const;
  // When the op would start there; every producer must have been placed.
  double startOn(OpId op, DeviceId device);
  void place(OpId op, DeviceId device);
  bool placed(OpId op) const { return done_[op.index()] != 0; }
  double end(OpId op) const { return end_[op.index()]; }
  DeviceId deviceOf(OpId op) const { return unit_device_[problem_.unit(op).index()]; }
  // The decisions, once every op has been placed.
  Plan takePlan();

 private:
  struct Crossing {
    double ready;
    TensorId tensor;
    DeviceId from;
  };

  const Problem& problem_;
  std::size_t devices_;
  bool ports_, half_, once_;
  std::vector<double> device_free_, send_free_, receive_free_;  // half-duplex: receive is send
  std::vector<double> used_bytes_, unit_bytes_;
  std::vector<DeviceId> unit_device_;
  std::vector<double> start_, end_;
  std::vector<std::uint8_t> done_;
  std::vector<Crossing> crossing_;
  std::vector<double> arrived_;  // [tensor * devices + device], once with ports; negative = not sent
  std::vector<double> probe_send_;
  std::vector<PlanTransfer> transfers_;

  // When all inputs are there; `commit` keeps the ports taken.
  double arrival(OpId op, DeviceId device, bool commit);
};

// The pair (ready op, device) that starts first, over and over: ties to the topologically first op, then to
// the device where it takes less time. `admits(op, device, start)` may forbid a pair; when it forbids all, it
// is not asked. `placed(op, device)` hears of each decision. Absent when an op found no device with room or
// time ran out
// (`stopped`).
struct EarliestStart {
  std::function<bool(OpId, DeviceId, double)> admits;
  std::function<void(OpId, DeviceId)> placed;
};
std::optional<Plan> scheduleEarliestStart(const Problem& problem, const Budget& budget,
                                          PortSchedule& schedule, const EarliestStart& rules, bool& stopped);

}  // namespace allot::baseline
