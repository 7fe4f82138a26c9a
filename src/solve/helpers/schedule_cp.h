// A latency problem, or a window of it, as a model of CP-SAT.
//
// Columns: x(unit, device), the start of each op, the start of each transfer (net, target), whether a net
// goes
//   from one device to another, the latest end. Ops are optional intervals of their devices, transfers of the
//   ports they hold. Times are whole multiples of a grid, rounded down, so every plan has a solution no
//   later than itself in the model: bounds hold for the problem, less `up`.
// Window: ops that are not free keep their device and, among themselves, the order on it. Solutions are then
//   plans, but bounds are of the window alone.
// Assumptions: static memory; needs of memory are rounded down.
// Complexity: O(devices * ops + devices^2 * nets) columns and rows.
#pragma once

#include <cstdint>
#include <vector>

#include "solve/helpers/cp_sat.h"
#include "solve/latency/schedule_model.h"

namespace allot {

class ScheduleCp {
 public:
  // `start` is the plan to improve on; `is_free` is by op, empty = all are.
  ScheduleCp(const ScheduleModel& model, double grid, const Schedule& start,
             const std::vector<std::uint8_t>& is_free);

  CpModel cp;
  double up = 0;  // seconds: most that a rounded path exceeds the real one

  std::vector<std::int64_t> startValues() const { return start_values_; }
  // The latest end, as a column of `cp`.
  std::size_t latest() const { return latest_; }
  Schedule scheduleOf(const std::vector<std::int64_t>& solution) const;

 private:
  struct Transfer {
    std::uint32_t net, to;
    std::int32_t start;
    std::vector<std::int32_t> from;  // by device: column, or -1
  };

  const ScheduleModel& model_;
  double grid_;
  std::int64_t horizon_ = 0;
  std::size_t latest_ = 0;
  std::vector<std::int32_t> on_;     // [unit * devices + device]: column, or -1
  std::vector<std::int32_t> begin_;  // by op
  std::vector<Transfer> transfers_;
  std::vector<std::int64_t> start_values_;

  std::int64_t whole(double seconds);
  std::int32_t column(std::int64_t lower, std::int64_t upper, std::int64_t start_value);
  void term(std::size_t column, std::int64_t value);
  void closeRow(std::int64_t lower, std::int64_t upper, std::int32_t literal = -1);
  std::int32_t on(std::size_t op, std::size_t device) const {
    return on_[model_.unit[op] * model_.devices + device];
  }
  void addOps(const Schedule& start, const std::vector<std::uint8_t>& is_free);
  void addTransfers(const Schedule& start);
  void addResources(const Schedule& start, const std::vector<std::uint8_t>& is_free);
  void addMemory();
  // Terms of -(start + time) of an op.
  void minusEnd(std::size_t op);
};

}  // namespace allot
