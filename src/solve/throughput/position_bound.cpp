#include "solve/throughput/position_bound.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "base/thread_pool.h"
#include "solve/throughput/max_flow.h"

namespace allot {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kRounding = 1e-9;  // of sums of work and of flows, as a share of them
constexpr std::size_t kRangesPerStage = 24, kMostRanges = 256;
// Stages are told apart by this many lengths below the value.
constexpr std::size_t kLengths = 20;
constexpr int kHalvings = 20;
constexpr int kPrices = 5;  // tried for each cut

}  // namespace

std::vector<double> reachWork(const Csr<std::uint32_t>& next, std::span<const double> work) {
  const std::size_t n = work.size();
  std::vector<double> sums(n, 0);
  std::vector<std::uint32_t> seen(n, UINT32_MAX), stack;
  for (std::uint32_t x = 0; x < n; ++x) {
    stack.assign(1, x);
    seen[x] = x;
    while (!stack.empty()) {
      const std::uint32_t v = stack.back();
      stack.pop_back();
      sums[x] += work[v];
      for (const std::uint32_t u : next[v]) {
        if (seen[u] == x) continue;
        seen[u] = x;
        stack.push_back(u);
      }
    }
  }
  return sums;
}

void raiseBound(Progress& progress, std::string_view solver, const std::function<bool(double)>& refutes) {
  double low = progress.bestBound(), high = progress.bestValue();
  for (int i = 0; i < kHalvings && high - low > kOptimalGap * high; ++i) {
    // First of all, whether the plan there is can be beaten at all.
    const double target = i == 0 ? high * (1 - kOptimalGap / 2) : (low + high) / 2;
    const bool refuted = refutes(target);
    (refuted ? low : high) = target;
    if (refuted) progress.bound(target, solver);
  }
}

bool PositionBound::accepts(const PipelineModel& model) {
  const Modes& modes = model.problem->modes;
  return model.poolCount() == 1 && model.pools[0].accelerator && modes.contiguity == Contiguity::kChain &&
         modes.overlap == Overlap::kSum && modes.training_load == TrainingLoad::kSum && !modes.replicate &&
         std::all_of(model.seconds.begin(), model.seconds.end(), [](double s) { return s < kCannotRun; });
}

PositionBound::PositionBound(const PipelineModel& model, std::size_t stages, double value,
                             const Budget& budget)
    : model_(model), stages_(stages), before_work_(reachWork(model.before, model.seconds)) {
  after_work_ = reachWork(model.after, model.seconds);
  for (const double seconds : model.seconds) total_ += seconds;
  const double slack = kRounding * total_;
  // An ideal that cuts a net holds one of its ends and lacks another.
  first_cut_.assign(model.netCount(), kInfinity);
  last_cut_.assign(model.netCount(), 0);
  for (std::size_t e = 0; e < model.netCount(); ++e) {
    for (const std::uint32_t v : model.net_items[e]) {
      first_cut_[e] = std::min(first_cut_[e], before_work_[v] - slack);
      last_cut_[e] = std::max(last_cut_[e], total_ - after_work_[v] + slack);
    }
  }
  for (std::size_t m = 0; m < kLengths; ++m)
    lengths_.push_back(value * static_cast<double>(m) / static_cast<double>(kLengths));
  ranges_.resize(std::min(kMostRanges, kRangesPerStage * stages));
  const double width = total_ / static_cast<double>(ranges_.size());
  for (std::size_t i = 0; i < ranges_.size(); ++i) {
    ranges_[i].from = width * static_cast<double>(i) - slack;
    ranges_[i].to = width * static_cast<double>(i + 1) + slack;
    ranges_[i].ahead = ranges_[i].behind = std::vector<double>(lengths_.size(), 0);
  }
  // Lengths far apart first: what time does not allow is filled from the next shorter one.
  for (std::size_t step = std::bit_floor(kLengths - 1), next = 2 * step; step > 0; next = step, step /= 2) {
    parallelFor(ranges_.size(), budget.threads, [&](std::size_t i) {
      Range& range = ranges_[i];
      for (std::size_t m = step; m < lengths_.size() && !budget.stopped(); m += next) {
        range.ahead[m] = leastCut(range, countAhead(range, lengths_[m]));
        range.behind[m] = leastCut(range, countBehind(range, lengths_[m]));
      }
    });
  }
  for (Range& range : ranges_) {
    for (std::size_t m = 1; m < lengths_.size(); ++m) {
      range.ahead[m] = std::max(range.ahead[m], range.ahead[m - 1]);
      range.behind[m] = std::max(range.behind[m], range.behind[m - 1]);
    }
  }
}

PositionBound::Counted PositionBound::countAhead(const Range& range, double length) const {
  const double slack = kRounding * total_, other = range.from + length;  // the last boundary is not before it
  Counted counted{std::vector<double>(model_.netCount(), 0), std::vector<std::uint8_t>(model_.itemCount(), 1),
                  std::vector<std::uint8_t>(model_.itemCount(), 0)};
  for (std::size_t v = 0; v < model_.itemCount(); ++v)
    counted.outside[v] = total_ - after_work_[v] + slack < other;
  for (std::size_t e = 0; e < model_.netCount(); ++e) {
    if (first_cut_[e] > range.to || last_cut_[e] < range.from) continue;
    counted.cost[e] = (last_cut_[e] < other ? 1 : 0.5) * std::min(model_.send[e], model_.receive[e]);
  }
  return counted;
}

PositionBound::Counted PositionBound::countBehind(const Range& range, double length) const {
  const double slack = kRounding * total_, other = range.to - length;  // the first boundary is not behind it
  Counted counted{std::vector<double>(model_.netCount(), 0), std::vector<std::uint8_t>(model_.itemCount(), 0),
                  std::vector<std::uint8_t>(model_.itemCount(), 1)};
  for (std::size_t v = 0; v < model_.itemCount(); ++v) counted.inside[v] = before_work_[v] - slack > other;
  for (std::size_t e = 0; e < model_.netCount(); ++e) {
    if (first_cut_[e] > range.to || last_cut_[e] < range.from) continue;
    counted.cost[e] = (first_cut_[e] > other ? 1 : 0.5) * std::min(model_.send[e], model_.receive[e]);
  }
  return counted;
}

// The largest bound that some prices of work give: an ideal in the range has work between its ends.
double PositionBound::leastCut(const Range& range, const Counted& counted) const {
  Cut low, high;  // ideals with less and with more work than the range
  const Cut free = cheapest(range, 0, counted);
  double best = free.cost;
  if (free.work >= range.from && free.work <= range.to) return best * (1 - kRounding);
  const bool too_much = free.work > range.to;
  const double end = too_much ? range.to : range.from;
  (too_much ? high : low) = free;
  // The other side: all that may or only what must be in.
  Cut& other = too_much ? low : high;
  other = cheapest(range, (too_much ? 1 : -1) * 1e3, counted);
  for (int i = 0; i < kPrices; ++i) {
    if (!(high.work > low.work)) break;
    const double price = (low.cost - high.cost) / (high.work - low.work);
    if (too_much ? price <= 0 : price >= 0) break;
    const Cut cut = cheapest(range, price, counted);
    const double bound = cut.cost + price * (cut.work - end);
    if (bound <= best * (1 + 1e-6)) break;
    best = std::max(best, bound);
    if (cut.work >= range.from && cut.work <= range.to) break;
    (cut.work > range.to ? high : low) = cut;
  }
  return best * (1 - kRounding);
}

PositionBound::Cut PositionBound::cheapest(const Range& range, double price, const Counted& counted) const {
  constexpr std::uint32_t kSource = 0, kSink = 1;
  constexpr double kInfinite = 1e30;
  const std::size_t n = model_.itemCount();
  const double slack = kRounding * total_;
  MaxFlow flow(2);
  std::vector<std::uint32_t> node(n);
  Cut cut;
  double constant = 0;
  for (std::uint32_t v = 0; v < n; ++v) {
    if (total_ - after_work_[v] + slack < range.from) {
      node[v] = kSource;
      cut.work += model_.seconds[v];
    } else if (before_work_[v] - slack > range.to) {
      node[v] = kSink;
    } else {
      node[v] = flow.addNode();
    }
  }
  for (std::uint32_t v = 0; v < n; ++v) {
    if (node[v] <= kSink) continue;
    for (const std::uint32_t u : model_.before[v]) {
      if (node[u] > kSink) flow.addArc(node[v], node[u], kInfinite);
    }
    const double paid = std::abs(price) * model_.seconds[v];
    if (price > 0) flow.addArc(node[v], kSink, paid);
    if (price < 0) flow.addArc(kSource, node[v], paid);
    if (price < 0) constant -= paid;
  }
  double sure = 0;
  for (std::size_t e = 0; e < model_.netCount(); ++e) {
    const double cost = counted.cost[e];
    if (cost <= 0) continue;
    bool in = false, out = false, may_in = false, may_out = false;
    for (const std::uint32_t v : model_.net_items[e]) {
      in = in || (counted.inside[v] && node[v] == kSource);
      out = out || (counted.outside[v] && node[v] == kSink);
      may_in = may_in || (counted.inside[v] && node[v] != kSink);
      may_out = may_out || (counted.outside[v] && node[v] != kSource);
    }
    if (in && out) sure += cost;
    if ((in && out) || !may_in || !may_out) continue;
    // `a` is with the source as soon as one end inside is, `b` with the sink as soon as one end outside is.
    const std::uint32_t a = in ? kSource : flow.addNode(), b = out ? kSink : flow.addNode();
    flow.addArc(a, b, cost);
    for (const std::uint32_t v : model_.net_items[e]) {
      if (node[v] <= kSink) continue;
      if (a != kSource && counted.inside[v]) flow.addArc(node[v], a, kInfinite);
      if (b != kSink && counted.outside[v]) flow.addArc(b, node[v], kInfinite);
    }
  }
  const double value = sure + constant + flow.run(kSource, kSink);
  double open_work = 0;
  for (std::uint32_t v = 0; v < n; ++v) {
    if (node[v] > kSink && flow.withSource(node[v])) open_work += model_.seconds[v];
  }
  cut.work += open_work;
  // The flow is the cost of nets plus price * work of the open part.
  cut.cost = value - price * open_work;
  return cut;
}

bool PositionBound::refutes(double target) const {
  const double slack = kRounding * total_;
  const std::size_t levels = lengths_.size();
  const std::vector<double> nothing(levels, 0);
  // The furthest end of a stage that begins at `from`.
  const auto furthest = [&](double from, std::span<const double> ahead, std::span<const double> behind) {
    double length = -kInfinity;
    for (std::size_t m = 0; m < levels; ++m) {
      const double most = target - ahead[m] - behind[m];
      length = std::max(length, m + 1 < levels ? std::min(lengths_[m + 1], most) : most);
    }
    return from + length + slack;
  };
  std::vector<double> reached(ranges_.size(), -kInfinity), next;
  for (std::size_t b = 0; b < stages_; ++b) {
    next = reached;
    double end = b == 0 ? furthest(0, nothing, nothing) : -kInfinity;
    for (std::size_t j = 0; j < ranges_.size(); ++j) {
      const Range& to = ranges_[j];
      double most = b == 0 ? furthest(0, nothing, to.behind) : -kInfinity;
      for (std::size_t i = 0; b > 0 && i <= j; ++i) {
        if (reached[i] == -kInfinity) continue;
        most = std::max(most, furthest(reached[i], ranges_[i].ahead, to.behind));
      }
      if (most >= to.from) next[j] = std::max(next[j], std::min(most, to.to));
      if (b > 0 && reached[j] > -kInfinity) end = std::max(end, furthest(reached[j], to.ahead, nothing));
    }
    if (end >= total_ - slack) return false;
    reached.swap(next);
  }
  return true;
}

}  // namespace allot
