// Lower bound of what a partial schedule can still come to, and the devices that can still be used below a
// target.
//
// Heads run forward from what is done: an op starts on a device no earlier than the device is free and its
//   inputs can be there, each producer on its best device, each transfer alone on its ports. An op for which
//   head + time + tail is not below the target on a device cannot run there, which raises the heads behind
//   it.
// Tails run backward in the same way over the devices that are left.
// Loads: for weights of devices, the weighted time that the rest takes at least has to fit between the least
//   head and the least tail of each device.
// One machine: ops for which one device is left share it, and transfers between ops that are so placed share
//   the ports; each such set ends no earlier than with preemption, largest tail first (Jackson).
// Valid in every link mode and send mode. O(edges * devices^2) for the ops to come.
#pragma once

#include <vector>

#include "solve/latency/pareto_model.h"

namespace allot {

class ParetoBound {
 public:
  explicit ParetoBound(const ParetoModel& model);

  // Infinite when nothing below `target` is left. `domain` holds afterwards.
  double operator()(const Ideal& ideal, const Partial& partial, double target) {
    return (this->*bound_)(ideal, partial, target);
  }
  // Devices left for an op to do.
  std::uint16_t domain(std::size_t op) const { return domain_[op]; }
  // The op cannot start earlier on a device that is left for it.
  double head(std::size_t op, std::size_t device) const { return head_[op * devices_ + device]; }
  // Raises every time of the partial schedule that was last bounded to the first moment at which it can
  // matter to what stays below the target: devices and ports to their next possible use, inputs to the first
  // possible start of those that read them. No completion below the target is lost.
  void lift(const Ideal& ideal, Partial& partial) const;

 private:
  struct Item {
    double head, seconds, tail;
  };

  const ParetoModel& model_;
  std::size_t devices_;
  // Loops over few devices are several times faster when their number is known to the compiler.
  double (ParetoBound::*bound_)(const Ideal&, const Partial&, double);
  std::vector<double> finish_;         // [op * devices + device]: head + time; infinite where not left
  std::vector<double> head_;           // [op * devices + device]
  std::vector<double> tail_;           // [op * devices + device]
  std::vector<double> reach_;          // [op * devices + device]: time + tail; infinite where not left
  std::vector<std::uint16_t> domain_;  // by op
  std::vector<std::vector<Item>> on_device_, on_port_;
  std::vector<Item> open_;

  template <int kDevices>
  double boundWith(const Ideal& ideal, const Partial& partial, double target);
  template <int kDevices>
  bool heads(const Ideal& ideal, const Partial& partial, double target, double& bound, bool again);
  template <int kDevices>
  bool tails(const Ideal& ideal, double target, double& bound, bool& narrowed);
  template <int kDevices>
  bool loads(const Ideal& ideal, const Partial& partial, double target, double& bound) const;
  bool machines(const Ideal& ideal, const Partial& partial, double target, double& bound);
  double jackson(std::vector<Item>& items);
  void liftPorts(const Ideal& ideal, Partial& partial) const;
  void liftEnd(const Ideal& ideal, std::size_t op, Partial& partial) const;
  std::uint16_t startDomain(const Ideal& ideal, const Partial& partial, std::size_t op) const;
};

}  // namespace allot
