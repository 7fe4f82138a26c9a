#include "solve/latency/window_resolve.h"

#include <algorithm>

namespace allot {
namespace {

constexpr double kBetter = 1e-9;  // a value is better by this share at least
// Partial schedules kept in each round of a search, and ops freed: both grow while nothing gets better.
constexpr std::size_t kFirstWidth = 30;
constexpr std::uint32_t kFirstSize = 16, kMoreOps = 4, kMostLevel = 6;
constexpr std::uint32_t kMostAround = 60;  // ops of the stretch around a branch

}  // namespace

WindowResolver::WindowResolver(const ScheduleModel& model, const SearchRange& range)
    : model_(model),
      range_(range),
      devices_(model.devices),
      n_(range.last - range.first),
      memory_(!model.memoryNeverBinds()),
      decoder_(model, range.first, range.last, range.open, range.ports, range.grid),
      orders_(model, range),
      pinned_(model.unitCount(), 0),
      transfer_at_(model.netCount() * devices_, kNone),
      freed_(n_, 0) {}

bool WindowResolver::applies(const ScheduleModel& model) {
  return model.devices > 1 && model.devices <= ExactWindow::kMaxDevices &&
         model.problem->modes.memory == MemoryModel::kStatic;
}

double WindowResolver::improve(Sequence& sequence, std::uint64_t states, const Budget& budget,
                               Random& random) {
  const std::uint64_t most = states_ + states;
  look(sequence);
  sortByStart(sequence);
  const auto over = [&] { return states_ >= most || budget.stopped(); };
  for (std::uint32_t level = 0; level <= kMostLevel && !over();) {
    width_ = kFirstWidth << level;
    size_ = std::min(kFirstSize + level * kMoreOps, n_);
    bool better = false;
    for (std::uint32_t i = 0; i < 2 * n_ / size_ && !over(); ++i) {
      // A window, from the front on, and a branch in turn.
      const std::uint32_t begin = std::min(i * size_ / 2, n_ - size_);
      std::fill(freed_.begin(), freed_.end(), 1);
      better |= tryPart(sequence, begin, begin + size_, budget);
      if (critical_.empty() || over()) continue;
      const auto branch =
          freeBranch(sequence, critical_[random.below(static_cast<std::uint32_t>(critical_.size()))]);
      better |= tryPart(sequence, branch.first, branch.second, budget);
    }
    if (!better) ++level;
  }
  return value_;
}

// Frees the op and what hangs together with it, nearest first. The stretch of the order that holds them.
std::pair<std::uint32_t, std::uint32_t> WindowResolver::freeBranch(const Sequence& sequence,
                                                                   std::uint32_t op) {
  std::fill(freed_.begin(), freed_.end(), 0);
  std::vector<std::uint32_t> branch{op};
  freed_[op] = 1;
  std::uint32_t begin = sequence.position[op], end = begin + 1;
  for (std::size_t next = 0; next < branch.size() && branch.size() < size_; ++next) {
    const std::uint32_t at = range_.first + branch[next];
    for (const auto& around : {model_.before[at], model_.after[at]}) {
      for (const std::uint32_t other : around) {
        if (other < range_.first || other >= range_.last || freed_[other - range_.first]) continue;
        const std::uint32_t p = sequence.position[other - range_.first];
        if (branch.size() >= size_ || std::max(end, p + 1) - std::min(begin, p) > kMostAround) continue;
        begin = std::min(begin, p);
        end = std::max(end, p + 1);
        freed_[other - range_.first] = 1;
        branch.push_back(other - range_.first);
      }
    }
  }
  return {begin, end};
}

void WindowResolver::sortByStart(Sequence& sequence) {
  Sequence sorted = sequence;
  orders_.begin(sequence);
  sorted.setOrder(orders_.orderBy(schedule_.start));
  if (decoder_.reset(sorted) > value_) return;
  sequence = std::move(sorted);
  look(sequence);
}

void WindowResolver::look(const Sequence& sequence) {
  for (const NetTransfer& transfer : schedule_.transfers)
    transfer_at_[transfer.net * devices_ + transfer.to] = kNone;
  schedule_ = decoder_.record(sequence);
  value_ = decoder_.value();
  for (std::uint32_t i = 0; i < schedule_.transfers.size(); ++i)
    transfer_at_[schedule_.transfers[i].net * devices_ + schedule_.transfers[i].to] = i;
  findBehind(sequence);
  critical_.clear();
  for (std::uint32_t op = 0; op < n_; ++op) {
    if (endOf(op) + behind_[op] >= value_ * (1 - kBetter)) critical_.push_back(op);
  }
  used_.assign(devices_, 0);
  for (std::size_t unit = 0; memory_ && unit < model_.unitCount(); ++unit) {
    const std::uint32_t op = model_.unit_ops[unit].front();
    if (op >= range_.first && op < range_.last)
      used_[sequence.device[op - range_.first]] += model_.unit_bytes[unit];
  }
}

// Longest ways behind each op along readers, the order of devices and the order of ports.
void WindowResolver::findBehind(const Sequence& sequence) {
  struct Activity {
    double start;
    std::uint32_t rank, index;  // rank: producers before what they feed; index: op, or n + transfer
  };
  std::vector<Activity> activities;
  for (std::uint32_t op = 0; op < n_; ++op) activities.push_back({schedule_.start[op], 2 * op, op});
  for (std::uint32_t i = 0; i < schedule_.transfers.size(); ++i) {
    const NetTransfer& transfer = schedule_.transfers[i];
    activities.push_back(
        {transfer.start, 2 * (model_.net_producer[transfer.net] - range_.first) + 1, n_ + i});
  }
  std::sort(activities.begin(), activities.end(), [](const Activity& a, const Activity& b) {
    return a.start != b.start ? a.start > b.start : a.rank > b.rank;
  });
  behind_.assign(n_ + schedule_.transfers.size(), 0);
  std::vector<double> next(devices_, 0), next_on_port(2 * devices_, 0);
  const bool ports = range_.ports && model_.link_mode != LinkMode::kFree;
  const std::size_t receive = model_.link_mode == LinkMode::kHalfDuplex ? 0 : devices_;
  for (const Activity& activity : activities) {
    double& behind = behind_[activity.index];
    if (activity.index >= n_) {
      const NetTransfer& transfer = schedule_.transfers[activity.index - n_];
      const std::uint32_t producer = model_.net_producer[transfer.net] - range_.first;
      double &send = next_on_port[sequence.device[producer]], &in = next_on_port[receive + transfer.to];
      if (ports) behind = std::max({behind, send, in});
      const double whole = transfer.end - transfer.start + behind;
      send = in = whole;
      behind_[producer] = std::max(behind_[producer], whole);
      continue;
    }
    const std::uint32_t op = activity.index, on = sequence.device[op];
    const double seconds = decoder_.seconds(op, on);
    if (seconds > 0) {
      if (next[on] > 0) behind = std::max(behind, model_.launch[on] + next[on]);
      next[on] = seconds + behind;
    }
    const double whole = seconds + behind;
    for (const std::uint32_t net : model_.inputs[range_.first + op]) {
      if (model_.net_producer[net] < range_.first) continue;
      const std::uint32_t transfer = transfer_at_[net * devices_ + on];
      double& before =
          transfer != kNone ? behind_[n_ + transfer] : behind_[model_.net_producer[net] - range_.first];
      before = std::max(before, whole);
    }
  }
}

// Whether the transfer was made for an op before this position.
bool WindowResolver::sentBefore(const Sequence& sequence, const NetTransfer& transfer,
                                std::uint32_t begin) const {
  const auto readers = model_.net_consumers[transfer.net];
  return std::any_of(readers.begin(), readers.end(), [&](std::uint32_t reader) {
    return reader < range_.last && sequence.position[reader - range_.first] < begin &&
           sequence.device[reader - range_.first] == transfer.to;
  });
}

// First what is read and done at entry, then the ops of the stretch in their order.
ExactWindow WindowResolver::windowFor(const Sequence& sequence, std::uint32_t begin,
                                      std::uint32_t end) const {
  std::vector<std::uint32_t> ops;
  for (std::uint32_t p = begin; p < end; ++p) {
    for (const std::uint32_t producer : model_.before[range_.first + sequence.order[p]]) {
      if (producer >= range_.first && sequence.position[producer - range_.first] < begin)
        ops.push_back(producer);
    }
  }
  std::sort(ops.begin(), ops.end());
  ops.erase(std::unique(ops.begin(), ops.end()), ops.end());
  const std::size_t done = ops.size();
  for (std::uint32_t p = begin; p < end; ++p) ops.push_back(range_.first + sequence.order[p]);
  ExactWindow window = windowOf(model_, ops);
  if (ops.size() > ExactWindow::kMaxOps) return window;
  if (!range_.ports) window.link_mode = LinkMode::kFree;
  for (std::size_t i = 0; i < done; ++i) {
    window.done_on[i] = sequence.device[ops[i] - range_.first];
    window.done_at[i] = endOf(ops[i] - range_.first);
  }
  for (std::uint32_t p = 0; p < begin; ++p) {
    const std::uint32_t op = sequence.order[p], on = sequence.device[op];
    if (decoder_.seconds(op, on) > 0) window.device_free[on] = endOf(op) + model_.launch[on];
  }
  setPlaces(window, sequence, begin, end);
  setTails(window, sequence, end);
  setNets(window, sequence, begin);
  return window;
}

// Only freed units that lie inside as a whole may change devices, as far as memory goes.
void WindowResolver::setPlaces(ExactWindow& window, const Sequence& sequence, std::uint32_t begin,
                               std::uint32_t end) const {
  if (memory_) {
    window.memory = model_.memory;
    for (std::size_t d = 0; d < devices_; ++d) window.memory[d] -= used_[d];
    window.unit_bytes.assign(window.opCount(), 0);
  }
  const auto isFree = [&](std::uint32_t member) {
    if (member < range_.first || member >= range_.last) return false;
    const std::uint32_t p = sequence.position[member - range_.first];
    return p >= begin && p < end && freed_[member - range_.first];
  };
  for (std::size_t i = 0; i < window.opCount(); ++i) {
    if (window.done_on[i] != ExactWindow::kToDo) continue;
    const std::uint32_t op = window.source_op[i] - range_.first, unit = model_.unit[window.source_op[i]];
    const auto members = model_.unit_ops[unit];
    const bool fixed = pinned_[unit] || !std::all_of(members.begin(), members.end(), isFree);
    for (std::uint32_t d = 0; d < devices_; ++d) {
      const bool may = !fixed || d == sequence.device[op];
      window.seconds[i * devices_ + d] = may ? decoder_.seconds(op, d) : kCannotRun;
    }
    if (!memory_ || fixed || members.front() != window.source_op[i]) continue;
    window.unit_bytes[window.unit[i]] = model_.unit_bytes[unit];
    window.memory[sequence.device[op]] += model_.unit_bytes[unit];
  }
}

// What must follow an op behind the stretch: its readers there, and what its device runs there first.
void WindowResolver::setTails(ExactWindow& window, const Sequence& sequence, std::uint32_t end) const {
  std::vector<std::uint32_t> next(devices_, kNone);
  for (std::uint32_t p = n_; p-- > end;) {
    const std::uint32_t op = sequence.order[p], on = sequence.device[op];
    if (decoder_.seconds(op, on) > 0) next[on] = op;
  }
  for (std::size_t i = 0; i < window.opCount(); ++i) {
    if (window.done_on[i] != ExactWindow::kToDo) continue;
    for (std::uint32_t d = 0; d < devices_; ++d) {
      if (!(window.time(i, d) < kCannotRun)) continue;
      double& tail = window.tail[i * devices_ + d];
      if (next[d] != kNone && window.time(i, d) > 0)
        tail = model_.launch[d] + decoder_.seconds(next[d], d) + behind_[next[d]];
      for (const std::uint32_t net : model_.outputs[window.source_op[i]]) {
        for (const std::uint32_t reader : model_.net_consumers[net]) {
          const std::uint32_t op = reader - range_.first;
          if (reader >= range_.last || sequence.position[op] < end) continue;
          const std::uint32_t to = sequence.device[op];
          tail = std::max(tail, model_.transfer(net, d, to) + decoder_.seconds(op, to) + behind_[op]);
        }
      }
    }
  }
}

// Nets into and among what is to do, what came where before entry and until when that kept the ports; and
// what is not freed stays in its order on its device.
void WindowResolver::setNets(ExactWindow& window, const Sequence& sequence, std::uint32_t begin) const {
  const bool ports = window.link_mode != LinkMode::kFree;
  for (const NetTransfer& transfer : schedule_.transfers) {
    if (!ports || !sentBefore(sequence, transfer, begin)) continue;
    double& sender = window.send_free[sequence.device[model_.net_producer[transfer.net] - range_.first]];
    sender = std::max(sender, transfer.end);
    window.receive_free[transfer.to] = std::max(window.receive_free[transfer.to], transfer.end);
  }
  std::vector<ExactWindow::Net> nets;
  for (std::size_t n = 0; n < window.nets.size(); ++n) {
    ExactWindow::Net& net = window.nets[n];
    std::erase_if(net.consumers,
                  [&](std::uint32_t reader) { return window.done_on[reader] != ExactWindow::kToDo; });
    if (net.consumers.empty()) continue;
    for (std::uint32_t d = 0; ports && window.done_on[net.producer] != ExactWindow::kToDo && d < devices_;
         ++d) {
      const std::uint32_t transfer = transfer_at_[window.source_net[n] * devices_ + d];
      if (transfer == kNone || !sentBefore(sequence, schedule_.transfers[transfer], begin)) continue;
      net.arrived.resize(devices_, kCannotRun);
      net.arrived[d] = schedule_.transfers[transfer].end;
    }
    window.source_net[nets.size()] = window.source_net[n];
    nets.push_back(std::move(net));
  }
  window.source_net.resize(nets.size());
  std::vector<std::uint32_t> last(devices_, kNone);
  for (std::uint32_t i = 0; i < window.opCount(); ++i) {
    const std::uint32_t op = window.source_op[i] - range_.first, on = sequence.device[op];
    if (window.done_on[i] != ExactWindow::kToDo || freed_[op] || !(window.time(i, on) > 0)) continue;
    if (last[on] != kNone) {
      nets.push_back({last[on], {i}, std::vector<double>(devices_ * devices_, 0), {}});
      window.source_net.push_back(kNone);
    }
    last[on] = i;
  }
  window.nets = std::move(nets);
}

// Solves the freed ops of a stretch again; true when the schedule got shorter.
bool WindowResolver::tryPart(Sequence& sequence, std::uint32_t begin, std::uint32_t end,
                             const Budget& budget) {
  const ExactWindow window = windowFor(sequence, begin, end);
  if (window.opCount() > ExactWindow::kMaxOps) return false;
  // Only where what happens inside decides the value.
  double through = 0;
  for (std::size_t i = 0; i < window.opCount(); ++i) {
    const std::uint32_t op = window.source_op[i] - range_.first, on = sequence.device[op];
    if (window.done_on[i] == ExactWindow::kToDo)
      through = std::max(through, endOf(op) + window.tail[i * devices_ + on]);
  }
  ++states_;
  if (through < value_ * (1 - kBetter)) return false;
  const WindowResult result = searchWindow(window, {value_ * (1 - kBetter), width_, 0, &budget});
  states_ += result.states;
  return result.best.front().value < value_ && take(sequence, window, result.best.front(), begin);
}

// The plan's devices, with the ops in the order in which the search appended them: so transfers queue as they
// did there.
bool WindowResolver::take(Sequence& sequence, const ExactWindow& window, const WindowPlan& plan,
                          std::uint32_t begin) {
  Sequence changed = sequence;
  for (std::uint32_t p = 0; p < plan.order.size(); ++p) {
    const std::uint32_t op = window.source_op[plan.order[p]] - range_.first;
    changed.device[op] = plan.device[plan.order[p]];
    changed.order[begin + p] = op;
    changed.position[op] = begin + p;
  }
  if (!(decoder_.reset(changed) < value_ * (1 - kBetter))) return false;
  sequence = std::move(changed);
  look(sequence);
  sortByStart(sequence);
  return true;
}

}  // namespace allot
