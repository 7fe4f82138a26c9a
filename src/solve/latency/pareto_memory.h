// Whether the units that are not begun still fit into what devices have left.
//
// Best fit by decreasing size, then a search over all ways to pack, within a limit on steps; what was found
// is kept by (ideal, room), which many partial schedules share. "No" is a proof, "yes" may be unknown.
#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "solve/latency/pareto_model.h"

namespace allot {

class ParetoMemory {
 public:
  explicit ParetoMemory(const ParetoModel& model);

  bool mayFit(std::uint32_t ideal, const Partial& partial);

 private:
  struct Key {
    std::uint32_t ideal;
    std::array<double, ExactWindow::kMaxDevices> used;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct KeyHash {
    std::size_t operator()(const Key& key) const;
  };

  const ParetoModel& model_;
  std::vector<std::uint16_t> by_size_;  // units with bytes, largest first
  std::vector<std::uint16_t> allowed_;  // devices, by unit
  std::unordered_map<Key, bool, KeyHash> known_;
  std::vector<std::uint16_t> todo_;
  std::array<double, ExactWindow::kMaxDevices> room_;
  int steps_ = 0;

  bool pack(std::size_t at);
};

}  // namespace allot
