#include "solve/throughput/packing_bound.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "solve/throughput/free_search.h"
#include "solve/throughput/packing_bounder.h"
#include "solve/throughput/price_cover.h"
#include "solve/throughput/price_start.h"

namespace allot {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

constexpr std::size_t kMaxItems = 4000;  // beyond which it does not start
constexpr double kKeepWorth = 0.9;       // sets of less, as a share of their device, are forgotten in time
constexpr std::size_t kMostSets = 200, kSetsPerGroup = 8;  // and so are all but as many
// Search over loads.
constexpr int kMaxDoublings = 60;
constexpr double kSearchGap = 1e-4;  // loads closer than this are not told apart
constexpr double kNothing = 1e-6;    // of the first load: less is not worth a bound
constexpr double kLastStep = 2e-3;   // from here on, all below the known value is the target
constexpr double kStep = 0.5;        // of the way from the bound to the least load that could not be refuted
// Search for prices around the best so far, the center.
constexpr double kPull = 0.5;         // of the way from the program's prices to the center
constexpr double kMaxExpected = 1e3;  // items worth so many times what their devices are: no use
constexpr double kFirstRange = 0.05, kLeastRange = 1e-4, kWiden = 2, kNarrow = 0.7;
// Of the prices it begins with nobody knows; to sweep them coarsely will do.
constexpr double kFirstHope = 0.1;
constexpr double kSettled = 5e-4;                        // hope for less is not worth a round
constexpr std::size_t kPatience = 15, kHastyRounds = 8;  // rounds without a better center
constexpr std::size_t kHastyHopeless = 6;  // rounds at full range that do not promise to refute the target
constexpr double kNearCover = 2;           // ceiling below which sets may make a plan
constexpr std::size_t kFirstGroups = 24, kMaxGroups = 600;
constexpr double kLightNet = 0.05;  // of the target: groups of items pay where no net costs more
// Of items: with these, groups and threads do not pay.
constexpr std::size_t kFewItems = 100;
// Whether prices that refute a load are found is luck too: so many times it begins anew where little is
// missing.
constexpr std::uint32_t kAttempts = 4;
constexpr double kRetryGap = 5e-3;
// Table entries after which it ends, some 30 s of one thread; programs count by the changes of their active
// sets.
constexpr double kMaxWork = 6e10;
constexpr double kWorkPerChange = 2e4;

}  // namespace

bool PackingBounder::stopped() const {
  return budget_.stopped() || work_ > kMaxWork * budget_.patience ||
         (budget_.work_limit > 0 && report_.sweeps >= budget_.work_limit);
}

// Ties the items into runs of the sweep order that are worth about the same.
void PackingBounder::tie(std::size_t groups) {
  const std::size_t n = model_.itemCount();
  groups = std::min(groups, n);
  double total = 0;
  for (const double price : center_.prices.item) total += price;
  // A little for every item, so that prices of zero can rise.
  const double least = std::max(1e-4 * total / static_cast<double>(n), 1e-12);
  total += least * static_cast<double>(n);
  std::vector<double> base(n);
  group_of_.assign(n, 0);
  double passed = 0;
  std::uint32_t group = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint32_t v = order_.items[i];
    base[v] = center_.prices.item[v] + least;
    passed += base[v];
    group_of_[v] = groups == n ? static_cast<std::uint32_t>(i) : group;
    while (passed >= total * (group + 1) / static_cast<double>(groups) && group + 1 < groups) ++group;
  }
  // Numbers without gaps.
  std::vector<std::uint32_t> number(groups, 0);
  for (const std::uint32_t g : group_of_) number[g] = 1;
  groups_ = std::accumulate(number.begin(), number.end(), std::size_t{0});
  std::exclusive_scan(number.begin(), number.end(), number.begin(), 0u);
  for (std::uint32_t& g : group_of_) g = number[g];
  bundle_->keepWorth(center_.prices.item, center_.prices.device, kKeepWorth,
                     kMostSets + kSetsPerGroup * groups_);
  bundle_->tie(group_of_, base);
}

// Whether the sets that are known make a better plan.
bool PackingBounder::improve() {
  if (!listener_.cover) return false;
  const double value = listener_.cover(bundle_->cover(), crew_);
  if (!(value < high_)) return false;
  high_ = value;
  return true;
}

PackingBounder::Outcome PackingBounder::refute(double target) {
  if (stopped()) return Outcome::kStopped;
  bundle_->setLimit(target * (1 + kPackingRounding));
  const std::size_t n = model_.itemCount();
  // What the center is worth at this target is known from its sweep, unless it was cut short there.
  center_.ratio = 0;
  if (!center_.priced.pools.empty()) setCenter(Priced(center_.priced), target);
  for (double expected = 1; center_.ratio == 0 && expected < kMaxExpected; expected *= 2) {
    const Prices start = center_.prices;
    const bool first = center_.priced.pools.empty();
    if (!price(first ? std::span<const Prices>(starts_) : std::span(&start, 1), target, expected,
               first ? kFirstHope : 0))
      return Outcome::kStopped;
  }
  if (refuted(target)) return Outcome::kRefuted;
  // Where transfers weigh little, prices stay near the work of the items and runs of them move together.
  const std::size_t most_groups = std::min(n, kMaxGroups);
  std::size_t wanted = most_groups;
  if (heaviest_net_ < kLightNet * target && n > kFewItems)
    wanted = std::min(most_groups, std::max(kFirstGroups, groups_ / 4));
  tie(wanted);
  range_ = std::clamp(1 - center_.ratio, kFirstRange, 1.0);
  const std::size_t patience = budget_.patience < 1 ? kHastyRounds : kPatience;
  std::size_t failures = 0, hopeless = 0;
  for (;;) {
    if (stopped()) return Outcome::kStopped;
    bundle_->solve(center_.prices.item, center_.prices.device, range_);
    work_ += kWorkPerChange * static_cast<double>(bundle_->changes);
    const double promise = bundle_->promise, before = center_.ratio;
    const bool alone = wanted >= most_groups;  // every price is on its own
    if (alone && promise <= 1) {
      if (range_ >= 1) ++hopeless;
      const bool covered = bundle_->ceiling <= 1 || (budget_.patience < 1 && hopeless > kHastyHopeless);
      if (covered || (hopeful_ && bundle_->ceiling < kNearCover)) {
        if (improve()) return Outcome::kImproved;
        hopeful_ = false;
      }
      if (covered) return Outcome::kCovered;
    }
    if (!alone && bundle_->ceiling <= 1) {
      failures = patience + 1;  // only smaller groups can do better
    } else if (!bundle_->blind && promise - before < kSettled && (!alone || promise <= 1)) {
      // Little is left to hope for, here or at all.
      if (range_ < 1 && bundle_->ceiling - before > 2 * kSettled && failures <= patience) {
        range_ = std::min(1.0, kWiden * range_);
        ++failures;
        continue;
      }
      failures = patience + 1;
    }
    if (failures > patience) {
      if (alone) return improve() ? Outcome::kImproved : Outcome::kCovered;
      wanted = std::min(2 * wanted, most_groups);
      tie(wanted);
      failures = 0;
      range_ = kFirstRange;
      continue;
    }
    // What the program proposes, and half of the way to it.
    std::array<Prices, kPoints> points{Prices{bundle_->item_price, bundle_->device_price}, center_.prices};
    const auto pull = [](std::vector<double>& prices, const std::vector<double>& from) {
      for (std::size_t i = 0; i < prices.size(); ++i) prices[i] = kPull * prices[i] + (1 - kPull) * from[i];
    };
    pull(points[1].item, points[0].item);
    pull(points[1].device, points[0].device);
    const std::optional<std::size_t> added = price({points.data(), bundle_->blind ? 1 : kPoints}, target,
                                                   std::max(1.0, promise), std::max(1.0, promise) - before);
    if (!added) return Outcome::kStopped;
    if (refuted(target)) return Outcome::kRefuted;
    failures = center_.ratio > before + 0.1 * (promise - before) ? 0 : failures + 1;
    // Where nothing in range can refute the target, narrowing it would not help.
    if (failures == 0 || promise <= 1)
      range_ = std::min(1.0, kWiden * range_);
    else if (failures % 3 == 0)
      range_ = std::max(kLeastRange, kNarrow * range_);
    if (*added == 0 && center_.ratio <= before) failures = patience + 1;
  }
}

PackingBoundReport PackingBounder::run(BoundBy by) {
  const std::size_t n = model_.itemCount();
  if (n == 0 || n > kMaxItems || known_.upper <= 0) return report_;
  // Threads are there when the first sweep begins.
  if (by == BoundBy::kPrices && n > kFewItems) crew_.start();
  order_ = sweepOrder(model_, budget_);
  report_.peak_open = order_.peak_open;
  for (const Pool& pool : model_.pools) counts_.push_back(static_cast<double>(pool.devices.size()));
  for (const std::vector<double>* costs : {&model_.send, &model_.receive}) {
    for (const double cost : *costs) heaviest_net_ = std::max(heaviest_net_, cost);
  }
  const bool known = known_.upper < kInfinity;
  high_ = known ? known_.upper : firstLoad(model_, counts_);
  for (int doubling = 0; doubling < kMaxDoublings && !stopped(); ++doubling) {
    if (!build(high_)) break;
    report_.item_bound = itemBound();
    raise(report_.item_bound);
    if (by == BoundBy::kPrices) makeSweepers();
    const std::uint32_t attempts = by != BoundBy::kPrices ? 0 : budget_.patience < 1 ? 1 : kAttempts;
    for (std::uint32_t i = 0; i < attempts && !closed(high_) && !stopped(); ++i) {
      if (i > 0 && report_.bound < high_ * (1 - kRetryGap)) break;
      search(budget_.turn + i);
    }
    if (known || !closed(high_)) break;
    high_ *= 2;
  }
  return report_;
}

// Looks for the highest load that prices can refute.
void PackingBounder::search(std::uint32_t variety) {
  bundle_ = std::make_unique<PriceBundle>(order_.items, counts_, variety);
  bundle_->setLimit(limit_);
  for (const CoverSet& set : known_.sets) {
    for (std::size_t k = 0; k < model_.poolCount(); ++k) {
      if (std::all_of(set.items.begin(), set.items.end(), [&](std::uint32_t v) { return model_.runs(v, k); }))
        addSet(k, set.items, loadOf(k, set.items), high_);
    }
  }
  const SplitPrices split = splitPrices(model_, counts_);
  starts_.assign(1, {split.item, split.device});
  if (!known_.sets.empty()) {
    SplitPrices plan = planPrices(model_, known_.sets, split);
    starts_.push_back({std::move(plan.item), std::move(plan.device)});
  }
  center_ = {};
  center_.prices = starts_.front();
  double top = high_;
  bool untried = true;  // nothing has resisted yet
  while (!closed(high_) && report_.bound < top * (1 - (untried ? 0 : kSearchGap)) && top > kNothing * high_) {
    double target = report_.bound <= 0 ? top / 2 : report_.bound + kStep * (top - report_.bound);
    // The sets of the best plan cover everything within its own value: only what is below it can be refuted.
    if (untried && report_.bound > top * (1 - kLastStep)) target = top * (1 - kOptimalGap / 4);
    const Outcome outcome = refute(target);
    if (outcome == Outcome::kStopped) break;
    if (outcome == Outcome::kRefuted) continue;
    if (outcome == Outcome::kImproved) {
      top = std::min(top, high_);
      untried = untried || top == high_;
      continue;
    }
    // In haste it only asks whether the best plan is optimal.
    if (budget_.patience < 1) break;
    top = target;
    untried = false;
  }
}

PackingBoundReport packingBound(const PipelineModel& model, const PackingKnown& known, const Budget& budget,
                                BoundBy by, const PackingListener& listener) {
  return PackingBounder(model, known, budget, listener).run(by);
}

bool packingBoundAccepts(const Problem& problem) {
  return problem.goal() == Goal::kThroughput && problem.modes.overlap == Overlap::kSum &&
         problem.modes.training_load == TrainingLoad::kSum && !problem.modes.replicate;
}

SolveResult solvePackingBound(const Problem& problem, const Budget& budget, Progress& progress) {
  PipelineModel model(problem, PipelineModel::Items::kUnits);
  model.joinFreeItems(false);
  PackingKnown known{.upper = progress.bestValue(), .lower = progress.bestBound()};
  if (const Plan* plan = progress.bestPlan()) {
    std::vector<std::vector<std::uint32_t>> by_device(problem.deviceCount());
    const std::vector<DeviceId> device = model.devicesOf(plan->assignment);
    for (std::uint32_t v = 0; v < model.itemCount(); ++v) by_device[device[v].index()].push_back(v);
    for (std::size_t k = 0; k < model.poolCount(); ++k) {
      for (const DeviceId device : model.pools[k].devices) {
        auto& items = by_device[device.index()];
        if (!items.empty()) known.sets.push_back({k, std::move(items), 1});
      }
    }
  }
  PackingListener listener;
  listener.bound = [&](double bound) { progress.bound(bound, "packing-bound"); };
  if (freeSearchAccepts(problem)) {
    listener.cover = [&](std::span<const CoverSet> cover, WalkCrew& crew) {
      planFromCover(model, cover, budget, crew, progress);
      return progress.bestValue();
    };
  }
  const PackingBoundReport report = packingBound(model, known, budget, BoundBy::kPrices, listener);
  return {budget.stopped() ? SolveEnd::kStopped : SolveEnd::kFinished,
          fmt::format("smaller values refuted by prices in {} sweeps over {} sets of open nets",
                      report.sweeps, report.nodes)};
}

SolveResult solveItemBound(const Problem& problem, const Budget& budget, Progress& progress) {
  PipelineModel model(problem, PipelineModel::Items::kUnits);
  model.joinFreeItems(false);
  packingBound(model, {.upper = progress.bestValue()}, budget, BoundBy::kItems,
               {.bound = [&](double bound) { progress.bound(bound, "item-bound"); }, .cover = {}});
  return {SolveEnd::kFinished, fmt::format("least load of a device for each of {} units", model.itemCount())};
}

}  // namespace allot
