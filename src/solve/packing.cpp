#include "solve/packing.h"

#include <algorithm>
#include <numeric>

namespace allot {
namespace {

constexpr std::uint64_t kMaxSteps = 5'000'000;

class Packer {
 public:
  Packer(const Problem& problem, const Budget& budget)
      : problem_(problem),
        budget_(budget),
        size_(problem.unitCount()),
        choice_(problem.unitCount()),
        order_(problem.unitCount()) {
    for (std::size_t u = 0; u < size_.size(); ++u) {
      for (const OpId op : problem.unitOps(UnitId(u))) size_[u] += problem.residentBytes(op);
    }
    std::iota(order_.begin(), order_.end(), 0u);
    std::stable_sort(order_.begin(), order_.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return size_[a] > size_[b]; });
    for (std::size_t d = 0; d < problem.deviceCount(); ++d) room_.push_back(problem.memoryLimit(DeviceId(d)));
  }

  // Iterative depth-first search: level i places unit order_[i].
  PackingEnd run() {
    std::vector<std::vector<DeviceId>> options(order_.size() + 1);
    std::size_t level = 0;
    if (!order_.empty()) options[0] = choices(order_[0]);
    for (std::uint64_t step = 0; step < kMaxSteps; ++step) {
      if (level == order_.size()) return PackingEnd::kFound;
      if ((step & 1023) == 0 && budget_.stopped()) return PackingEnd::kUnknown;
      const std::uint32_t unit = order_[level];
      if (options[level].empty()) {
        if (level == 0) return PackingEnd::kNone;
        --level;
        room_[choice_[order_[level]].index()] += size_[order_[level]];
        continue;
      }
      choice_[unit] = options[level].back();
      options[level].pop_back();
      room_[choice_[unit].index()] -= size_[unit];
      if (++level < order_.size()) options[level] = choices(order_[level]);
    }
    return PackingEnd::kUnknown;
  }

  std::vector<DeviceId> assignment() const {
    std::vector<DeviceId> by_op(problem_.opCount());
    for (std::size_t i = 0; i < by_op.size(); ++i) by_op[i] = choice_[problem_.unit(OpId(i)).index()];
    return by_op;
  }

 private:
  const Problem& problem_;
  const Budget& budget_;
  std::vector<double> size_;  // by unit
  std::vector<DeviceId> choice_;
  std::vector<std::uint32_t> order_;
  std::vector<double> room_;  // by device

  // Devices with room, the tightest last (it is taken first).
  std::vector<DeviceId> choices(std::uint32_t unit) const {
    std::vector<DeviceId> fit;
    for (std::size_t d = 0; d < room_.size(); ++d) {
      if (problem_.allowed(UnitId(unit), DeviceId(d)) && size_[unit] <= room_[d]) fit.emplace_back(d);
    }
    std::stable_sort(fit.begin(), fit.end(),
                     [&](DeviceId a, DeviceId b) { return room_[a.index()] > room_[b.index()]; });
    return fit;
  }
};

}  // namespace

Packing pack(const Problem& problem, const Budget& budget) {
  Packer packer(problem, budget);
  Packing result;
  result.end = packer.run();
  if (result.end == PackingEnd::kFound) result.assignment = packer.assignment();
  return result;
}

}  // namespace allot
