// Loads of the devices in a pipelined steady state, kept up to date while units move.
//
// Problem: the largest load under the throughput objective, for search (move by move) and for the final value
// (from scratch). Invariant: for each device, compute and communication by part (forward, rest) are those of
// the current assignment; for each
//   tensor and device the number of its ends there is known.
// Complexity: construction O(ops + ends), a move O(ends of the unit's tensors + tensors * devices), space
// tensors * devices. Moves add and subtract, so rounding drifts: a value to be reported is taken from a fresh
// state.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "allot/plan.h"
#include "allot/problem.h"

namespace allot {

class LoadState {
 public:
  LoadState(const Problem& problem, std::span<const DeviceId> assignment);

  DeviceId device(UnitId unit) const { return device_[unit.index()]; }
  void move(UnitId unit, DeviceId to);

  struct Parts {
    std::array<double, 2> compute{};        // forward, rest
    std::array<double, 2> communication{};  // forward, rest
  };
  const Parts& parts(DeviceId device) const { return parts_[device.index()]; }
  // Load of a device without replicas; under max-parts, the sum of its two parts.
  double load(DeviceId device) const;
  // The objective without replicas.
  double value() const;
  // Resident bytes of a device at least: a block that several units read counts by shares.
  double resident(DeviceId device) const { return resident_[device.index()]; }
  std::uint32_t unitsOn(DeviceId device) const { return unit_count_[device.index()]; }

 private:
  const Problem& problem_;
  std::size_t devices_;
  bool via_host_;
  std::vector<DeviceId> device_;  // by unit
  std::vector<Parts> parts_;      // by device
  std::vector<double> resident_;  // by device
  std::vector<std::uint32_t> unit_count_;
  std::vector<std::uint32_t> ends_;        // [tensor * devices + device]: producer and consumers there
  std::vector<DeviceId> producer_device_;  // by tensor
  std::vector<std::uint32_t> mark_;        // by tensor, to visit each once per move
  std::uint32_t stamp_ = 0;
  std::vector<TensorId> touched_;

  void addCompute(OpId op, DeviceId device, double sign);
  void addCommunication(TensorId tensor, double sign);
};

// Load of a stage from its parts under the problem's overlap rule; `replicas` devices share it.
double stageLoad(const Problem& problem, const LoadState::Parts& parts, double replicas, int part);

}  // namespace allot
