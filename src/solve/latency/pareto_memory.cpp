#include "solve/latency/pareto_memory.h"

#include <algorithm>
#include <bit>

namespace allot {
namespace {
constexpr int kSteps = 2'000;
constexpr std::size_t kMostKnown = 1'000'000;
}  // namespace

ParetoMemory::ParetoMemory(const ParetoModel& model) : model_(model) {
  if (!model.memory) return;
  allowed_.assign(model.units, 0xffff);
  for (std::size_t op = 0; op < model.ops; ++op) allowed_[model.window->unit[op]] &= model.allowed[op];
  for (std::size_t u = 0; u < model.units; ++u) {
    if (model.window->unit_bytes[u] > 0) by_size_.push_back(static_cast<std::uint16_t>(u));
  }
  std::stable_sort(by_size_.begin(), by_size_.end(), [&](std::uint16_t a, std::uint16_t b) {
    return model.window->unit_bytes[a] > model.window->unit_bytes[b];
  });
}

std::size_t ParetoMemory::KeyHash::operator()(const Key& key) const {
  std::uint64_t hash = key.ideal * 0x9E3779B97F4A7C15ull;
  for (const double used : key.used) {
    hash = (hash ^ std::bit_cast<std::uint64_t>(used)) * 0xD1B54A32D192ED03ull;
    hash ^= hash >> 29;
  }
  return hash;
}

bool ParetoMemory::mayFit(std::uint32_t index, const Partial& partial) {
  const Ideal& ideal = model_.ideal(index);
  const ExactWindow& window = *model_.window;
  double total = 0;
  bool loose = true;
  for (std::size_t d = 0; d < model_.devices; ++d) {
    room_[d] = window.memory[d] - partial.used[d];
    total += room_[d];
    loose = loose && room_[d] >= ideal.rest_bytes;
  }
  if (loose) return true;
  if (total < ideal.rest_bytes * (1 - 1e-12)) return false;
  Key key{index, {}};
  std::copy_n(partial.used.begin(), model_.devices, key.used.begin());
  const auto found = known_.find(key);
  if (found != known_.end()) return found->second;
  todo_.clear();
  for (const std::uint16_t unit : by_size_) {
    bool begun = false;
    for (const std::uint16_t op : model_.unit_ops[unit]) begun = begun || ideal.done.test(op);
    if (!begun) todo_.push_back(unit);
  }
  steps_ = 0;
  const bool fits = pack(0) || steps_ > kSteps;
  if (known_.size() < kMostKnown) known_.emplace(key, fits);
  return fits;
}

bool ParetoMemory::pack(std::size_t at) {
  if (at == todo_.size()) return true;
  if (++steps_ > kSteps) return false;
  const std::uint16_t unit = todo_[at];
  const double bytes = model_.window->unit_bytes[unit];
  std::uint16_t tried = 0;
  while (true) {
    std::size_t best = model_.devices;
    for (std::size_t d = 0; d < model_.devices; ++d) {
      if (((tried >> d) & 1) || !((allowed_[unit] >> d) & 1) || room_[d] < bytes) continue;
      if (best == model_.devices || room_[d] < room_[best]) best = d;
    }
    if (best == model_.devices) return false;
    tried |= static_cast<std::uint16_t>(1u << best);
    room_[best] -= bytes;
    const bool fits = pack(at + 1);
    room_[best] += bytes;
    if (fits || steps_ > kSteps) return fits;
  }
}

}  // namespace allot
