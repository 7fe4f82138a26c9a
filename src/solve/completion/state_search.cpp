#include "solve/completion/state_search.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "solve/completion/speed_weights.h"

namespace allot {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::size_t kCandidatesBetweenPolls = 16;

std::uint64_t hashOf(std::uint64_t done, const std::vector<std::uint8_t>& key) {
  std::uint64_t hash = done * 0x9E3779B97F4A7C15ull;
  for (const std::uint8_t byte : key) hash = (hash ^ byte ^ (hash >> 31)) * 0xD1B54A32D192ED03ull;
  return hash ^ (hash >> 29);
}

}  // namespace

void StateSearch::Layer::clear() {
  kept.clear();
  keys.clear();
  times.clear();
  groups.clear();
}

StateSearch::StateSearch(const Problem& problem)
    : model_(problem),
      n_(model_.opCount()),
      devices_(model_.devices),
      ports_(model_.link_mode != LinkMode::kFree),
      memory_binds_(!model_.memoryNeverBinds()),
      weight_(problem.model_weight),
      release_(problem.model_release) {
  for (std::size_t i = 0; i < n_; ++i) {
    op_model_.push_back(problem.graph.op_model[model_.op_id[i].index()].value);
    std::uint64_t bits = 0;
    for (const std::uint32_t b : model_.before[i]) bits |= std::uint64_t{1} << b;
    before_.push_back(bits);
  }
  for (std::size_t net = 0; net < model_.netCount(); ++net) {
    std::uint64_t bits = 0;
    for (const std::uint32_t c : model_.net_consumers[net]) bits |= std::uint64_t{1} << c;
    consumers_.push_back(bits);
  }
  for (std::size_t u = 0; u < model_.unitCount(); ++u) {
    std::uint64_t bits = 0;
    for (const std::uint32_t op : model_.unit_ops[u]) bits |= std::uint64_t{1} << op;
    unit_bits_.push_back(bits);
  }
  prepareWeights();
}

void StateSearch::prepareWeights() {
  const Problem& problem = *model_.problem;
  const std::size_t classes = problem.cluster.classCount();
  std::vector<double> count(classes, 0);
  for (const Device& device : problem.cluster.devices) ++count[device.cls.index()];
  std::vector<SpeedJob> jobs(weight_.size());
  for (std::size_t m = 0; m < jobs.size(); ++m) jobs[m].weight = weight_[m];
  for (std::size_t i = 0; i < n_; ++i) {
    std::vector<double>& seconds = jobs[op_model_[i]].seconds;
    seconds.resize(seconds.size() + classes, kInfinity);
    double* row = seconds.data() + seconds.size() - classes;
    for (std::size_t d = 0; d < devices_; ++d)
      if (model_.runs(i, d)) row[problem.cluster.devices[d].cls.index()] = model_.time(i, d);
  }
  const SpeedWeights weights = weightsForSum(jobs, count);
  for (const Device& device : problem.cluster.devices) speed_.push_back(weights.weight[device.cls.index()]);
  for (std::size_t i = 0; i < n_; ++i) {
    double least = kInfinity;
    for (std::size_t d = 0; d < devices_; ++d)
      if (model_.runs(i, d)) least = std::min(least, speed_[d] * model_.time(i, d));
    op_work_.push_back(least < kInfinity ? least : 0);
  }
}

// times_ and key_: all that what follows depends on. Nets without consumers left and units without ops left
// are behind.
void StateSearch::pack(const State& state) {
  times_.clear();
  key_.clear();
  times_.insert(times_.end(), state.free.begin(), state.free.end());
  times_.insert(times_.end(), state.latest.begin(), state.latest.end());
  if (memory_binds_) times_.insert(times_.end(), state.used.begin(), state.used.end());
  for (std::size_t net = 0; net < consumers_.size(); ++net) {
    const std::size_t producer = model_.net_producer[net];
    if ((state.done >> producer & 1) == 0 || (consumers_[net] & ~state.done) == 0) continue;
    for (std::size_t d = 0; d < devices_; ++d) {
      const double there = state.arrival[net * devices_ + d];
      times_.push_back(there);
      if (ports_) key_.push_back(there < kInfinity ? 1 : 0);
    }
    if (ports_) key_.push_back(state.device[producer]);
  }
  for (std::size_t u = 0; u < unit_bits_.size(); ++u) {
    const std::uint64_t left = unit_bits_[u] & ~state.done;
    if (left != 0 && left != unit_bits_[u]) key_.push_back(state.unit_device[u]);
  }
}

void StateSearch::unpack(const Layer& layer, const Kept& kept) {
  State& s = state_;
  s.done = kept.done;
  s.now = kept.now;
  s.free.assign(3 * devices_, 0);
  s.latest.assign(weight_.size(), 0);
  s.used.assign(devices_, 0);
  s.arrival.assign(consumers_.size() * devices_, kInfinity);
  s.device.assign(n_, kNowhere);
  s.unit_device.assign(unit_bits_.size(), kNowhere);
  const double* time = &layer.times[kept.times_begin];
  const std::uint8_t* key = layer.keys.data() + kept.key_begin;
  for (double& free : s.free) free = *time++;
  for (double& latest : s.latest) latest = *time++;
  if (memory_binds_)
    for (double& used : s.used) used = *time++;
  for (std::size_t net = 0; net < consumers_.size(); ++net) {
    const std::size_t producer = model_.net_producer[net];
    if ((s.done >> producer & 1) == 0 || (consumers_[net] & ~s.done) == 0) continue;
    for (std::size_t d = 0; d < devices_; ++d) s.arrival[net * devices_ + d] = *time++;
    if (!ports_) continue;
    key += devices_;
    s.device[producer] = *key++;
  }
  for (std::size_t u = 0; u < unit_bits_.size(); ++u) {
    const std::uint64_t left = unit_bits_[u] & ~s.done;
    if (left != 0 && left != unit_bits_[u]) s.unit_device[u] = *key++;
  }
}

// next_ = state_ with the op run on the device; false where it cannot be the next.
bool StateSearch::applyOp(std::size_t op, std::size_t device, Activity& activity) {
  const State& s = state_;
  const double seconds = model_.time(op, device);
  if (seconds == kCannotRun) return false;
  const std::size_t unit = model_.unit[op];
  const bool placed = s.unit_device[unit] != kNowhere;
  if (placed && s.unit_device[unit] != device) return false;
  if (!placed && memory_binds_ && s.used[device] + model_.unit_bytes[unit] > model_.memory[device])
    return false;
  double start = release_[op_model_[op]];
  for (const std::uint32_t net : model_.inputs[op])
    start = std::max(start, s.arrival[net * devices_ + device]);
  if (seconds > 0) start = std::max(start, s.free[device]);
  if (start == kInfinity) return false;
  start = std::max(start, s.now);
  next_ = s;
  const double end = start + seconds;
  activity = {static_cast<std::uint16_t>(op), static_cast<std::uint16_t>(device), false, start, end};
  next_.done |= std::uint64_t{1} << op;
  next_.now = start;
  if (seconds > 0) next_.free[device] = end + model_.launch[device];
  double& latest = next_.latest[op_model_[op]];
  latest = std::max(latest, end);
  if (!placed) {
    next_.unit_device[unit] = static_cast<std::uint8_t>(device);
    if (memory_binds_) next_.used[device] += model_.unit_bytes[unit];
  }
  next_.device[op] = static_cast<std::uint8_t>(device);
  for (const std::uint32_t net : model_.outputs[op]) {
    for (std::size_t d = 0; d < devices_; ++d) {
      const double transfer = model_.transfer(net, device, d);
      next_.arrival[net * devices_ + d] = !ports_ || transfer == 0 ? end + transfer : kInfinity;
    }
  }
  return true;
}

// Whether a consumer of the net that is left may run on the device.
bool StateSearch::reachable(std::size_t net, std::size_t device) const {
  for (const std::uint32_t c : model_.net_consumers[net]) {
    if ((state_.done >> c & 1) != 0 || !model_.runs(c, device)) continue;
    const std::uint8_t unit_device = state_.unit_device[model_.unit[c]];
    if (unit_device == kNowhere || unit_device == device) return true;
  }
  return false;
}

bool StateSearch::applyTransfer(std::size_t net, std::size_t device, Activity& activity) {
  const State& s = state_;
  const std::size_t producer = model_.net_producer[net];
  if ((s.done >> producer & 1) == 0 || (consumers_[net] & ~s.done) == 0) return false;
  if (s.arrival[net * devices_ + device] < kInfinity || !reachable(net, device)) return false;
  const std::size_t from = s.device[producer];
  const std::size_t send = devices_ + from;
  const std::size_t receive = (model_.link_mode == LinkMode::kHalfDuplex ? devices_ : 2 * devices_) + device;
  const double start = std::max({s.now, s.arrival[net * devices_ + from], s.free[send], s.free[receive]});
  next_ = s;
  const double end = start + model_.transfer(net, from, device);
  activity = {static_cast<std::uint16_t>(net), static_cast<std::uint16_t>(device), true, start, end};
  next_.now = start;
  next_.free[send] = next_.free[receive] = end;
  next_.arrival[net * devices_ + device] = end;
  return true;
}

void StateSearch::offer(Layer& layer, std::uint32_t parent, const Activity& activity) {
  const double least = bound(next_);
  if (least >= cutoff_) return;
  raiseTimes(next_);
  pack(next_);
  std::vector<std::uint32_t>& group = layer.groups[hashOf(next_.done, key_)];
  for (std::size_t g = 0; g < group.size(); ++g) {
    Kept& other = layer.kept[group[g]];
    if (other.done != next_.done || other.key_size != key_.size() ||
        !std::equal(key_.begin(), key_.end(), layer.keys.begin() + other.key_begin))
      continue;
    // Times before the later of the two last starts are alike for what follows it.
    const double* times = &layer.times[other.times_begin];
    bool other_wins = other.now <= next_.now, this_wins = next_.now <= other.now;
    const double now = std::max(other.now, next_.now);
    const std::size_t ports_end = 3 * devices_,
                      sums_end = ports_end + weight_.size() + (memory_binds_ ? devices_ : 0);
    for (std::size_t k = 0; k < times_.size() && (other_wins || this_wins); ++k) {
      double a = times[k], b = times_[k];
      if (k < ports_end || k >= sums_end) {
        a = std::max(a, now);
        b = std::max(b, now);
      }
      other_wins = other_wins && a <= b;
      this_wins = this_wins && b <= a;
    }
    if (other_wins) {
      // It is likely to win again.
      std::swap(group[g], group[g / 2]);
      return;
    }
    if (this_wins) {
      other.dead = true;
      group.erase(group.begin() + static_cast<std::ptrdiff_t>(g--));
    }
  }
  group.push_back(static_cast<std::uint32_t>(layer.kept.size()));
  layer.kept.push_back(
      {static_cast<std::uint32_t>(nodes_.size()), next_.done, next_.now, least,
       static_cast<std::uint32_t>(layer.keys.size()), static_cast<std::uint32_t>(key_.size()),
       static_cast<std::uint32_t>(layer.times.size()), static_cast<std::uint32_t>(times_.size())});
  layer.keys.insert(layer.keys.end(), key_.begin(), key_.end());
  layer.times.insert(layer.times.end(), times_.begin(), times_.end());
  nodes_.push_back({parent, activity});
}

void StateSearch::narrow(Layer& layer, std::size_t width) {
  std::erase_if(layer.kept, [](const Kept& kept) { return kept.dead; });
  if (width == 0 || layer.kept.size() <= width) return;
  std::stable_sort(layer.kept.begin(), layer.kept.end(),
                   [](const Kept& a, const Kept& b) { return a.bound < b.bound; });
  layer.kept.resize(width);
}

void StateSearch::finish(std::uint32_t parent, const Activity& activity) {
  double sum = 0;
  for (std::size_t m = 0; m < weight_.size(); ++m) sum += weight_[m] * next_.latest[m];
  if (sum >= cutoff_) return;
  value_ = sum;
  cutoff_ = sum * (1 - 1e-12);
  schedule_.device.assign(n_, 0);
  schedule_.start.assign(n_, 0);
  schedule_.transfers.clear();
  const auto take = [&](const Activity& a) {
    if (a.transfer) {
      schedule_.transfers.push_back({a.item, a.device, a.start, a.end});
    } else {
      schedule_.device[a.item] = a.device;
      schedule_.start[a.item] = a.start;
    }
  };
  take(activity);
  for (std::uint32_t node = parent; node != 0; node = nodes_[node].parent) take(nodes_[node].activity);
  // A transfer that no consumer used is none.
  std::erase_if(schedule_.transfers, [&](const NetTransfer& transfer) {
    for (const std::uint32_t c : model_.net_consumers[transfer.net])
      if (schedule_.device[c] == transfer.to) return false;
    return true;
  });
}

StateEnd StateSearch::run(double cutoff, std::size_t width, std::size_t states, const Budget& budget) {
  cutoff_ = cutoff;
  value_ = kInfinity;
  nodes_.clear();
  const std::uint64_t all = n_ == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << n_) - 1;
  next_ = State{};
  next_.arrival.assign(consumers_.size() * devices_, kInfinity);
  next_.free.assign(3 * devices_, 0);
  next_.latest.assign(weight_.size(), 0);
  next_.used.assign(devices_, 0);
  next_.device.assign(n_, kNowhere);
  next_.unit_device.assign(unit_bits_.size(), kNowhere);
  for (Layer& layer : layers_) layer.clear();
  offer(layers_[0], 0, {});
  std::size_t polls = 0;
  for (int turn = 0; !layers_[turn].kept.empty(); turn = 1 - turn) {
    Layer& layer = layers_[turn];
    Layer& next_layer = layers_[1 - turn];
    next_layer.clear();
    for (const Kept& kept : layer.kept) {
      const std::size_t bytes = nodes_.size() * sizeof(Node) + next_layer.times.size() * sizeof(double) +
                                next_layer.kept.size() * sizeof(Kept);
      if (nodes_.size() > states || bytes > budget.memory_bytes / 2) return StateEnd::kTooLarge;
      if (kept.bound >= cutoff_) continue;
      unpack(layer, kept);
      Activity activity;
      bool stopped = false;
      const auto reached = [&] {
        stopped = stopped || (++polls % kCandidatesBetweenPolls == 0 && budget.stopped());
        if (stopped) return;
        if (next_.done == all)
          finish(kept.node, activity);
        else
          offer(next_layer, kept.node, activity);
      };
      for (std::size_t op = 0; op < n_; ++op) {
        if ((state_.done >> op & 1) != 0 || (before_[op] & ~state_.done) != 0) continue;
        for (std::size_t d = 0; d < devices_; ++d)
          if (applyOp(op, d, activity)) reached();
      }
      for (std::size_t net = 0; ports_ && net < consumers_.size(); ++net) {
        for (std::size_t d = 0; d < devices_; ++d)
          if (applyTransfer(net, d, activity)) reached();
      }
      if (stopped) return StateEnd::kStopped;
    }
    narrow(next_layer, width);
  }
  return StateEnd::kDone;
}

}  // namespace allot
