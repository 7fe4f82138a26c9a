#include "solve/latency/calls_module.h"

#include <algorithm>
#include <limits>
#include <tuple>

#include "solve/latency/calls_labels.h"

namespace allot {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::size_t kLabelBytes = 160;      // what a label takes, with its share of everything
constexpr std::uint64_t kPollItems = 20'000;  // looked at between two looks at the clock

class ModuleRun {
 public:
  ModuleRun(const CallGraphFacts& facts, std::size_t module, std::span<const std::uint32_t> pool_counts,
            std::uint32_t calls_each, const ModuleLimits& limits, const Budget& budget)
      : items_(facts.items),
        lo_(facts.cuts[module]),
        hi_(facts.cuts[module + 1]),
        calls_each_(calls_each),
        limits_(limits),
        budget_(budget),
        keys_(items_, lo_, hi_),
        labels_(facts, keys_, lo_, hi_, pool_counts, limits),
        key_(keys_.words) {
    for (std::size_t p = 0; p < pool_counts.size(); ++p)
      most_used_ |= std::uint64_t{pool_counts[p]} << (8 * p);
  }

  ModuleExits run(const CallCut& entry) {
    labels_.enter(entry);
    start(entry);
    bool whole = true;
    for (std::uint32_t size = 0; size < hi_ - lo_ && whole; ++size) {
      whole = trim() && expand();
      std::swap(layer_, next_);
      next_.clear();
    }
    if (whole) leave();
    out_.complete = whole && !trimmed_;
    out_.labels = labels_.made();
    return std::move(out_);
  }

 private:
  const CallItems& items_;
  std::uint32_t lo_, hi_;
  std::uint32_t calls_each_;
  const ModuleLimits& limits_;
  const Budget& budget_;
  CallKeys keys_;
  CallLabels labels_;
  std::uint64_t most_used_ = 0;
  CallLayer layer_, next_;
  ModuleExits out_;
  std::uint64_t polled_ = 0;
  bool trimmed_ = false;
  std::vector<std::uint64_t> key_;
  std::vector<double> time_;  // of the label to be offered, by frontier item

  std::int32_t indexIn(const CallState& state, std::uint32_t item) const {
    const auto at = std::lower_bound(state.frontier.begin() + 1, state.frontier.end(), item);
    return at != state.frontier.end() && *at == item ? static_cast<std::int32_t>(at - state.frontier.begin())
                                                     : -1;
  }

  bool offer(CallLayer& layer, std::uint32_t state, const CallLabel& label, const CallStep& step) {
    return labels_.offer(layer, state, label, time_, step, out_.steps);
  }

  bool goOn() {
    // A label costs as much as the module has items.
    if ((polled_ += hi_ - lo_) >= kPollItems) {
      polled_ = 0;
      if (budget_.stopped()) return false;
    }
    if (limits_.most_labels > 0 && labels_.made() > limits_.most_labels) return false;
    return labels_.made() * kLabelBytes < budget_.memory_bytes;
  }

  void start(const CallCut& entry) {
    layer_.clear();
    std::fill(key_.begin(), key_.end(), 0);
    keys_.setMode(key_.data(), entry.pool, entry.pool >= 0, entry.pool >= 0 ? 1 : 0);
    for (const auto& [net, state] : entry.nets)
      keys_.setNet(key_.data(), net, static_cast<CallNetState>(state));
    const std::uint32_t state = labels_.stateOf(layer_, key_.data());
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
    double ready = labels_.waitsForEntry(item) && !(state.in_call & 1) ? times[0] : 0;
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
    const auto group = keys_.putAside(key_.data(), calls_each_);
    if (!group) return true;
    const auto was = keys_.arrangeGroups(key_.data());
    if (sends == kInfinity) return true;
    keys_.setMode(key_.data(), -1, false, 0);
    const std::vector<CallLabel> labels = layer_.states[s].labels;
    if (labels.empty()) return true;
    const std::uint32_t to = labels_.stateOf(layer_, key_.data());
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
      if (*group < kMostCallGroups)
        label.held[*group] = label.bytes + (from.entry_call ? limits_.entry_bytes_least : 0);
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
    const std::uint32_t to = labels_.stateOf(next_, key_.data());
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
    const auto joins = keys_.takeUp(key_.data(), items_.tie[v], pool, calls, calls_each_);
    if (!joins) return true;
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
    const std::uint32_t to = labels_.stateOf(next_, key_.data());
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
      if (*joins < kMostCallGroups) label.bytes += label.held[*joins];
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
