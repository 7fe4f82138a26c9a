#include "solve/latency/neighbourhood.h"

#include <algorithm>
#include <bit>
#include <queue>

namespace allot {
namespace {

constexpr std::uint32_t kReach = 400;  // far shifts cost as much as a pass over the schedule and seldom help

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
  critical_.clear();
  clearMove();
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
}

void Neighbourhood::assign(std::uint32_t unit, std::uint32_t device) {
  const std::uint32_t was = sequence_.device[unit_ops_[unit].front()];
  used_[was] -= unit_bytes_[unit];
  used_[device] += unit_bytes_[unit];
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
  if (from == to) return;
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

std::uint32_t Neighbourhood::pickOp(Random& random) const {
  if (high_ != kNoLimit) return sequence_.order[low_ + random.below(high_ - low_)];
  if (!critical_.empty() && random.below(2) == 0) return critical_[random.below(count(critical_))];
  return random.below(count(unit_));
}

std::uint32_t Neighbourhood::pickDevice(std::uint32_t op, Random& random) const {
  if (random.below(2) == 0) {
    const auto before = before_[op], after = after_[op];
    const std::uint32_t around = count(before) + count(after);
    if (around > 0) {
      const std::uint32_t pick = random.below(around);
      const std::uint32_t device =
          sequence_.device[pick < before.size() ? before[pick] : after[pick - before.size()]];
      if (device != sequence_.device[op]) return device;
    }
  }
  const auto allowed = unit_devices_[unit_[op]];
  const std::uint32_t device = allowed[random.below(count(allowed))];
  if (random.below(3) == 0) return device;
  // The faster of two.
  const std::uint32_t other = allowed[random.below(count(allowed))];
  return model_.time(first_ + op, other) < model_.time(first_ + op, device) ? other : device;
}

void Neighbourhood::moveChain(Random& random) {
  const std::uint32_t start = pickOp(random), from = sequence_.device[start];
  const std::uint32_t to = pickDevice(start, random);
  if (to == from) return;
  place(start, to);
  const std::uint32_t most = 1 + random.below(30);
  std::uint32_t op = start;
  for (std::uint32_t i = 0; i < most; ++i) {
    if (after_[op].size() != 1) break;
    op = after_[op].front();
    if (before_[op].size() != 1 && random.below(2) == 0) break;
    if (sequence_.device[op] != from) break;
    place(op, to);
  }
  op = start;
  for (std::uint32_t i = 0; i < most; ++i) {
    if (before_[op].size() != 1) break;
    op = before_[op].front();
    if ((after_[op].size() != 1 && random.below(2) == 0) || sequence_.device[op] != from) break;
    place(op, to);
  }
}

// The op and what hangs together with it on its device, nearest first.
void Neighbourhood::moveCluster(Random& random) {
  const std::uint32_t start = pickOp(random), from = sequence_.device[start];
  const std::uint32_t to = pickDevice(start, random);
  if (to == from) return;
  const std::uint32_t most = 2 + random.below(2u << random.below(cluster_scale_));
  // Forward only, backward only, or both.
  const std::uint32_t ways = random.below(3);
  ++stamp_now_;
  cluster_.assign(1, start);
  stamp_[start] = stamp_now_;
  for (std::size_t next = 0; next < cluster_.size() && cluster_.size() < most; ++next) {
    const auto visit = [&](std::uint32_t op) {
      if (stamp_[op] == stamp_now_ || sequence_.device[op] != from || cluster_.size() >= most) return;
      stamp_[op] = stamp_now_;
      cluster_.push_back(op);
    };
    const std::uint32_t op = cluster_[next];
    if (ways != 1) std::for_each(after_[op].begin(), after_[op].end(), visit);
    if (ways != 0) std::for_each(before_[op].begin(), before_[op].end(), visit);
  }
  for (const std::uint32_t op : cluster_) place(op, to);
}

// An op and all that depends on nothing but it, or all that nothing but it depends on: what hangs on a hub.
void Neighbourhood::moveRegion(Random& random) {
  const std::uint32_t start = pickOp(random), from = sequence_.device[start];
  const std::uint32_t to = pickDevice(start, random);
  const bool forward = random.below(3) != 0, all = random.below(2) == 0;
  const std::uint32_t most = random.below(2) == 0 && high_ == kNoLimit
                                 ? count(unit_)
                                 : 2 + random.below(2u << random.below(cluster_scale_));
  const Csr<std::uint32_t>&next = forward ? after_ : before_, &back = forward ? before_ : after_;
  ++stamp_now_;
  cluster_.assign(1, start);
  for (std::size_t at = 0; at < cluster_.size() && cluster_.size() < most; ++at) {
    for (const std::uint32_t op : next[cluster_[at]]) {
      if (stamp_[op] != stamp_now_) {
        stamp_[op] = stamp_now_;
        seen_[op] = 0;
      }
      if (++seen_[op] == back[op].size() && cluster_.size() < most) cluster_.push_back(op);
    }
  }
  // The hub itself may stay.
  for (std::size_t at = random.below(4) == 0 ? 1 : 0; at < cluster_.size(); ++at) {
    if (all || sequence_.device[cluster_[at]] == from) place(cluster_[at], to);
  }
}

void Neighbourhood::moveWindow(Random& random) {
  const std::uint32_t op = pickOp(random), from = sequence_.device[op];
  const std::uint32_t to = pickDevice(op, random);
  if (to == from) return;
  const std::uint32_t begin = sequence_.position[op];
  const std::uint32_t stop = std::min(begin + 2 + random.below(24), count(sequence_.order));
  for (std::uint32_t p = begin; p < stop; ++p) {
    if (sequence_.device[sequence_.order[p]] == from) place(sequence_.order[p], to);
  }
}

void Neighbourhood::swapUnits(Random& random) {
  const std::uint32_t a = pickOp(random);
  // Near in the order: far ones change too much at once, unless memory asks for it.
  std::uint32_t b = random.below(count(unit_));
  if (random.below(2) == 0) {
    const std::uint32_t p = sequence_.position[a];
    const std::uint32_t low = p > 16 ? p - 16 : 0, high = std::min(p + 16, count(unit_) - 1);
    b = sequence_.order[low + random.below(high - low + 1)];
  }
  const std::uint32_t on_a = sequence_.device[a], on_b = sequence_.device[b];
  if (on_a == on_b) return;
  place(a, on_b);
  place(b, on_a);
}

std::pair<std::uint32_t, std::uint32_t> Neighbourhood::room(std::uint32_t op) const {
  std::uint32_t low = low_, high = std::min(high_, count(sequence_.order)) - 1;
  for (const std::uint32_t other : before_[op]) low = std::max(low, sequence_.position[other] + 1);
  for (const std::uint32_t other : after_[op]) high = std::min(high, sequence_.position[other] - 1);
  const std::uint32_t at = sequence_.position[op];
  return {std::max(low, at > kReach ? at - kReach : 0), std::min(high, at + kReach)};
}

void Neighbourhood::shiftOp(Random& random) {
  const std::uint32_t op = pickOp(random);
  const auto [low, high] = room(op);
  if (low == high) return;
  shift(sequence_.position[op], low + random.below(high - low + 1));
}

// Past the next few ops of its own device: all shifts in between leave the schedule as it is.
void Neighbourhood::shiftCritical(Random& random) {
  const std::uint32_t op = pickOp(random), on = sequence_.device[op];
  const auto [low, high] = room(op);
  const std::uint32_t at = sequence_.position[op];
  std::uint32_t past = 1 + random.below(random.below(4) == 0 ? 8 : 2);
  if (random.below(2) == 0) {
    for (std::uint32_t p = at; p-- > low;) {
      if (sequence_.device[sequence_.order[p]] == on && --past == 0) return shift(at, p);
    }
  } else {
    for (std::uint32_t p = at + 1; p <= high; ++p) {
      if (sequence_.device[sequence_.order[p]] == on && --past == 0) return shift(at, p);
    }
  }
}

void Neighbourhood::moveAndShift(Random& random) {
  const std::uint32_t op = pickOp(random);
  const std::uint32_t to = pickDevice(op, random);
  place(op, to);
  if (moved_.empty()) return;
  const auto [low, high] = room(op);
  if (low < high) shift(sequence_.position[op], low + random.below(high - low + 1));
}

void Neighbourhood::restrictTo(std::uint32_t begin, std::uint32_t stop) {
  low_ = begin;
  high_ = stop;
  cluster_scale_ = 3;
}

void Neighbourhood::propose(Random& random) {
  clearMove();
  const std::uint32_t kind = random.below(memory_binds_ ? 20 : 18);
  if (kind < 4) {
    const std::uint32_t op = pickOp(random);
    place(op, pickDevice(op, random));
  } else if (kind < 6) {
    moveAndShift(random);
  } else if (kind < 8) {
    moveChain(random);
  } else if (kind < 9) {
    moveCluster(random);
  } else if (kind < 10) {
    moveRegion(random);
  } else if (kind < 11) {
    moveWindow(random);
  } else if (kind < 14) {
    shiftOp(random);
  } else if (kind < 17) {
    shiftCritical(random);
  } else {
    swapUnits(random);
  }
  // Clusters and units may reach out of the window.
  if (from_ < until_ && (from_ < low_ || until_ > high_)) undo();
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
