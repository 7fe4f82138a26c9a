#include "solve/latency/calls_module.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <tuple>

namespace allot {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::size_t kMostFrontier = 64;
constexpr std::size_t kLabelBytes = 160;  // what a label takes, with its share of everything

struct Label {
  double least = 0;        // no exit of this label is earlier
  double end = 0;          // open call: its end if it closed now, sends not counted
  double duration = 0;     // open call: -infinity where its inputs cannot come too late any more
  double bytes = 0;        // open call
  double entry_bytes = 0;  // what the entry's call took here before it closed
  std::uint64_t used = 0;
  std::uint32_t step = UINT32_MAX;
  std::uint32_t times = 0;  // offset into the layer's times
};

// A remaining item that waits for frontier item `of`, and all frontier items that it waits for.
struct Waiter {
  std::uint32_t of;
  std::uint64_t on;
};

struct State {
  std::uint32_t key = 0;
  std::int32_t pool = -1;
  bool entry_call = false;              // the open call is that of the entry
  bool ready = false;                   // the fields below are filled
  double bytes_left = 0;                // of items outside the ideal
  std::vector<std::uint32_t> frontier;  // items; entry 0 stands for everything before the module
  std::uint64_t in_call = 0;            // frontier items of the open call
  std::uint64_t only_call = 0;          // frontier items whose waiters all wait for the open call too
  std::vector<double> tails;            // by frontier item
  std::vector<Waiter> waiters;
  // The module's last item, while it is not in the ideal: what a call that takes it must still spend at
  // least, and what the open call must spend on sending to it otherwise.
  double last_take = 0, last_send = 0;
  bool has_last = false;
  std::vector<Label> labels;  // by rising `least`
};

// States of one size of ideal.
struct Layer {
  std::vector<std::uint64_t> keys;
  std::vector<State> states;
  std::vector<std::uint32_t> slots;
  std::vector<double> times;

  void clear() {
    keys.clear();
    states.clear();
    slots.clear();
    times.clear();
  }
};

class ModuleRun {
 public:
  ModuleRun(const CallGraphFacts& facts, std::size_t module, std::span<const std::uint32_t> pool_counts,
            bool ties_by_call, const ModuleLimits& limits, const Budget& budget)
      : facts_(facts),
        items_(facts.items),
        lo_(facts.cuts[module]),
        hi_(facts.cuts[module + 1]),
        ties_by_call_(ties_by_call),
        limits_(limits),
        budget_(budget),
        pool_counts_(pool_counts) {
    for (std::size_t p = 0; p < pool_counts.size(); ++p)
      most_used_ |= std::uint64_t{pool_counts[p]} << (8 * p);
    indexNets();
    double whole = 0;
    for (std::uint32_t i = lo_; i < hi_; ++i) {
      double largest = items_.cpu[i] < kInfinity ? items_.cpu[i] : 0;
      for (std::size_t p = 0; p < items_.poolCount(); ++p) {
        if (items_.onPool(i, p) < kInfinity) largest = std::max(largest, items_.onPool(i, p));
      }
      whole += largest;
    }
    for (const std::uint32_t net : nets_) {
      for (std::size_t p = 0; p < items_.poolCount(); ++p) {
        const double both = items_.in(net, p) + items_.out(net, p);
        if (both < kInfinity) whole += both;
      }
    }
    equal_ = std::max(1e-13 * whole, 1e-30);
    for (std::uint32_t i = lo_; i + 1 < hi_; ++i)
      last_is_last_ = last_is_last_ && facts.isAncestor(i, hi_ - 1);
    for (const std::uint32_t net : items_.item_outputs[hi_ - 1]) {
      double send = items_.net_consumers[net].empty() ? 0 : kInfinity;
      for (std::size_t p = 0; p < items_.poolCount(); ++p) send = std::min(send, items_.out(net, p));
      // Tails may have had it sent before.
      if (items_.tail_bytes[net] <= 0) last_out_ += send;
    }
  }

  ModuleExits run(const CallCut& entry) {
    findKnownExits(entry);
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
  bool ties_by_call_;
  const ModuleLimits& limits_;
  const Budget& budget_;
  std::span<const std::uint32_t> pool_counts_;
  std::uint64_t most_used_ = 0;
  std::vector<std::uint32_t> nets_;              // nets with an end in the module or across it
  std::vector<std::uint32_t> net_index_;         // by net
  std::vector<std::uint32_t> ties_, tie_index_;  // units of several items that touch the module
  std::size_t ideal_words_ = 0, net_words_ = 0, tie_words_ = 0, key_words_ = 0;
  double equal_ = 0;
  struct Known {
    std::uint64_t used;
    double time;
  };
  std::vector<Known> known_closed_;             // exits
  std::vector<std::vector<Known>> known_open_;  // by pool: exits with nothing but the last item in the call
  std::vector<std::uint8_t> opens_last_;        // by pool: a call may be open at the exit
  bool last_is_last_ = true;                    // every other item comes before the module's last
  double last_out_ = 0;                         // of the module's last item, on the best pool
  Layer layer_, next_;
  ModuleExits out_;
  std::uint64_t made_ = 0;
  std::uint64_t polled_ = 0;
  bool trimmed_ = false;
  std::vector<std::uint64_t> key_;
  std::vector<double> time_;
  std::vector<double> raised_;
  std::vector<double> take_;  // scratch: by item, what taking it into a call costs at least

  void indexNets() {
    net_index_.assign(items_.netCount(), CallItems::kNone);
    for (std::uint32_t net = 0; net < items_.netCount(); ++net) {
      const auto consumers = items_.net_consumers[net];
      if (items_.net_producer[net] >= hi_ || consumers.empty() || consumers.back() < lo_) continue;
      net_index_[net] = static_cast<std::uint32_t>(nets_.size());
      nets_.push_back(net);
    }
    tie_index_.assign(items_.tie_count, CallItems::kNone);
    for (std::uint32_t t = 0; t < items_.tie_count; ++t) {
      const auto row = items_.tie_items[t];
      if (row.front() >= hi_ || row.back() < lo_) continue;
      tie_index_[t] = static_cast<std::uint32_t>(ties_.size());
      ties_.push_back(t);
    }
    ideal_words_ = (hi_ - lo_ + 63) / 64;
    net_words_ = (nets_.size() * 2 + 63) / 64;
    tie_words_ = (ties_.size() + 63) / 64;
    key_words_ = 1 + ideal_words_ + net_words_ + tie_words_;
    key_.resize(key_words_);
  }

  // Parts of a key.
  bool holds(const std::uint64_t* key, std::uint32_t item) const {
    if (item < lo_) return true;
    if (item >= hi_) return false;
    return (key[1 + (item - lo_) / 64] >> ((item - lo_) % 64)) & 1;
  }
  void hold(std::uint64_t* key, std::uint32_t item) const {
    key[1 + (item - lo_) / 64] |= std::uint64_t{1} << ((item - lo_) % 64);
  }
  CallNetState netState(const std::uint64_t* key, std::uint32_t net) const {
    const std::uint32_t i = net_index_[net];
    return static_cast<CallNetState>((key[1 + ideal_words_ + i / 32] >> (i % 32 * 2)) & 3);
  }
  void setNet(std::uint64_t* key, std::uint32_t net, CallNetState state) const {
    const std::uint32_t i = net_index_[net];
    std::uint64_t& word = key[1 + ideal_words_ + i / 32];
    word = (word & ~(std::uint64_t{3} << (i % 32 * 2))) | (std::uint64_t{state} << (i % 32 * 2));
  }
  bool bound(const std::uint64_t* key, std::uint32_t tie) const {
    const std::uint32_t i = tie_index_[tie];
    return (key[1 + ideal_words_ + net_words_ + i / 64] >> (i % 64)) & 1;
  }
  void setBound(std::uint64_t* key, std::uint32_t tie, bool value) const {
    const std::uint32_t i = tie_index_[tie];
    std::uint64_t& word = key[1 + ideal_words_ + net_words_ + i / 64];
    word = (word & ~(std::uint64_t{1} << (i % 64))) | (std::uint64_t{value} << (i % 64));
  }
  static void setMode(std::uint64_t* key, std::int32_t pool, bool entry_call) {
    key[0] = static_cast<std::uint64_t>(pool + 1) * 2 + (entry_call ? 1 : 0);
  }
  bool isLive(const std::uint64_t* key, std::uint32_t net) const {
    const auto consumers = items_.net_consumers[net];
    return std::any_of(consumers.begin(), consumers.end(), [&](std::uint32_t c) { return !holds(key, c); });
  }
  bool anyHeld(const std::uint64_t* key, std::uint32_t tie) const {
    const auto row = items_.tie_items[tie];
    return std::any_of(row.begin(), row.end(), [&](std::uint32_t i) { return holds(key, i); });
  }
  bool allHeld(const std::uint64_t* key, std::uint32_t tie) const {
    const auto row = items_.tie_items[tie];
    return std::all_of(row.begin(), row.end(), [&](std::uint32_t i) { return holds(key, i); });
  }

  static std::uint64_t hashOf(const std::uint64_t* key, std::size_t words) {
    std::uint64_t h = 0x9E3779B97F4A7C15ull;
    for (std::size_t w = 0; w < words; ++w) {
      h = (h ^ key[w]) * 0xD6E8FEB86659FD93ull;
      h ^= h >> 29;
    }
    return h * 0xBF58476D1CE4E5B9ull;
  }

  std::uint32_t stateOf(Layer& layer, const std::uint64_t* key) {
    if (layer.slots.size() < 2 * (layer.states.size() + 1)) {
      layer.slots.assign(std::max<std::size_t>(64, layer.slots.size() * 4), UINT32_MAX);
      const std::size_t mask = layer.slots.size() - 1;
      for (std::uint32_t s = 0; s < layer.states.size(); ++s) {
        std::size_t at = hashOf(&layer.keys[layer.states[s].key], key_words_) & mask;
        while (layer.slots[at] != UINT32_MAX) at = (at + 1) & mask;
        layer.slots[at] = s;
      }
    }
    const std::size_t mask = layer.slots.size() - 1;
    std::size_t at = hashOf(key, key_words_) & mask;
    for (; layer.slots[at] != UINT32_MAX; at = (at + 1) & mask) {
      const State& state = layer.states[layer.slots[at]];
      if (std::equal(key, key + key_words_, &layer.keys[state.key])) return layer.slots[at];
    }
    const auto number = static_cast<std::uint32_t>(layer.states.size());
    layer.slots[at] = number;
    State state;
    state.key = static_cast<std::uint32_t>(layer.keys.size());
    state.pool = static_cast<std::int32_t>(key[0] / 2) - 1;
    state.entry_call = (key[0] & 1) != 0;
    layer.keys.insert(layer.keys.end(), key, key + key_words_);
    layer.states.push_back(std::move(state));
    describe(layer.states.back(), key);
    return number;
  }

  // Whether the item waits for something before the module.
  bool waitsForEntry(std::uint32_t item) const {
    const auto before = items_.before[item];
    return before.empty() || before.front() < lo_;
  }

  void describe(State& state, const std::uint64_t* key) {
    state.bytes_left = facts_.bytes_from[lo_];
    state.frontier = {CallItems::kNone};
    std::vector<std::uint32_t> remaining;
    for (std::uint32_t i = lo_; i < hi_; ++i) {
      if (!holds(key, i)) {
        remaining.push_back(i);
        continue;
      }
      state.bytes_left -= items_.bytes[i];
      for (const std::uint32_t net : items_.item_outputs[i]) state.bytes_left -= items_.tail_bytes[net];
      const auto after = items_.after[i];
      if (std::any_of(after.begin(), after.end(), [&](std::uint32_t c) { return c < hi_ && !holds(key, c); }))
        state.frontier.push_back(i);
    }
    if (state.frontier.size() > kMostFrontier) return;
    state.ready = true;
    if (state.entry_call) state.in_call |= 1;
    // Remaining items that wait for a frontier item directly.
    std::vector<std::pair<std::uint32_t, std::uint32_t>> direct;  // (frontier index, item)
    state.tails.assign(state.frontier.size(), 0);
    for (const std::uint32_t v : remaining) {
      if (!waitsForEntry(v)) continue;
      direct.emplace_back(0, v);
      double least = items_.cpu[v] + facts_.tail_cpu[v];
      for (std::size_t p = 0; p < items_.poolCount(); ++p)
        least = std::min(least, items_.onPool(v, p) + facts_.tail_call[v]);
      state.tails[0] = std::max(state.tails[0], least);
    }
    for (std::uint32_t f = 1; f < state.frontier.size(); ++f) {
      const std::uint32_t u = state.frontier[f];
      for (const std::uint32_t net : items_.item_outputs[u]) {
        const CallNetState held = net_index_[net] == CallItems::kNone ? kOutside : netState(key, net);
        if (held == kMade || held == kSent) state.in_call |= std::uint64_t{1} << f;
        for (const std::uint32_t c : items_.net_consumers[net]) {
          if (c >= hi_ || holds(key, c)) continue;
          direct.emplace_back(f, c);
          const bool here = held == kMade || held == kSent;
          state.tails[f] = std::max(state.tails[f], facts_.least(net, c, here, here ? state.pool : -1,
                                                                 held == kSent || held == kFetched));
        }
      }
    }
    describeLast(state, key);
    std::sort(direct.begin(), direct.end());
    direct.erase(std::unique(direct.begin(), direct.end()), direct.end());
    state.only_call = state.pool >= 0 ? ~std::uint64_t{0} : 0;
    for (const auto& [of, v] : direct) {
      Waiter waiter{of, 1};
      for (const auto& [f, z] : direct) {
        if (z == v || facts_.isAncestor(z, v)) waiter.on |= std::uint64_t{1} << f;
      }
      if ((waiter.on & state.in_call) == 0) state.only_call &= ~(std::uint64_t{1} << of);
      state.waiters.push_back(waiter);
    }
  }

  // What a call that takes the module's last item must still spend at least: each net that it reads is
  // fetched, or its producer runs in the call too, with all that this one reads. What several items read is
  // shared between them.
  void describeLast(State& state, const std::uint64_t* key) {
    const std::uint32_t last = hi_ - 1;
    state.has_last = holds(key, last) || !last_is_last_;
    if (state.has_last) return;
    const auto cheapest = [&](std::uint32_t net, bool fetch) {
      double best = kInfinity;
      for (std::size_t p = 0; p < items_.poolCount(); ++p) {
        if (state.pool < 0 || p == static_cast<std::size_t>(state.pool))
          best = std::min(best, fetch ? items_.in(net, p) : items_.out(net, p));
      }
      return best;
    };
    take_.assign(hi_ - lo_, 0);
    for (std::uint32_t i = lo_; i < hi_; ++i) {
      if (holds(key, i)) continue;
      double& take = take_[i - lo_];
      take = kInfinity;
      for (std::size_t p = 0; p < items_.poolCount(); ++p) take = std::min(take, items_.onPool(i, p));
      for (const std::uint32_t net : items_.item_inputs[i]) {
        if (netState(key, net) != kOutside) continue;
        const std::uint32_t from = items_.net_producer[net];
        const double readers = static_cast<double>(items_.net_consumers[net].size());
        double share = cheapest(net, true) / readers;
        if (from >= lo_ && !holds(key, from))
          share = std::min(share, take_[from - lo_] / static_cast<double>(items_.after[from].size()));
        take += share;
      }
    }
    state.last_take = take_[last - lo_];
    for (const std::uint32_t net : items_.item_inputs[last]) {
      const std::uint32_t from = items_.net_producer[net];
      if (from >= lo_ && holds(key, from) && netState(key, net) == kMade)
        state.last_send += cheapest(net, false);
    }
  }

  // Least exit times with a call open there, and with none.
  struct Least {
    double open, closed;
  };
  Least leastExits(const State& state, const Label& label) const {
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

  std::int32_t indexIn(const State& state, std::uint32_t item) const {
    const auto at = std::lower_bound(state.frontier.begin() + 1, state.frontier.end(), item);
    return at != state.frontier.end() && *at == item ? static_cast<std::int32_t>(at - state.frontier.begin())
                                                     : -1;
  }

  // Brings times to the form that stands for all labels with the same future. `time_` is by frontier item.
  void normalise(const State& state, Label& label) {
    const std::size_t n = state.frontier.size();
    if (state.pool < 0) {
      raised_.assign(n, kInfinity);
      for (const Waiter& waiter : state.waiters) {
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
      return;
    }
    const double start = label.duration == -kInfinity ? kInfinity : label.end - label.duration;
    label.least = std::max(label.least, label.end);
    bool late = false;
    std::uint64_t waited = 0;
    for (const Waiter& waiter : state.waiters) waited |= std::uint64_t{1} << waiter.of;
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
    const double most = state.entry_call ? limits_.entry_bytes_most : 0;
    const double room = items_.pools[static_cast<std::size_t>(state.pool)].memory;
    if (most + label.bytes + state.bytes_left <= room) label.bytes = 0;
  }

  bool beats(const Label& a, const double* times_a, const Label& b, const double* times_b,
             std::size_t n) const {
    if (!usesNoMore(a.used, b.used) || a.least > b.least + equal_ || a.end > b.end + equal_ ||
        a.duration > b.duration + equal_ || a.bytes > b.bytes || a.entry_bytes > b.entry_bytes)
      return false;
    for (std::size_t f = 0; f < n; ++f) {
      if (times_a[f] > times_b[f] + equal_) return false;
    }
    return true;
  }

  // Keeps the label (with `time_`) unless it is of no use.
  bool offer(Layer& layer, std::uint32_t state_number, Label label, const CallStep& step) {
    State& state = layer.states[state_number];
    if (!state.ready) return false;
    normalise(state, label);
    const Least least = leastExits(state, label);
    const std::uint32_t used = usedInAll(label.used);
    if (least.closed >= limitOf(limits_.closed, used) &&
        least.open >= limitOf(limits_.open, used + (state.pool < 0 ? 1 : 0)))
      return true;
    if (!state.entry_call && !known_closed_.empty()) {
      if (least.closed >= closedLimit(label.used) && least.open >= openLimit(label.used, state.pool >= 0))
        return true;
    }
    const std::size_t n = state.frontier.size();
    std::vector<Label>& kept = state.labels;
    const auto from = [&](double time_least) {
      return std::lower_bound(kept.begin(), kept.end(), time_least,
                              [](const Label& other, double time) { return other.least < time; });
    };
    // Only labels that are no later can beat this one, and only those no earlier can be beaten.
    for (auto other = kept.begin(); other != kept.end() && other->least <= label.least + equal_; ++other) {
      if (beats(*other, &layer.times[other->times], label, time_.data(), n)) return true;
    }
    kept.erase(std::remove_if(from(label.least - equal_), kept.end(),
                              [&](const Label& other) {
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
    setMode(key_.data(), entry.pool, entry.pool >= 0);
    for (const auto& [net, state] : entry.nets) setNet(key_.data(), net, static_cast<CallNetState>(state));
    for (const std::uint32_t tie : entry.ties) setBound(key_.data(), tie, true);
    const std::uint32_t state = stateOf(layer_, key_.data());
    time_.assign(kMostFrontier, 0);
    Label label;
    if (entry.pool >= 0) label.duration = -kInfinity;
    offer(layer_, state, label, {UINT32_MAX, 0, CallStep::kCpu, 0, 0});
  }

  // Exits that are known to exist: what the cpu alone reaches, at the exit or before its last item and then a
  // call for that one, and those that a run with a beam has found.
  void findKnownExits(const CallCut& entry) {
    const std::size_t pools = items_.poolCount();
    const std::uint32_t last = hi_ - 1;
    known_open_.resize(pools);
    opens_last_.assign(pools, 0);
    double close = 0;
    for (const auto& [net, state] : entry.nets) {
      if (state == kMade) close += items_.out(net, static_cast<std::size_t>(entry.pool));
    }
    bool tied = !entry.ties.empty(), tails = false;
    std::vector<double> last_call(pools, 0);
    std::vector<double> end(hi_ - lo_, 0);
    double last_start = 0, latest = 0;
    for (std::uint32_t i = lo_; i < hi_; ++i) {
      tied = tied || items_.tie[i] != CallItems::kNone;
      double ready = close;
      for (const std::uint32_t b : items_.before[i]) {
        if (b >= lo_) ready = std::max(ready, end[b - lo_]);
      }
      end[i - lo_] = ready + items_.cpu[i];
      latest = std::max(latest, end[i - lo_]);
      last_start = ready;
    }
    for (const std::uint32_t tie : ties_) tied = tied || items_.tie_items[tie].back() >= hi_;
    // Units bound across items make exits differ in more than is compared here.
    if (tied) return;
    known_closed_.push_back({0, latest});
    if (hi_ < items_.itemCount()) {
      for (std::size_t p = 0; p < pools; ++p) {
        opens_last_[p] = items_.onPool(last, p) < kInfinity && pool_counts_[p] > 0;
        double call = items_.onPool(last, p);
        for (const std::uint32_t net : items_.item_inputs[last]) call += items_.in(net, p);
        for (const std::uint32_t net : items_.item_outputs[last]) {
          if (items_.tail_bytes[net] <= 0) continue;
          tails = true;
          call += items_.out(net, p);
        }
        last_call[p] = call;
        known_open_[p].push_back({std::uint64_t{1} << (8 * p), last_start + call + fetchAll(p)});
      }
    }
    if (limits_.known == nullptr) return;
    for (const CallExit& exit : limits_.known->exits) {
      const CallCut& cut = limits_.known->cuts[exit.cut];
      if (exit.goes_on || exit.entry_bytes > 0) continue;
      const CallStep& step = limits_.known->steps[exit.step];
      if (cut.pool < 0) {
        known_closed_.push_back({exit.used, exit.time});
        if (tails || step.kind != CallStep::kCpu || step.item != last) continue;
        // The same, but the last item in a call of its own.
        for (std::size_t p = 0; p < pools; ++p) {
          if (opens_last_[p])
            known_open_[p].push_back({exit.used + (std::uint64_t{1} << (8 * p)),
                                      exit.time - items_.cpu[last] + last_call[p] + fetchAll(p)});
        }
      } else if (!tails && step.kind == CallStep::kOpen && step.item == last)
        known_open_[static_cast<std::size_t>(cut.pool)].push_back(
            {exit.used, exit.time + fetchAll(static_cast<std::size_t>(cut.pool))});
    }
  }

  // Whatever another label has fetched or made of the nets across the exit, besides those of the last item,
  // could be fetched for this.
  double fetchAll(std::size_t pool) const {
    double all = 0;
    for (const std::uint32_t net : nets_) {
      if (items_.net_producer[net] != hi_ - 1 && items_.net_consumers[net].back() >= hi_)
        all += items_.in(net, pool);
    }
    return all;
  }

  static double limitOf(const std::vector<double>& limits, std::uint32_t used) {
    return limits[std::min<std::size_t>(used, limits.size() - 1)];
  }
  static double earliest(const std::vector<Known>& known, std::uint64_t most) {
    double time = kInfinity;
    for (const Known& exit : known) {
      if (usesNoMore(exit.used, most)) time = std::min(time, exit.time);
    }
    return time;
  }
  // A label that leaves the module closed and no earlier than this is beaten by a known exit.
  double closedLimit(std::uint64_t used) const { return earliest(known_closed_, used) + 2 * equal_; }
  // The same with an open call: the one that is open now, or one that has yet to be opened.
  double openLimit(std::uint64_t used, bool is_open) const {
    double limit = -kInfinity;
    for (std::size_t p = 0; p < known_open_.size(); ++p) {
      const std::uint64_t most = is_open ? used : used + (std::uint64_t{1} << (8 * p));
      if (opens_last_[p] && usesNoMore(most, most_used_))
        limit = std::max(limit, earliest(known_open_[p], most));
    }
    return limit + 2 * equal_;
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
      const State& state = layer_.states[s];
      for (std::uint32_t l = 0; l < state.labels.size(); ++l) {
        const Label& label = state.labels[l];
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
      std::vector<Label> kept;
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
      if (holds(key, v)) continue;
      const auto before = items_.before[v];
      if (!std::all_of(before.begin(), before.end(), [&](std::uint32_t b) { return holds(key, b); }))
        continue;
      if (!visit(v)) return false;
    }
    return true;
  }

  // Drops what no longer matters once `item` is in the ideal.
  void settle(std::uint64_t* key, std::uint32_t item) const {
    for (const std::uint32_t net : items_.item_inputs[item]) {
      if (!isLive(key, net)) setNet(key, net, kOutside);
    }
    const std::uint32_t tie = items_.tie[item];
    if (tie != CallItems::kNone && allHeld(key, tie)) setBound(key, tie, false);
  }

  // Times of `from` laid out for `to`; items new in the frontier get `fresh`.
  void moveTimes(const State& from, const double* times, const State& to, double fresh) {
    std::size_t at = 1;
    time_[0] = times[0];
    for (std::size_t f = 1; f < to.frontier.size(); ++f) {
      while (at < from.frontier.size() && from.frontier[at] < to.frontier[f]) ++at;
      const bool known = at < from.frontier.size() && from.frontier[at] == to.frontier[f];
      time_[f] = known ? times[at] : fresh;
    }
  }

  double readyTime(const State& state, const double* times, std::uint32_t item) const {
    double ready = waitsForEntry(item) && !(state.in_call & 1) ? times[0] : 0;
    for (const std::uint32_t b : items_.before[item]) {
      if (b < lo_) continue;
      const std::int32_t f = indexIn(state, b);
      if (!((state.in_call >> f) & 1)) ready = std::max(ready, times[f]);
    }
    return ready;
  }

  bool close(std::uint32_t s) {
    key_.assign(&layer_.keys[layer_.states[s].key], &layer_.keys[layer_.states[s].key] + key_words_);
    const auto pool = static_cast<std::size_t>(layer_.states[s].pool);
    double sends = 0;
    for (const std::uint32_t net : nets_) {
      const CallNetState held = netState(key_.data(), net);
      if (held == kMade) sends += items_.out(net, pool);
      setNet(key_.data(), net, kOutside);
    }
    if (ties_by_call_) {
      for (const std::uint32_t tie : ties_) {
        if (bound(key_.data(), tie)) return true;  // the unit must end in this call
      }
    }
    if (sends == kInfinity) return true;
    setMode(key_.data(), -1, false);
    const std::vector<Label> labels = layer_.states[s].labels;
    if (labels.empty()) return true;
    const std::uint32_t to = stateOf(layer_, key_.data());
    for (Label label : labels) {
      if (!goOn()) return false;
      const State& from = layer_.states[s];
      moveTimes(from, &layer_.times[label.times], layer_.states[to], 0);
      label.end += sends;
      for (std::size_t f = 0; f < from.frontier.size(); ++f) {
        if ((from.in_call >> f) & 1) time_[f] = label.end;
      }
      label.least = std::max(label.least, label.end);
      if (from.entry_call) label.entry_bytes = label.bytes;
      if (!offer(layer_, to, label, {label.step, 0, CallStep::kClose, static_cast<std::uint8_t>(pool), 0}))
        return false;
    }
    return true;
  }

  bool expandClosed(std::uint32_t s) {
    if (layer_.states[s].labels.empty()) return true;
    const std::vector<std::uint64_t> key(&layer_.keys[layer_.states[s].key],
                                         &layer_.keys[layer_.states[s].key] + key_words_);
    return forEachCandidate(key.data(), [&](std::uint32_t v) {
      const std::uint32_t tie = items_.tie[v];
      const bool begun = tie != CallItems::kNone && anyHeld(key.data(), tie);
      const bool accelerated = begun && bound(key.data(), tie);
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
                                         &layer_.keys[layer_.states[s].key] + key_words_);
    const auto pool = static_cast<std::size_t>(layer_.states[s].pool);
    return forEachCandidate(key.data(), [&](std::uint32_t v) {
      const std::uint32_t tie = items_.tie[v];
      if (tie != CallItems::kNone && anyHeld(key.data(), tie) && !bound(key.data(), tie)) return true;
      return items_.onPool(v, pool) == kInfinity || intoCall(s, key, v, pool);
    });
  }

  bool toCpu(std::uint32_t s, const std::vector<std::uint64_t>& key, std::uint32_t v) {
    key_ = key;
    hold(key_.data(), v);
    settle(key_.data(), v);
    const std::uint32_t to = stateOf(next_, key_.data());
    const State& from = layer_.states[s];
    for (Label label : from.labels) {
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
    hold(key_.data(), v);
    setMode(key_.data(), static_cast<std::int32_t>(pool), entry_call);
    double add = items_.onPool(v, pool), bytes = items_.bytes[v];
    for (const std::uint32_t net : items_.item_inputs[v]) {
      if (netState(key_.data(), net) != kOutside) continue;
      add += items_.in(net, pool);
      setNet(key_.data(), net, kFetched);
    }
    for (const std::uint32_t net : items_.item_outputs[v]) {
      if (net_index_[net] != CallItems::kNone) setNet(key_.data(), net, kMade);
    }
    for (std::size_t i = 0; i < with_tails.size(); ++i) {
      const std::uint32_t net = with_tails[i];
      if ((sent >> i) & 1) {
        add += items_.out(net, pool);
        if (net_index_[net] != CallItems::kNone) setNet(key_.data(), net, kSent);
      } else {
        bytes += items_.tail_bytes[net];
      }
    }
    if (add == kInfinity) return true;
    if (items_.tie[v] != CallItems::kNone) setBound(key_.data(), items_.tie[v], true);
    settle(key_.data(), v);
    const double room = items_.pools[pool].memory - (entry_call ? limits_.entry_bytes_least : 0);
    const std::uint32_t to = stateOf(next_, key_.data());
    const State& from = layer_.states[s];
    for (Label label : from.labels) {
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
      if (label.bytes > room) continue;
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
    for (const State& state : layer_.states) {
      if (state.labels.empty() || (state.pool >= 0 && hi_ == items_.itemCount())) continue;
      const std::uint64_t* key = &layer_.keys[state.key];
      CallCut cut;
      cut.pool = state.pool;
      for (const std::uint32_t net : nets_) {
        const CallNetState held = netState(key, net);
        if (held != kOutside) cut.nets.emplace_back(net, held);
      }
      for (const std::uint32_t tie : ties_) {
        if (bound(key, tie)) cut.ties.push_back(tie);
      }
      const auto number = static_cast<std::uint32_t>(out_.cuts.size());
      out_.cuts.push_back(std::move(cut));
      for (const Label& label : state.labels) {
        out_.exits.push_back({number, state.entry_call, state.pool >= 0 ? label.end : label.least,
                              label.bytes, label.entry_bytes, label.used, label.step});
      }
    }
  }
};

}  // namespace

ModuleExits runModule(const CallGraphFacts& facts, std::size_t module, const CallCut& entry,
                      std::span<const std::uint32_t> pool_counts, bool ties_by_call,
                      const ModuleLimits& limits, const Budget& budget) {
  return ModuleRun(facts, module, pool_counts, ties_by_call, limits, budget).run(entry);
}

}  // namespace allot
