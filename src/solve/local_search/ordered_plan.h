// A plan as local searches change it: a device for each unit and one order of all ops.
//
// Changes are noted, so that those since the last `accept` can be taken back. Invariant: the order keeps
// every op behind its producers, as long as shifts stay between `earliest` and `latest`; `used` are the
// resident bytes of the devices.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "allot/plan.h"
#include "allot/problem.h"

namespace allot {

// All ops by start; ops of zero time go behind their producers, which end when they start at the latest.
std::vector<OpId> orderOfStarts(const Problem& problem, const Plan& plan);

class OrderedPlan {
 public:
  // The order is the caller's to set: `setOrder`.
  OrderedPlan(const Problem& problem, const std::vector<DeviceId>& assignment_of_ops)
      : assignment(assignment_of_ops),
        used(problem.deviceCount(), 0),
        problem_(problem),
        size_(problem.unitCount(), 0),
        position_(problem.opCount()) {
    for (std::size_t i = 0; i < problem.opCount(); ++i) {
      used[assignment[i].index()] += problem.residentBytes(OpId(i));
      size_[problem.unit(OpId(i)).index()] += problem.residentBytes(OpId(i));
    }
  }

  std::vector<DeviceId> assignment;  // by op
  std::vector<OpId> order;
  std::vector<double> used;                              // by device
  std::vector<std::pair<UnitId, DeviceId>> moved_units;  // since `accept`, with where they were

  void setOrder(std::vector<OpId> ops) {
    order = std::move(ops);
    for (std::uint32_t p = 0; p < order.size(); ++p) position_[order[p].index()] = p;
  }

  std::uint32_t position(OpId op) const { return position_[op.index()]; }
  // The first and the last place that producers and consumers leave to an op.
  std::uint32_t earliest(OpId op) const {
    std::uint32_t low = 0;
    for (const TensorId tensor : problem_.graph.inputs(op))
      low = std::max(low, position(problem_.graph.producer(tensor)) + 1);
    return low;
  }
  std::uint32_t latest(OpId op) const {
    auto high = static_cast<std::uint32_t>(order.size() - 1);
    for (const TensorId tensor : problem_.graph.outputs(op)) {
      for (const OpId consumer : problem_.graph.consumers(tensor))
        high = std::min(high, position(consumer) - 1);
    }
    return high;
  }

  double bytes(UnitId unit) const { return size_[unit.index()]; }
  DeviceId deviceOf(UnitId unit) const { return assignment[problem_.unitOps(unit).front().index()]; }

  // False when the unit is there already or may not go there. Memory is not looked at.
  bool place(UnitId unit, DeviceId to) {
    const DeviceId from = deviceOf(unit);
    if (from == to || !problem_.allowed(unit, to)) return false;
    moved_units.emplace_back(unit, from);
    assign(unit, from, to);
    return true;
  }

  void shift(std::uint32_t from, std::uint32_t to) {
    if (from == to) return;
    shifts_.emplace_back(from, to);
    rotate(from, to);
  }

  bool changed() const { return !moved_units.empty() || !shifts_.empty(); }

  void accept() {
    moved_units.clear();
    shifts_.clear();
  }

  void undo() {
    for (auto it = moved_units.rbegin(); it != moved_units.rend(); ++it)
      assign(it->first, deviceOf(it->first), it->second);
    for (auto it = shifts_.rbegin(); it != shifts_.rend(); ++it) rotate(it->second, it->first);
    accept();
  }

 private:
  const Problem& problem_;
  std::vector<double> size_;                                     // resident bytes by unit
  std::vector<std::uint32_t> position_;                          // by op
  std::vector<std::pair<std::uint32_t, std::uint32_t>> shifts_;  // from, to

  void assign(UnitId unit, DeviceId from, DeviceId to) {
    for (const OpId op : problem_.unitOps(unit)) assignment[op.index()] = to;
    used[from.index()] -= size_[unit.index()];
    used[to.index()] += size_[unit.index()];
  }

  void rotate(std::uint32_t from, std::uint32_t to) {
    const auto at = [&](std::uint32_t p) { return order.begin() + p; };
    if (from < to) std::rotate(at(from), at(from) + 1, at(to) + 1);
    if (to < from) std::rotate(at(to), at(from), at(from) + 1);
    for (std::uint32_t p = std::min(from, to); p <= std::max(from, to); ++p) position_[order[p].index()] = p;
  }
};

}  // namespace allot
