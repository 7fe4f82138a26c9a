#include "solve/latency/neighbourhood.h"

#include <algorithm>
#include <bit>
#include <queue>
#include <tuple>

namespace allot {
namespace {

std::uint32_t count(const auto& items) {
  return static_cast<std::uint32_t>(items.size());
}

}  // namespace

Neighbourhood::Neighbourhood(const ScheduleModel& model, const SearchRange& range)
    : model_(model),
      first_(range.first),
      devices_(model.devices),
      used_(model.devices, 0),
      stamp_(range.last - range.first, 0),
      seen_(range.last - range.first, 0),
      memory_binds_(model.problem->modes.memory == MemoryModel::kStatic && !model.memoryNeverBinds()) {
  const std::uint32_t n = range.last - range.first;
  cluster_scale_ = static_cast<std::uint32_t>(std::bit_width(std::max(n, 64u) / 2));
  std::vector<std::uint32_t> local(model.unitCount(), UINT32_MAX);
  unit_.resize(n);
  for (std::uint32_t op = 0; op < n; ++op) {
    const std::uint32_t unit = model.unit[first_ + op];
    if (local[unit] == UINT32_MAX) {
      local[unit] = count(unit_bytes_);
      unit_bytes_.push_back(model.unit_bytes[unit]);
      bool outside = false;
      for (const std::uint32_t member : model.unit_ops[unit]) {
        if (member < range.first || member >= range.last)
          outside = true;
        else
          unit_ops_.items.push_back(member - first_);
      }
      unit_ops_.closeRow();
      for (std::uint32_t d = 0; d < devices_; ++d) {
        if (model.runs(first_ + op, d)) unit_devices_.items.push_back(d);
      }
      unit_devices_.closeRow();
      pinned_.push_back(outside || unit_devices_[local[unit]].size() < 2);
    }
    unit_[op] = local[unit];
    for (const std::uint32_t other : model.before[first_ + op]) {
      if (other >= range.first) before_.items.push_back(other - first_);
    }
    before_.closeRow();
    for (const std::uint32_t other : model.after[first_ + op]) {
      if (other < range.last) after_.items.push_back(other - first_);
    }
    after_.closeRow();
  }
}

void Neighbourhood::begin(Sequence sequence) {
  sequence_ = std::move(sequence);
  std::fill(used_.begin(), used_.end(), 0);
  for (std::size_t unit = 0; unit < unit_bytes_.size(); ++unit)
    used_[sequence_.device[unit_ops_[unit].front()]] += unit_bytes_[unit];
  if (memory_binds_) {
    held_.assign(devices_, {});
    held_at_.resize(unit_bytes_.size());
    moved_in_.resize(unit_bytes_.size());
    for (std::uint32_t unit = 0; unit < unit_bytes_.size(); ++unit) {
      if (unit_bytes_[unit] > 0 && !pinned_[unit]) hold(unit, sequence_.device[unit_ops_[unit].front()]);
    }
  }
  critical_.clear();
  clearMove();
}

void Neighbourhood::hold(std::uint32_t unit, std::uint32_t device) {
  held_at_[unit] = count(held_[device]);
  held_[device].push_back(unit);
}

double Neighbourhood::overflow() const {
  if (!memory_binds_) return 0;
  double share = 0;
  for (std::size_t d = 0; d < devices_; ++d) {
    if (used_[d] > model_.memory[d]) share += (used_[d] - model_.memory[d]) / (model_.memory[d] + 1);
  }
  return share;
}

void Neighbourhood::clearMove() {
  from_ = count(sequence_.order);
  until_ = 0;
  moved_.clear();
  shifted_.clear();
  ++move_;
}

void Neighbourhood::assign(std::uint32_t unit, std::uint32_t device) {
  const std::uint32_t was = sequence_.device[unit_ops_[unit].front()];
  used_[was] -= unit_bytes_[unit];
  used_[device] += unit_bytes_[unit];
  if (memory_binds_ && unit_bytes_[unit] > 0) {
    held_at_[held_[was].back()] = held_at_[unit];
    held_[was][held_at_[unit]] = held_[was].back();
    held_[was].pop_back();
    hold(unit, device);
    moved_in_[unit] = move_;
  }
  for (const std::uint32_t op : unit_ops_[unit]) {
    sequence_.device[op] = device;
    from_ = std::min(from_, sequence_.position[op]);
    until_ = std::max(until_, sequence_.position[op] + 1);
  }
}

void Neighbourhood::place(std::uint32_t op, std::uint32_t device) {
  const std::uint32_t unit = unit_[op];
  if (sequence_.device[op] == device || pinned_[unit]) return;
  const auto allowed = unit_devices_[unit];
  if (std::find(allowed.begin(), allowed.end(), device) == allowed.end()) return;
  moved_.emplace_back(unit, sequence_.device[op]);
  assign(unit, device);
}

void Neighbourhood::shift(std::uint32_t from, std::uint32_t to) {
  if (from == to || keep_order_) return;
  shifted_.emplace_back(from, to);
  sequence_.shift(from, to);
  from_ = std::min({from_, from, to});
  until_ = std::max({until_, from + 1, to + 1});
}

void Neighbourhood::undo() {
  for (std::size_t i = shifted_.size(); i-- > 0;) sequence_.shift(shifted_[i].second, shifted_[i].first);
  for (std::size_t i = moved_.size(); i-- > 0;) assign(moved_[i].first, moved_[i].second);
  clearMove();
}

void Neighbourhood::describe(Move& move) const {
  move.placed.clear();
  for (const auto& [unit, was] : moved_) {
    for (const std::uint32_t op : unit_ops_[unit]) move.placed.emplace_back(op, sequence_.device[op]);
  }
  move.shifted = !shifted_.empty();
  if (move.shifted) {
    std::tie(move.shift_from, move.shift_to) = shifted_.front();
    move.shift_op = sequence_.order[move.shift_to];
  }
  move.from = from_;
}

void Neighbourhood::redo(const Move& move) {
  clearMove();
  for (const auto& [op, device] : move.placed) place(op, device);
  if (move.shifted) shift(move.shift_from, move.shift_to);
}

void Neighbourhood::findCritical(const Decoder& decoder) {
  // Longest ways behind each op along readers and the order of the device; queues at ports are left out.
  behind_.assign(unit_.size(), 0);
  std::vector<std::uint32_t> next(devices_, UINT32_MAX);
  critical_.clear();
  const double value = decoder.value();
  for (std::uint32_t p = count(sequence_.order); p-- > 0;) {
    const std::uint32_t op = sequence_.order[p], on = sequence_.device[op];
    double longest = behind_[op];
    const double seconds = decoder.seconds(op, on);
    if (seconds > 0) {
      if (next[on] != UINT32_MAX)
        longest = std::max(longest, model_.launch[on] + decoder.seconds(next[on], on) + behind_[next[on]]);
      next[on] = op;
    }
    behind_[op] = longest;
    for (const std::uint32_t net : model_.inputs[first_ + op]) {
      if (model_.net_producer[net] < first_) continue;
      const std::uint32_t producer = model_.net_producer[net] - first_;
      behind_[producer] = std::max(behind_[producer],
                                   model_.transfer(net, sequence_.device[producer], on) + seconds + longest);
    }
    if (decoder.end(op) + longest >= value * (1 - 1e-6)) critical_.push_back(op);
  }
}

void Neighbourhood::sortByStart(const Decoder& decoder) {
  std::vector<double> start(unit_.size());
  for (std::uint32_t op = 0; op < start.size(); ++op)
    start[op] = decoder.end(op) - decoder.seconds(op, sequence_.device[op]);
  sequence_.setOrder(orderBy(start));
}

std::vector<std::uint32_t> Neighbourhood::orderBy(std::span<const double> key) const {
  // Among equal keys, the one that comes first now, if there is an order.
  std::vector<std::uint32_t> waiting(unit_.size()), order;
  using Entry = std::pair<double, std::uint32_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready;
  const bool ordered = sequence_.position.size() == unit_.size();
  const auto push = [&](std::uint32_t op) { ready.emplace(key[op], ordered ? sequence_.position[op] : op); };
  for (std::uint32_t op = 0; op < waiting.size(); ++op) {
    waiting[op] = count(before_[op]);
    if (waiting[op] == 0) push(op);
  }
  order.reserve(waiting.size());
  while (!ready.empty()) {
    const std::uint32_t op = ordered ? sequence_.order[ready.top().second] : ready.top().second;
    ready.pop();
    order.push_back(op);
    for (const std::uint32_t reader : after_[op]) {
      if (--waiting[reader] == 0) push(reader);
    }
  }
  return order;
}

}  // namespace allot
