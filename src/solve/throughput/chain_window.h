// Whether work left over can still fit on the devices left over.
//
// For weights y >= 0 by pool let g(v) = min over pools of y * time(v). Devices that each finish within T have
// done work of at most T * (sum of their weights), and every item brings at least g(v), so
//   sum of g over the items left <= T * sum of y over the devices left.
// Holds for every y; a few are kept, each the best (nearly) for some number of devices left. Replicas share
// their stage's work, so it holds with replication too.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "solve/throughput/pipeline_model.h"

namespace allot {

class CapacityWindow {
 public:
  static constexpr std::size_t kMost = 4;

  CapacityWindow() = default;
  CapacityWindow(const PipelineModel& model, std::span<const std::uint32_t> counts);

  std::size_t size() const { return weight_.size(); }
  double weight(std::size_t y, std::size_t pool) const { return weight_[y][pool]; }
  double work(std::size_t item, std::size_t y) const { return work_[item * kMost + y]; }
  double total(std::size_t y) const { return total_[y]; }
  // Sum of the weights of these devices, at most `stages` of them.
  double capacity(std::size_t y, std::span<const std::uint32_t> devices, std::uint32_t stages) const;

  // A lower bound on the largest load for the devices it was made for, rounding aside.
  double bound() const { return bound_; }

 private:
  std::vector<std::vector<double>> weight_;  // [y][pool]
  std::vector<double> work_;                 // [item * kMost + y]
  std::array<double, kMost> total_{};
  double bound_ = 0;

  void add(const PipelineModel& model, std::vector<double> weight);
};

}  // namespace allot
