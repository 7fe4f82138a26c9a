#include "solve/latency/calls_known.h"

#include <algorithm>
#include <limits>

namespace allot {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace

KnownExits::KnownExits(const CallItems& items, const CallKeys& keys, std::uint32_t lo, std::uint32_t hi,
                       std::span<const std::uint32_t> pool_counts, double equal)
    : items_(items), keys_(keys), lo_(lo), hi_(hi), pool_counts_(pool_counts), equal_(equal) {
  for (std::size_t p = 0; p < pool_counts.size(); ++p) most_used_ |= std::uint64_t{pool_counts[p]} << (8 * p);
}

void KnownExits::find(const CallCut& entry, const ModuleExits* known) {
  const std::size_t pools = items_.poolCount();
  const std::uint32_t last = hi_ - 1;
  open_.resize(pools);
  opens_last_.assign(pools, 0);
  double close = 0;
  for (const auto& [net, state] : entry.nets) {
    if (state == kMade) close += items_.out(net, static_cast<std::size_t>(entry.pool));
  }
  bool tied = false, tails = false;
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
  // Units bound across items make exits differ in more than is compared here.
  if (tied) return;
  closed_.push_back({0, latest});
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
      open_[p].push_back({std::uint64_t{1} << (8 * p), last_start + call + fetchAll(p)});
    }
  }
  if (known == nullptr) return;
  for (const CallExit& exit : known->exits) {
    const CallCut& cut = known->cuts[exit.cut];
    if (exit.goes_on || exit.entry_bytes > 0) continue;
    const CallStep& step = known->steps[exit.step];
    if (cut.pool < 0) {
      closed_.push_back({exit.used, exit.time});
      if (tails || step.kind != CallStep::kCpu || step.item != last) continue;
      // The same, but the last item in a call of its own.
      for (std::size_t p = 0; p < pools; ++p) {
        if (opens_last_[p])
          open_[p].push_back({exit.used + (std::uint64_t{1} << (8 * p)),
                              exit.time - items_.cpu[last] + last_call[p] + fetchAll(p)});
      }
    } else if (!tails && step.kind == CallStep::kOpen && step.item == last)
      open_[static_cast<std::size_t>(cut.pool)].push_back(
          {exit.used, exit.time + fetchAll(static_cast<std::size_t>(cut.pool))});
  }
}

// Whatever another label has fetched or made of the nets across the exit, besides those of the last item,
// could be fetched for this.
double KnownExits::fetchAll(std::size_t pool) const {
  double all = 0;
  for (const std::uint32_t net : keys_.nets) {
    if (items_.net_producer[net] != hi_ - 1 && items_.net_consumers[net].back() >= hi_)
      all += items_.in(net, pool);
  }
  return all;
}

double KnownExits::earliest(const std::vector<Known>& known, std::uint64_t most) {
  double time = kInfinity;
  for (const Known& exit : known) {
    if (usesNoMore(exit.used, most)) time = std::min(time, exit.time);
  }
  return time;
}
double KnownExits::closedLimit(std::uint64_t used) const {
  return earliest(closed_, used) + 2 * equal_;
}

double KnownExits::openLimit(std::uint64_t used, bool is_open) const {
  double limit = -kInfinity;
  for (std::size_t p = 0; p < open_.size(); ++p) {
    const std::uint64_t most = is_open ? used : used + (std::uint64_t{1} << (8 * p));
    if (opens_last_[p] && usesNoMore(most, most_used_)) limit = std::max(limit, earliest(open_[p], most));
  }
  return limit + 2 * equal_;
}

}  // namespace allot
