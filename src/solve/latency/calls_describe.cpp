#include "solve/latency/calls_describe.h"

#include <algorithm>
#include <limits>

namespace allot {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace

CallDescriber::CallDescriber(const CallGraphFacts& facts, const CallKeys& keys, std::uint32_t lo,
                             std::uint32_t hi)
    : facts_(facts), items_(facts.items), keys_(keys), lo_(lo), hi_(hi) {
  for (std::uint32_t i = lo; i + 1 < hi; ++i) last_is_last_ = last_is_last_ && facts.isAncestor(i, hi - 1);
}

void CallDescriber::describe(CallState& state, const std::uint64_t* key) {
  state.bytes_left = facts_.bytes_from[lo_];
  state.frontier = {CallItems::kNone};
  std::vector<std::uint32_t> remaining;
  for (std::uint32_t i = lo_; i < hi_; ++i) {
    if (!keys_.holds(key, i)) {
      remaining.push_back(i);
      continue;
    }
    state.bytes_left -= items_.bytes[i];
    for (const std::uint32_t net : items_.item_outputs[i]) state.bytes_left -= items_.tail_bytes[net];
    const auto after = items_.after[i];
    if (std::any_of(after.begin(), after.end(),
                    [&](std::uint32_t c) { return c < hi_ && !keys_.holds(key, c); }))
      state.frontier.push_back(i);
  }
  if (state.frontier.size() > kMostCallFrontier) return;
  state.ready = true;
  if (state.entry_call) state.in_call |= 1;
  // Remaining items that wait for a frontier item directly.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> direct;  // (frontier index, item)
  state.tails.assign(state.frontier.size(), 0);
  for (const std::uint32_t v : remaining) {
    if (!waitsForEntry(v)) continue;
    direct.emplace_back(0, v);
    state.tails[0] = std::max(state.tails[0], facts_.alone(v));
  }
  for (std::uint32_t f = 1; f < state.frontier.size(); ++f) {
    const std::uint32_t u = state.frontier[f];
    for (const std::uint32_t net : items_.item_outputs[u]) {
      const CallNetState held = !keys_.knowsNet(net) ? kOutside : keys_.netState(key, net);
      if (held == kMade || held == kSent) state.in_call |= std::uint64_t{1} << f;
      for (const std::uint32_t c : items_.net_consumers[net]) {
        if (c >= hi_ || keys_.holds(key, c)) continue;
        direct.emplace_back(f, c);
        const double apart = facts_.outside(net, c, held == kFetched);
        if (held != kMade && held != kSent)
          state.tails[f] = std::max(state.tails[f], apart);
        else
          state.onward.push_back(
              {apart + (held == kMade ? items_.out(net, static_cast<std::size_t>(state.pool)) : 0), c});
      }
    }
  }
  describeLast(state, key);
  std::sort(direct.begin(), direct.end());
  direct.erase(std::unique(direct.begin(), direct.end()), direct.end());
  state.only_call = state.pool >= 0 ? ~std::uint64_t{0} : 0;
  for (const auto& [of, v] : direct) {
    CallWaiter waiter{of, 1};
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
void CallDescriber::describeLast(CallState& state, const std::uint64_t* key) {
  const std::uint32_t last = hi_ - 1;
  state.has_last = keys_.holds(key, last) || !last_is_last_;
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
    if (keys_.holds(key, i)) continue;
    double& take = take_[i - lo_];
    take = kInfinity;
    for (std::size_t p = 0; p < items_.poolCount(); ++p) take = std::min(take, items_.onPool(i, p));
    for (const std::uint32_t net : items_.item_inputs[i]) {
      if (keys_.netState(key, net) != kOutside) continue;
      const std::uint32_t from = items_.net_producer[net];
      const double readers = static_cast<double>(items_.net_consumers[net].size());
      double share = cheapest(net, true) / readers;
      if (from >= lo_ && !keys_.holds(key, from))
        share = std::min(share, take_[from - lo_] / static_cast<double>(items_.after[from].size()));
      take += share;
    }
  }
  state.last_take = take_[last - lo_];
  for (const std::uint32_t net : items_.item_inputs[last]) {
    const std::uint32_t from = items_.net_producer[net];
    if (from >= lo_ && keys_.holds(key, from) && keys_.netState(key, net) == kMade)
      state.last_send += cheapest(net, false);
  }
}

}  // namespace allot
