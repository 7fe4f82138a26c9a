#include "solve/latency/pareto_level.h"

#include <algorithm>
#include <limits>

namespace allot {

void ParetoLevel::write(const Ideal& ideal, const Partial& partial, double floor) {
  const ParetoModel& model = *model_;
  const std::size_t devices = model.devices;
  key_.clear();
  time_.clear();
  for (std::size_t d = 0; d < devices; ++d) time_.push_back(partial.free[d]);
  if (model.ports) {
    for (std::size_t p = 0; p < model.receive_offset + devices; ++p) time_.push_back(partial.port[p]);
  }
  for (const std::uint16_t op : ideal.live) {
    key_.push_back(partial.device[op]);
    time_.push_back(partial.end[op]);
  }
  for (const std::uint16_t net : ideal.nets) {
    const std::uint16_t sent = partial.sent[net];
    key_.push_back(sent);
    for (std::size_t d = 0; d < devices; ++d) {
      if (!((sent >> d) & 1)) continue;
      time_.push_back(partial.arrival[net * devices + d]);
    }
  }
  for (const std::uint16_t unit : ideal.open_units) key_.push_back(partial.unit_device[unit]);
  if (model.memory) {
    for (std::size_t d = 0; d < devices; ++d) {
      const double limit = model.window->memory[d];
      time_.push_back(limit < kCannotRun ? std::max(partial.used[d], limit - ideal.rest_bytes) : 0);
    }
  }
  if (model.many_ends) time_.push_back(std::max(partial.value, floor));
}

void ParetoLevel::readState(const State& state, Partial& partial) const {
  const ParetoModel& model = *model_;
  const Ideal& ideal = model.ideal(state.ideal);
  const std::size_t devices = model.devices;
  const std::uint16_t* key = keys_.data() + state.key_at;
  const double* time = times_.data() + state.times_at;
  for (std::size_t d = 0; d < devices; ++d) partial.free[d] = *time++;
  if (model.ports) {
    for (std::size_t p = 0; p < model.receive_offset + devices; ++p) partial.port[p] = *time++;
  }
  for (const std::uint16_t op : ideal.live) {
    partial.device[op] = *key++;
    partial.end[op] = *time++;
  }
  for (const std::uint16_t net : ideal.nets) {
    partial.sent[net] = *key++;
    for (std::size_t d = 0; d < devices; ++d) {
      if ((partial.sent[net] >> d) & 1) partial.arrival[net * devices + d] = *time++;
    }
  }
  for (const std::uint16_t unit : ideal.open_units) partial.unit_device[unit] = *key++;
  if (model.memory) {
    for (std::size_t d = 0; d < devices; ++d) partial.used[d] = *time++;
  }
  partial.value = model.many_ends ? *time : 0;
}

bool ParetoLevel::wants(std::uint32_t ideal, const Partial& partial, double floor) {
  write(model_->ideal(ideal), partial, floor);
  ideal_ = ideal;
  hash_ = (ideal + 1) * 0x9E3779B97F4A7C15ull;
  for (const std::uint16_t part : key_) hash_ = (hash_ ^ part) * 0xD1B54A32D192ED03ull, hash_ ^= hash_ >> 31;
  if (states_.size() * 2 >= table_.size()) grow();
  const std::size_t mask = table_.size() - 1;
  slot_ = hash_ & mask;
  // One slot for each key; states of a key are chained.
  while (table_[slot_] != kNone) {
    const State& head = states_[table_[slot_]];
    if (head.hash == hash_ && head.ideal == ideal && head.key_size == key_.size() &&
        std::equal(key_.begin(), key_.end(), keys_.begin() + static_cast<std::ptrdiff_t>(head.key_at)))
      break;
    slot_ = (slot_ + 1) & mask;
  }
  const std::size_t count = time_.size();
  for (std::uint32_t at = table_[slot_]; at != kNone; at = states_[at].next) {
    if (states_[at].dead) continue;
    const double* theirs = times_.data() + states_[at].times_at;
    std::size_t i = 0;
    while (i < count && theirs[i] <= time_[i]) ++i;
    if (i == count) return false;
  }
  return true;
}

void ParetoLevel::take(std::uint32_t ideal, const Partial& partial, const Partial& lifted,
                       const ParetoBound& left, double bound, std::uint32_t node) {
  write(model_->ideal(ideal), partial, bound);
  const std::size_t count = time_.size();
  for (std::uint32_t at = table_[slot_]; at != kNone; at = states_[at].next) {
    if (states_[at].dead) continue;
    const double* theirs = times_.data() + states_[at].times_at;
    std::size_t i = 0;
    while (i < count && time_[i] <= theirs[i]) ++i;
    states_[at].dead = i == count;
  }
  const auto index = static_cast<std::uint32_t>(states_.size());
  State state{bound,
              keys_.size(),
              times_.size(),
              latest_.size(),
              hash_,
              ideal_,
              node,
              kNone,
              static_cast<std::uint16_t>(key_.size()),
              static_cast<std::uint16_t>(count),
              false};
  if (table_[slot_] == kNone) {
    table_[slot_] = index;
    keys_.insert(keys_.end(), key_.begin(), key_.end());
  } else {
    State& head = states_[table_[slot_]];
    state.key_at = head.key_at;
    state.next = head.next;
    head.next = index;
  }
  times_.insert(times_.end(), time_.begin(), time_.end());
  states_.push_back(state);
  writeLatest(model_->ideal(ideal), lifted, left, bound);
}

void ParetoLevel::grow() {
  const std::size_t size = std::max<std::size_t>(1024, table_.size() * 2);
  std::vector<std::uint32_t> old(size, kNone);
  old.swap(table_);
  for (const std::uint32_t head : old) {
    if (head == kNone) continue;
    std::size_t slot = states_[head].hash & (size - 1);
    while (table_[slot] != kNone) slot = (slot + 1) & (size - 1);
    table_[slot] = head;
  }
}

void ParetoLevel::close(std::size_t width, const Budget* budget) {
  std::erase_if(states_, [](const State& state) { return state.dead; });
  thinAll(budget);
  if (width == 0 || states_.size() <= width) return;
  const auto better = [](const State& a, const State& b) {
    return a.bound != b.bound ? a.bound < b.bound : a.node < b.node;
  };
  std::nth_element(states_.begin(), states_.begin() + static_cast<std::ptrdiff_t>(width), states_.end(),
                   better);
  states_.resize(width);
  std::sort(states_.begin(), states_.end(), better);
}

void ParetoLevel::clear() {
  states_.clear();
  keys_.clear();
  times_.clear();
  latest_.clear();
  std::fill(table_.begin(), table_.end(), kNone);
}

}  // namespace allot
