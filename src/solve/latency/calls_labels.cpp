#include "solve/latency/calls_labels.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace allot {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

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

}  // namespace

CallLabels::CallLabels(const CallGraphFacts& facts, const CallKeys& keys, std::uint32_t lo, std::uint32_t hi,
                       std::span<const std::uint32_t> pool_counts, const ModuleLimits& limits)
    : facts_(facts),
      items_(facts.items),
      keys_(keys),
      hi_(hi),
      limits_(limits),
      equal_(equalTimes(items_, keys, lo, hi)),
      describer_(facts, keys, lo, hi),
      known_(items_, keys, lo, hi, pool_counts, equal_),
      least_memory_(kInfinity) {
  for (std::size_t p = 0; p < pool_counts.size(); ++p)
    least_memory_ = std::min(least_memory_, items_.pools[p].memory);
  for (const std::uint32_t net : items_.item_outputs[hi_ - 1]) {
    double send = items_.net_consumers[net].empty() ? 0 : kInfinity;
    for (std::size_t p = 0; p < items_.poolCount(); ++p) send = std::min(send, items_.out(net, p));
    // Tails may have had it sent before.
    if (items_.tail_bytes[net] <= 0) last_out_ += send;
  }
}

std::uint32_t CallLabels::stateOf(CallLayer& layer, const std::uint64_t* key) {
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

void CallLabels::normalise(const CallState& state, CallLabel& label, std::span<double> times) {
  if (state.pool < 0)
    normaliseClosed(state, label, times);
  else
    normaliseOpen(state, label, times);
  dropBytes(state, label);
}

// A time that all who wait for it wait beyond anyway may as well be later.
void CallLabels::normaliseClosed(const CallState& state, CallLabel& label, std::span<double> times) {
  const std::size_t n = state.frontier.size();
  raised_.assign(n, kInfinity);
  for (const CallWaiter& waiter : state.waiters) {
    double ready = 0;
    for (std::uint64_t bits = waiter.on; bits != 0; bits &= bits - 1)
      ready = std::max(ready, times[static_cast<std::size_t>(std::countr_zero(bits))]);
    raised_[waiter.of] = std::min(raised_[waiter.of], ready);
  }
  for (std::size_t f = 0; f < n; ++f) {
    times[f] = raised_[f] == kInfinity ? 0 : std::max(times[f], raised_[f]);
    if (raised_[f] != kInfinity) label.least = std::max(label.least, times[f] + state.tails[f]);
  }
  label.end = label.duration = label.bytes = 0;
}

// Times of items of the open call are its end; times before its start matter only to items outside it.
void CallLabels::normaliseOpen(const CallState& state, CallLabel& label, std::span<double> times) const {
  const double start = label.duration == -kInfinity ? kInfinity : label.end - label.duration;
  label.least = std::max(label.least, label.end);
  bool late = false;
  std::uint64_t waited = 0;
  for (const CallWaiter& waiter : state.waiters) waited |= std::uint64_t{1} << waiter.of;
  for (std::size_t f = 0; f < state.frontier.size(); ++f) {
    const std::uint64_t bit = std::uint64_t{1} << f;
    if (state.in_call & bit) {
      times[f] = 0;
      if (waited & bit) label.least = std::max(label.least, label.end + state.tails[f]);
      continue;
    }
    if (!(waited & bit)) {
      times[f] = 0;
      continue;
    }
    label.least = std::max(label.least, times[f] + state.tails[f]);
    if (times[f] > start)
      late = true;
    else if (state.only_call & bit)
      times[f] = 0;
  }
  if (!late) label.duration = -kInfinity;
  const auto pool = static_cast<std::size_t>(state.pool);
  const double bytes = label.bytes + (state.entry_call ? limits_.entry_bytes_least : 0);
  for (const CallOnward& next : state.onward) {
    const double inside =
        items_.onPool(next.item, pool) + facts_.inCall(next.item, pool, bytes + items_.bytes[next.item]);
    label.least = std::max(label.least, label.end + std::min(next.apart, inside));
  }
}

// Bytes do not matter where all that is still to come fits with them.
void CallLabels::dropBytes(const CallState& state, CallLabel& label) const {
  double all = label.bytes + state.bytes_left + (state.entry_call ? limits_.entry_bytes_most : 0);
  for (const double bytes : label.held) all += bytes;
  if (all > least_memory_) return;
  label.bytes = 0;
  label.held.fill(0);
}

CallLabels::Least CallLabels::leastExits(const CallState& state, const CallLabel& label,
                                         std::span<const double> times) const {
  if (state.has_last) return {label.least, label.least};
  // The last item waits for everything, so a call that takes it starts after all that is done elsewhere.
  double ready = state.pool >= 0 ? label.end : 0;
  if (state.pool < 0) {
    for (std::size_t f = 0; f < state.frontier.size(); ++f) ready = std::max(ready, times[f]);
  }
  const double in_call = std::max(label.least, ready + state.last_take);
  if (state.pool < 0) return {in_call, label.least};
  const double on_cpu = ready + state.last_send + items_.cpu[hi_ - 1];
  return {in_call, std::max(label.least, std::min(in_call + last_out_, on_cpu))};
}

// No exit of it is below the limits, or all are beaten by exits that are known.
bool CallLabels::isUseless(const CallState& state, const CallLabel& label,
                           std::span<const double> times) const {
  const Least least = leastExits(state, label, times);
  const std::uint32_t used = usedInAll(label.used);
  if (least.closed >= limitOf(limits_.closed, used) &&
      least.open >= limitOf(limits_.open, used + (state.pool < 0 ? 1 : 0)))
    return true;
  return !state.entry_call && known_.any() && least.closed >= known_.closedLimit(label.used) &&
         least.open >= known_.openLimit(label.used, state.pool >= 0);
}

bool CallLabels::beats(const CallLabel& a, const double* times_a, const CallLabel& b, const double* times_b,
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

bool CallLabels::offer(CallLayer& layer, std::uint32_t state_number, CallLabel label, std::span<double> times,
                       const CallStep& step, std::vector<CallStep>& steps) {
  CallState& state = layer.states[state_number];
  if (!state.ready) return false;
  normalise(state, label, times);
  if (isUseless(state, label, times)) return true;
  const std::size_t n = state.frontier.size();
  std::vector<CallLabel>& kept = state.labels;
  const auto from = [&](double time_least) {
    return std::lower_bound(kept.begin(), kept.end(), time_least,
                            [](const CallLabel& other, double time) { return other.least < time; });
  };
  // Only labels that are no later can beat this one, and only those no earlier can be beaten.
  for (auto other = kept.begin(); other != kept.end() && other->least <= label.least + equal_; ++other) {
    if (beats(*other, &layer.times[other->times], label, times.data(), n)) return true;
  }
  kept.erase(std::remove_if(from(label.least - equal_), kept.end(),
                            [&](const CallLabel& other) {
                              return beats(label, times.data(), other, &layer.times[other.times], n);
                            }),
             kept.end());
  label.step = static_cast<std::uint32_t>(steps.size());
  steps.push_back(step);
  label.times = static_cast<std::uint32_t>(layer.times.size());
  layer.times.insert(layer.times.end(), times.begin(), times.begin() + static_cast<std::ptrdiff_t>(n));
  kept.insert(from(label.least), label);
  ++made_;
  return true;
}

}  // namespace allot
