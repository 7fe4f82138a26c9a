#include "solve/latency/calls_module.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <tuple>

#include "solve/latency/calls_describe.h"
#include "solve/latency/calls_known.h"

namespace allot {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::size_t kLabelBytes = 160;  // what a label takes, with its share of everything

double limitOf(const std::vector<double>& limits, std::uint32_t used) {
  return limits[std::min<std::size_t>(used, limits.size() - 1)];
}

// Times of the module [lo, hi) that differ by less are the same: a share of all it can take.
double equalTimes(const CallItems& items, const CallKeys& keys, std::uint32_t lo, std::uint32_t hi) {
  double whole = 0;
  for (std::uint32_t i = lo; i < hi; ++i) {
    double largest = items.cpu[i] < kInfinity ? items.cpu[i] : 0;
    for (std::size_t p = 0; p < items.poolCount(); ++p) {
      if (items.onPool(i, p) < kInfinity) largest = std::max(largest, items.onPool(i, p));
    }
    whole += largest;
  }
  for (const std::uint32_t net : keys.nets) {
    for (std::size_t p = 0; p < items.poolCount(); ++p) {
      const double both = items.in(net, p) + items.out(net, p);
      if (both < kInfinity) whole += both;
    }
  }
  return std::max(1e-13 * whole, 1e-30);
}

class ModuleRun {
 public:
  ModuleRun(const CallGraphFacts& facts, std::size_t module, std::span<const std::uint32_t> pool_counts,
            std::uint32_t calls_each, const ModuleLimits& limits, const Budget& budget)
      : facts_(facts),
        items_(facts.items),
        lo_(facts.cuts[module]),
        hi_(facts.cuts[module + 1]),
        calls_each_(calls_each),
        limits_(limits),
        budget_(budget),
        keys_(items_, lo_, hi_),
        equal_(equalTimes(items_, keys_, lo_, hi_)),
        describer_(facts, keys_, lo_, hi_),
        known_(items_, keys_, lo_, hi_, pool_counts, equal_),
        key_(keys_.words) {
    for (std::size_t p = 0; p < pool_counts.size(); ++p) {
      most_used_ |= std::uint64_t{pool_counts[p]} << (8 * p);
      least_memory_ = std::min(least_memory_, items_.pools[p].memory);
    }
    for (const std::uint32_t net : items_.item_outputs[hi_ - 1]) {
      double send = items_.net_consumers[net].empty() ? 0 : kInfinity;
      for (std::size_t p = 0; p < items_.poolCount(); ++p) send = std::min(send, items_.out(net, p));
      // Tails may have had it sent before.
      if (items_.tail_bytes[net] <= 0) last_out_ += send;
    }
  }

  ModuleExits run(const CallCut& entry) {
    known_.find(entry, limits_.known);
    start(entry);
    bool whole = true;
    for (std::uint32_t size = 0; size < hi_ - lo_ && whole; ++size) {
      whole = trim() && expand();
      std::swap(layer_, next_);
      next_.clear();
    }
    if (whole) leave();
    out_.complete = whole && !trimmed_;
    out_.labels = made_;
    return std::move(out_);
  }

 private:
  const CallGraphFacts& facts_;
  const CallItems& items_;
  std::uint32_t lo_, hi_;
  std::uint32_t calls_each_;
  const ModuleLimits& limits_;
  const Budget& budget_;
  CallKeys keys_;
  double equal_;
  CallDescriber describer_;
  KnownExits known_;
  std::uint64_t most_used_ = 0;
  double least_memory_ = kInfinity;  // of all pools
  double last_out_ = 0;              // of the module's last item, on the best pool
  CallLayer layer_, next_;
  ModuleExits out_;
  std::uint64_t made_ = 0;
  std::uint64_t polled_ = 0;
  bool trimmed_ = false;
  std::vector<std::uint64_t> key_;
  std::vector<double> time_;
  std::vector<double> raised_;

  std::uint32_t stateOf(CallLayer& layer, const std::uint64_t* key) {
    bool made = false;
    const std::uint32_t number = layer.find(key, keys_.words, made);
    if (made) {
      CallState& state = layer.states[number];
      state.pool = CallKeys::poolOf(key);
      state.entry_call = CallKeys::isEntryCall(key);
      describer_.describe(state, key);
    }
    return number;
  }

  // Least exit times with a call open there, and with none.
  struct Least {
    double open, closed;
  };
  Least leastExits(const CallState& state, const CallLabel& label) const {
    if (state.has_last) return {label.least, label.least};
    // The last item waits for everything, so a call that takes it starts after all that is done elsewhere.
    double ready = state.pool >= 0 ? label.end : 0;
    if (state.pool < 0) {
      for (std::size_t f = 0; f < state.frontier.size(); ++f) ready = std::max(ready, time_[f]);
    }
    const double in_call = std::max(label.least, ready + state.last_take);
    if (state.pool < 0) return {in_call, label.least};
    const double on_cpu = ready + state.last_send + items_.cpu[hi_ - 1];
    return {in_call, std::max(label.least, std::min(in_call + last_out_, on_cpu))};
  }

  std::int32_t indexIn(const CallState& state, std::uint32_t item) const {
    const auto at = std::lower_bound(state.frontier.begin() + 1, state.frontier.end(), item);
    return at != state.frontier.end() && *at == item ? static_cast<std::int32_t>(at - state.frontier.begin())
                                                     : -1;
  }

  // Brings times to the form that stands for all labels with the same future. `time_` is by frontier item.
  void normalise(const CallState& state, CallLabel& label) {
    const std::size_t n = state.frontier.size();
    if (state.pool < 0) {
      raised_.assign(n, kInfinity);
      for (const CallWaiter& waiter : state.waiters) {
        double ready = 0;
        for (std::uint64_t bits = waiter.on; bits != 0; bits &= bits - 1)
          ready = std::max(ready, time_[static_cast<std::size_t>(std::countr_zero(bits))]);
        raised_[waiter.of] = std::min(raised_[waiter.of], ready);
      }
      for (std::size_t f = 0; f < n; ++f) {
        time_[f] = raised_[f] == kInfinity ? 0 : std::max(time_[f], raised_[f]);
        if (raised_[f] != kInfinity) label.least = std::max(label.least, time_[f] + state.tails[f]);
      }
      label.end = label.duration = label.bytes = 0;
      dropBytes(state, label);
      return;
    }
    const double start = label.duration == -kInfinity ? kInfinity : label.end - label.duration;
    label.least = std::max(label.least, label.end);
    bool late = false;
    std::uint64_t waited = 0;
    for (const CallWaiter& waiter : state.waiters) waited |= std::uint64_t{1} << waiter.of;
    for (std::size_t f = 0; f < n; ++f) {
      const std::uint64_t bit = std::uint64_t{1} << f;
      if (state.in_call & bit) {
        time_[f] = 0;
        if (waited & bit) label.least = std::max(label.least, label.end + state.tails[f]);
        continue;
      }
      if (!(waited & bit)) {
        time_[f] = 0;
        continue;
      }
      label.least = std::max(label.least, time_[f] + state.tails[f]);
      if (time_[f] > start)
        late = true;
      else if (state.only_call & bit)
        time_[f] = 0;
    }
    if (!late) label.duration = -kInfinity;
    const auto pool = static_cast<std::size_t>(state.pool);
    const double bytes = label.bytes + (state.entry_call ? limits_.entry_bytes_least : 0);
    for (const CallOnward& next : state.onward) {
      const double inside =
          items_.onPool(next.item, pool) + facts_.inCall(next.item, pool, bytes + items_.bytes[next.item]);
      label.least = std::max(label.least, label.end + std::min(next.apart, inside));
    }
    dropBytes(state, label);
  }

  // Bytes do not matter where all that is still to come fits with them.
  void dropBytes(const CallState& state, CallLabel& label) const {
    double all = label.bytes + state.bytes_left + (state.entry_call ? limits_.entry_bytes_most : 0);
    for (const double bytes : label.held) all += bytes;
    if (all > least_memory_) return;
    label.bytes = 0;
    label.held.fill(0);
  }

  bool beats(const CallLabel& a, const double* times_a, const CallLabel& b, const double* times_b,
             std::size_t n) const {
    if (!usesNoMore(a.used, b.used) || a.least > b.least + equal_ || a.end > b.end + equal_ ||
        a.duration > b.duration + equal_ || a.bytes > b.bytes || a.entry_bytes > b.entry_bytes)
      return false;
    for (std::size_t g = 0; g < kMostCallGroups; ++g) {
      if (a.held[g] > b.held[g]) return false;
    }
    for (std::size_t f = 0; f < n; ++f) {
      if (times_a[f] > times_b[f] + equal_) return false;
    }
    return true;
  }

  // Keeps the label (with `time_`) unless it is of no use.
  bool offer(CallLayer& layer, std::uint32_t state_number, CallLabel label, const CallStep& step) {
    CallState& state = layer.states[state_number];
    if (!state.ready) return false;
    normalise(state, label);
    const Least least = leastExits(state, label);
    const std::uint32_t used = usedInAll(label.used);
    if (least.closed >= limitOf(limits_.closed, used) &&
        least.open >= limitOf(limits_.open, used + (state.pool < 0 ? 1 : 0)))
      return true;
    if (!state.entry_call && known_.any()) {
      if (least.closed >= known_.closedLimit(label.used) &&
          least.open >= known_.openLimit(label.used, state.pool >= 0))
        return true;
    }
    const std::size_t n = state.frontier.size();
    std::vector<CallLabel>& kept = state.labels;
    const auto from = [&](double time_least) {
      return std::lower_bound(kept.begin(), kept.end(), time_least,
                              [](const CallLabel& other, double time) { return other.least < time; });
    };
    // Only labels that are no later can beat this one, and only those no earlier can be beaten.
    for (auto other = kept.begin(); other != kept.end() && other->least <= label.least + equal_; ++other) {
      if (beats(*other, &layer.times[other->times], label, time_.data(), n)) return true;
    }
    kept.erase(std::remove_if(from(label.least - equal_), kept.end(),
                              [&](const CallLabel& other) {
                                return beats(label, time_.data(), other, &layer.times[other.times], n);
                              }),
               kept.end());
    label.step = static_cast<std::uint32_t>(out_.steps.size());
    out_.steps.push_back(step);
    label.times = static_cast<std::uint32_t>(layer.times.size());
    layer.times.insert(layer.times.end(), time_.begin(), time_.begin() + static_cast<std::ptrdiff_t>(n));
    kept.insert(from(label.least), label);
    ++made_;
    return true;
  }

  bool goOn() {
    if ((++polled_ & 1023) == 0 && budget_.stopped()) return false;
    if (limits_.most_labels > 0 && made_ > limits_.most_labels) return false;
    return made_ * kLabelBytes < budget_.memory_bytes;
  }

  void start(const CallCut& entry) {
    layer_.clear();
    std::fill(key_.begin(), key_.end(), 0);
    keys_.setMode(key_.data(), entry.pool, entry.pool >= 0, entry.pool >= 0 ? 1 : 0);
    for (const auto& [net, state] : entry.nets)
      keys_.setNet(key_.data(), net, static_cast<CallNetState>(state));
    const std::uint32_t state = stateOf(layer_, key_.data());
    time_.assign(kMostCallFrontier, 0);
    CallLabel label;
    if (entry.pool >= 0) label.duration = -kInfinity;
    offer(layer_, state, label, {UINT32_MAX, 0, CallStep::kCpu, 0, 0});
  }

  // Keeps the labels with the least exit times when there is a beam.
  bool trim() {
    if (limits_.beam == 0) return true;
    struct Place {
      double least, latest;
      std::uint32_t state, label;
      bool operator<(const Place& other) const {
        return std::tie(least, latest, state, label) <
               std::tie(other.least, other.latest, other.state, other.label);
      }
    };
    std::vector<Place> places;
    for (std::uint32_t s = 0; s < layer_.states.size(); ++s) {
      const CallState& state = layer_.states[s];
      for (std::uint32_t l = 0; l < state.labels.size(); ++l) {
        const CallLabel& label = state.labels[l];
        const double* times = &layer_.times[label.times];
        const double latest = *std::max_element(times, times + state.frontier.size());
        places.push_back({label.least, std::max(label.end, latest), s, l});
      }
    }
    if (places.size() <= limits_.beam) return true;
    const auto end = places.begin() + static_cast<std::ptrdiff_t>(limits_.beam);
    std::nth_element(places.begin(), end, places.end());
    std::sort(places.begin(), end, [](const Place& a, const Place& b) {
      return std::tie(a.state, a.label) < std::tie(b.state, b.label);
    });
    auto next = places.begin();
    for (std::uint32_t s = 0; s < layer_.states.size(); ++s) {
      std::vector<CallLabel> kept;
      for (; next != end && next->state == s; ++next) kept.push_back(layer_.states[s].labels[next->label]);
      layer_.states[s].labels = std::move(kept);
    }
    trimmed_ = true;
    return true;
  }

  bool expand() {
    // Open calls first: closing them leads to states of the same size.
    const auto open_end = static_cast<std::uint32_t>(layer_.states.size());
    for (std::uint32_t s = 0; s < open_end; ++s) {
      if (layer_.states[s].pool >= 0 && !(close(s) && expandOpen(s))) return false;
    }
    for (std::uint32_t s = 0; s < layer_.states.size(); ++s) {
      if (layer_.states[s].pool < 0 && !expandClosed(s)) return false;
    }
    return true;
  }

  template <class Visit>
  bool forEachCandidate(const std::uint64_t* key, Visit&& visit) {
    for (std::uint32_t v = lo_; v < hi_; ++v) {
      if (keys_.holds(key, v)) continue;
      const auto before = items_.before[v];
      if (!std::all_of(before.begin(), before.end(), [&](std::uint32_t b) { return keys_.holds(key, b); }))
        continue;
      if (!visit(v)) return false;
    }
    return true;
  }

  // Drops what no longer matters once `item` is in the ideal.
  void settle(std::uint64_t* key, std::uint32_t item) const {
    for (const std::uint32_t net : items_.item_inputs[item]) {
      if (!keys_.isLive(key, net)) keys_.setNet(key, net, kOutside);
    }
    const std::uint32_t tie = items_.tie[item];
    if (tie != CallItems::kNone && keys_.allHeld(key, tie)) keys_.bind(key, tie, CallKeys::kNotBound);
  }

  // Times of `from` laid out for `to`; items new in the frontier get `fresh`.
  void moveTimes(const CallState& from, const double* times, const CallState& to, double fresh) {
    std::size_t at = 1;
    time_[0] = times[0];
    for (std::size_t f = 1; f < to.frontier.size(); ++f) {
      while (at < from.frontier.size() && from.frontier[at] < to.frontier[f]) ++at;
      const bool known = at < from.frontier.size() && from.frontier[at] == to.frontier[f];
      time_[f] = known ? times[at] : fresh;
    }
  }

  double readyTime(const CallState& state, const double* times, std::uint32_t item) const {
    double ready = describer_.waitsForEntry(item) && !(state.in_call & 1) ? times[0] : 0;
    for (const std::uint32_t b : items_.before[item]) {
      if (b < lo_) continue;
      const std::int32_t f = indexIn(state, b);
      if (!((state.in_call >> f) & 1)) ready = std::max(ready, times[f]);
    }
    return ready;
  }

  bool close(std::uint32_t s) {
    key_.assign(&layer_.keys[layer_.states[s].key], &layer_.keys[layer_.states[s].key] + keys_.words);
    const auto pool = static_cast<std::size_t>(layer_.states[s].pool);
    double sends = 0;
    for (const std::uint32_t net : keys_.nets) {
      const CallNetState held = keys_.netState(key_.data(), net);
      if (held == kMade) sends += items_.out(net, pool);
      keys_.setNet(key_.data(), net, kOutside);
    }
    // Units that are not complete go on in a later call of the accelerator, where it has one left.
    const std::uint32_t calls = CallKeys::callsOf(key_.data());
    std::uint32_t group = CallKeys::kLoose;
    for (std::uint32_t g = 0; g < kMostCallGroups && group == CallKeys::kLoose; ++g) {
      if (CallKeys::callsOfGroup(key_.data(), g) == 0) group = g;
    }
    bool goes_on = false;
    for (const std::uint32_t tie : keys_.ties) {
      if (keys_.bindingOf(key_.data(), tie) != CallKeys::kOpenCall) continue;
      if (calls == calls_each_) return true;
      goes_on = true;
      keys_.bind(key_.data(), tie, group == CallKeys::kLoose ? group : group + CallKeys::kFirstGroup);
    }
    goes_on = goes_on && group != CallKeys::kLoose;
    if (goes_on) keys_.setGroup(key_.data(), group, calls, static_cast<std::uint32_t>(pool));
    const auto was = keys_.arrangeGroups(key_.data());
    if (sends == kInfinity) return true;
    keys_.setMode(key_.data(), -1, false, 0);
    const std::vector<CallLabel> labels = layer_.states[s].labels;
    if (labels.empty()) return true;
    const std::uint32_t to = stateOf(layer_, key_.data());
    for (CallLabel label : labels) {
      if (!goOn()) return false;
      const CallState& from = layer_.states[s];
      moveTimes(from, &layer_.times[label.times], layer_.states[to], 0);
      label.end += sends;
      for (std::size_t f = 0; f < from.frontier.size(); ++f) {
        if ((from.in_call >> f) & 1) time_[f] = label.end;
      }
      label.least = std::max(label.least, label.end);
      if (from.entry_call) label.entry_bytes = label.bytes;
      if (goes_on) label.held[group] = label.bytes + (from.entry_call ? limits_.entry_bytes_least : 0);
      rearrange(label, was);
      if (!offer(layer_, to, label, {label.step, 0, CallStep::kClose, static_cast<std::uint8_t>(pool), 0}))
        return false;
    }
    return true;
  }

  static void rearrange(CallLabel& label, const std::array<std::uint8_t, kMostCallGroups>& was) {
    const auto held = label.held;
    for (std::size_t g = 0; g < kMostCallGroups; ++g)
      label.held[g] = was[g] < kMostCallGroups ? held[was[g]] : 0;
  }

  bool expandClosed(std::uint32_t s) {
    if (layer_.states[s].labels.empty()) return true;
    const std::vector<std::uint64_t> key(&layer_.keys[layer_.states[s].key],
                                         &layer_.keys[layer_.states[s].key] + keys_.words);
    return forEachCandidate(key.data(), [&](std::uint32_t v) {
      const std::uint32_t tie = items_.tie[v];
      const bool begun = tie != CallItems::kNone && keys_.anyHeld(key.data(), tie);
      const bool accelerated = begun && keys_.bindingOf(key.data(), tie) != CallKeys::kNotBound;
      if (items_.cpu[v] < kInfinity && !accelerated && !toCpu(s, key, v)) return false;
      if (begun && !accelerated) return true;
      for (std::size_t p = 0; p < items_.poolCount(); ++p) {
        if (items_.onPool(v, p) < kInfinity && !intoCall(s, key, v, p)) return false;
      }
      return true;
    });
  }

  bool expandOpen(std::uint32_t s) {
    if (layer_.states[s].labels.empty()) return true;
    const std::vector<std::uint64_t> key(&layer_.keys[layer_.states[s].key],
                                         &layer_.keys[layer_.states[s].key] + keys_.words);
    const auto pool = static_cast<std::size_t>(layer_.states[s].pool);
    return forEachCandidate(key.data(), [&](std::uint32_t v) {
      const std::uint32_t tie = items_.tie[v];
      if (tie != CallItems::kNone && keys_.anyHeld(key.data(), tie) &&
          keys_.bindingOf(key.data(), tie) == CallKeys::kNotBound)
        return true;
      return items_.onPool(v, pool) == kInfinity || intoCall(s, key, v, pool);
    });
  }

  bool toCpu(std::uint32_t s, const std::vector<std::uint64_t>& key, std::uint32_t v) {
    key_ = key;
    keys_.hold(key_.data(), v);
    settle(key_.data(), v);
    const std::uint32_t to = stateOf(next_, key_.data());
    const CallState& from = layer_.states[s];
    for (CallLabel label : from.labels) {
      if (!goOn()) return false;
      const double* times = &layer_.times[label.times];
      const double end = readyTime(from, times, v) + items_.cpu[v];
      moveTimes(from, times, next_.states[to], end);
      label.least = std::max(label.least, end);
      if (!offer(next_, to, label, {label.step, v, CallStep::kCpu, 0, 0})) return false;
    }
    return true;
  }

  // Opens a call with the item, or adds it to the open one; once for each choice of where its tails go.
  bool intoCall(std::uint32_t s, const std::vector<std::uint64_t>& key, std::uint32_t v, std::size_t pool) {
    std::vector<std::uint32_t> with_tails;
    for (const std::uint32_t net : items_.item_outputs[v]) {
      if (items_.tail_bytes[net] > 0) with_tails.push_back(net);
    }
    for (std::uint32_t sent = 0; sent < (1u << with_tails.size()); ++sent) {
      if (!intoCall(s, key, v, pool, with_tails, sent)) return false;
    }
    return true;
  }

  bool intoCall(std::uint32_t s, const std::vector<std::uint64_t>& key, std::uint32_t v, std::size_t pool,
                const std::vector<std::uint32_t>& with_tails, std::uint32_t sent) {
    const bool opens = layer_.states[s].pool < 0;
    const bool entry_call = layer_.states[s].entry_call;
    key_ = key;
    keys_.hold(key_.data(), v);
    std::uint32_t calls = opens ? 1 : CallKeys::callsOf(key.data());
    std::uint32_t joins = kMostCallGroups;  // a group whose unit goes on here
    const std::uint32_t tie = items_.tie[v];
    if (tie != CallItems::kNone) {
      const std::uint32_t to = keys_.bindingOf(key.data(), tie);
      if (to == CallKeys::kNotBound) keys_.bind(key_.data(), tie, CallKeys::kOpenCall);
      if (to >= CallKeys::kFirstGroup && to != CallKeys::kLoose) {
        joins = to - CallKeys::kFirstGroup;
        calls += CallKeys::callsOfGroup(key.data(), joins);
        if (calls > calls_each_ ||
            CallKeys::poolOfGroup(key.data(), joins) != static_cast<std::int32_t>(pool))
          return true;
        for (const std::uint32_t other : keys_.ties) {
          if (keys_.bindingOf(key.data(), other) == to) keys_.bind(key_.data(), other, CallKeys::kOpenCall);
        }
      }
    }
    keys_.setMode(key_.data(), static_cast<std::int32_t>(pool), entry_call, calls);
    double add = items_.onPool(v, pool), bytes = items_.bytes[v];
    for (const std::uint32_t net : items_.item_inputs[v]) {
      if (keys_.netState(key_.data(), net) != kOutside) continue;
      add += items_.in(net, pool);
      keys_.setNet(key_.data(), net, kFetched);
    }
    for (const std::uint32_t net : items_.item_outputs[v]) {
      if (keys_.knowsNet(net)) keys_.setNet(key_.data(), net, kMade);
    }
    for (std::size_t i = 0; i < with_tails.size(); ++i) {
      const std::uint32_t net = with_tails[i];
      if ((sent >> i) & 1) {
        add += items_.out(net, pool);
        if (keys_.knowsNet(net)) keys_.setNet(key_.data(), net, kSent);
      } else {
        bytes += items_.tail_bytes[net];
      }
    }
    if (add == kInfinity) return true;
    settle(key_.data(), v);
    const auto was = keys_.arrangeGroups(key_.data());
    const double room = items_.pools[pool].memory - (entry_call ? limits_.entry_bytes_least : 0);
    const std::uint32_t to = stateOf(next_, key_.data());
    const CallState& from = layer_.states[s];
    for (CallLabel label : from.labels) {
      if (!goOn()) return false;
      const double* times = &layer_.times[label.times];
      const double ready = readyTime(from, times, v);
      if (opens) {
        label.used += std::uint64_t{1} << (8 * pool);
        if (!usesNoMore(label.used, most_used_)) continue;
        label.bytes = bytes;
        label.duration = add;
        label.end = ready + add;
      } else {
        label.bytes += bytes;
        label.end = std::max(label.end, ready + label.duration) + add;
        label.duration += add;
      }
      if (joins < kMostCallGroups) label.bytes += label.held[joins];
      if (label.bytes > room) continue;
      rearrange(label, was);
      moveTimes(from, times, next_.states[to], 0);
      const CallStep step{label.step, v, opens ? CallStep::kOpen : CallStep::kAdd,
                          static_cast<std::uint8_t>(pool), static_cast<std::uint8_t>(sent)};
      if (!offer(next_, to, label, step)) return false;
    }
    return true;
  }

  void leave() {
    const auto open_end = static_cast<std::uint32_t>(layer_.states.size());
    for (std::uint32_t s = 0; s < open_end; ++s) {
      if (layer_.states[s].pool >= 0) close(s);
    }
    for (const CallState& state : layer_.states) {
      if (state.labels.empty() || (state.pool >= 0 && hi_ == items_.itemCount())) continue;
      const std::uint64_t* key = &layer_.keys[state.key];
      CallCut cut;
      cut.pool = state.pool;
      for (const std::uint32_t net : keys_.nets) {
        const CallNetState held = keys_.netState(key, net);
        if (held != kOutside) cut.nets.emplace_back(net, held);
      }
      const auto number = static_cast<std::uint32_t>(out_.cuts.size());
      out_.cuts.push_back(std::move(cut));
      for (const CallLabel& label : state.labels) {
        out_.exits.push_back({number, state.entry_call, state.pool >= 0 ? label.end : label.least,
                              label.bytes, label.entry_bytes, label.used, false, label.step});
      }
    }
  }
};

}  // namespace

ModuleExits runModule(const CallGraphFacts& facts, std::size_t module, const CallCut& entry,
                      std::span<const std::uint32_t> pool_counts, std::uint32_t calls_each,
                      const ModuleLimits& limits, const Budget& budget) {
  return ModuleRun(facts, module, pool_counts, calls_each, limits, budget).run(entry);
}

}  // namespace allot
