#include "solve/throughput/packing_bound.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>

#include "base/thread_pool.h"
#include "solve/throughput/price_diagram.h"
#include "solve/throughput/price_master.h"
#include "solve/throughput/price_order.h"
#include "solve/throughput/price_start.h"
#include "solve/throughput/price_sweep.h"

namespace allot {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Sums of a plan and of a path are taken in different orders; loads within this share count as equal, and
// bounds are lowered by it.
constexpr double kRounding = 2e-10;
// Sizes beyond which it does not start, or forgets nets.
constexpr std::size_t kMaxItems = 4000, kMaxWidth = 1024, kMaxNodes = 100000;
constexpr std::size_t kTiny = 150;  // items for which a diagram takes no longer than to start a thread
// A sweep tells as many prizes of a device apart as this many table entries allow.
constexpr double kSweepEntries = 3e7, kMaxResolution = 8000, kMinResolution = 100;
constexpr double kResolutionPerItem = 100;
constexpr double kMaxTotalPrize = 1e8;
constexpr double kPrizeRoom = 1.2;     // prizes are told apart up to this multiple of what is expected
constexpr double kCheapEntries = 1e5;  // table entries that are spent anyway
constexpr double kNeededPrize = 0.9;   // of what a device is worth: sets of less do not matter
constexpr std::uint32_t kSetsPerSweep = 32;
constexpr double kKeepWorth = 0.9;  // sets of less, as a share of their device, are forgotten in time
// Search over loads.
constexpr int kMaxDoublings = 60;
constexpr double kSearchGap = 1e-4;  // loads closer than this are not told apart
constexpr double kNothing = 1e-6;    // of the first load: less is not worth a bound
constexpr double kLastStep = 2e-3;   // from here on, the known value itself is the target
constexpr double kStep = 0.3;        // of the way from the bound to the least load that could not be refuted
// Search for prices around the best so far, the center.
constexpr double kPull = 0.5;  // of the way from the program's prices to the center
constexpr double kFirstRange = 0.05, kLeastRange = 1e-4;
constexpr double kSettled = 5e-4;      // hope for less is not worth a round
constexpr std::size_t kPatience = 15;  // rounds without a better center
constexpr std::size_t kFirstGroups = 24, kMaxGroups = 600;
constexpr double kLightNet = 0.05;  // of the target: groups of items pay where no net costs more
// Table entries after which it ends, some 20 s; linear programs count by their pivots.
constexpr double kMaxWork = 1.2e10;
constexpr double kWorkPerPivot = 4e4;
constexpr std::uint64_t kStream = 11;  // of random numbers

class Bounder {
 public:
  Bounder(const PipelineModel& model, double upper, const Budget& budget,
          const std::function<void(double)>& on_better)
      : model_(model), upper_(upper), budget_(budget), on_better_(on_better), random_(budget.seed, kStream) {}

  PackingBoundReport run(std::span<const std::vector<std::uint32_t>> known_sets, BoundBy by);

 private:
  enum class Outcome { kRefuted, kCovered, kStuck, kStopped };
  // Prices under which all devices at the target are worth 1, and what the items are worth then.
  struct Center {
    std::vector<double> item_price, device_price;
    double ratio = 0;
  };
  struct Priced {
    std::vector<std::uint32_t> prize;  // by item
    std::vector<std::uint32_t> most;   // by pool
    double ratio = 0;
    std::size_t added = 0;
  };

  const PipelineModel& model_;
  double upper_;
  const Budget& budget_;
  const std::function<void(double)>& on_better_;
  SweepOrder order_;
  std::vector<double> counts_;
  std::vector<PriceDiagram> diagrams_;
  std::vector<PriceSweep> sweeps_;
  std::unique_ptr<PriceMaster> master_;
  PackingBoundReport report_;
  double limit_ = 0;  // of the diagrams
  Center center_;
  Priced priced_;
  Random random_;
  std::vector<std::uint32_t> group_of_;  // by item: tied prices
  std::size_t groups_ = 0;
  double heaviest_net_ = 0;
  double work_ = 0;
  double range_ = 0;  // of prices around the center, as a share of them

  void raise(double bound) {
    if (!(bound > report_.bound)) return;
    report_.bound = bound;
    if (on_better_) on_better_(bound);
  }
  bool stopped() const {
    return budget_.stopped() || work_ > kMaxWork ||
           (budget_.work_limit > 0 && report_.sweeps >= budget_.work_limit);
  }
  void build(double limit);
  double itemBound() const;
  double loadOf(std::size_t pool, std::span<const std::uint32_t> items) const;
  bool addSet(std::size_t pool, const std::vector<std::uint32_t>& items, double target);
  double resolution(std::size_t pool) const;
  bool closed(double high) const { return report_.bound >= high * (1 - kOptimalGap); }
  void search(double high, std::span<const std::vector<std::uint32_t>> known_sets);
  void tie(std::size_t groups);
  void setRanges();
  Outcome refute(double target);
  bool price(const std::vector<double>& item_price, const std::vector<double>& device_price, double target,
             double expected);
  double refutedBelow(std::uint64_t total, std::span<const std::uint32_t> caps) const;
};

double Bounder::loadOf(std::size_t pool, std::span<const std::uint32_t> items) const {
  std::vector<std::uint8_t> in(model_.itemCount(), 0);
  double load = 0;
  for (const std::uint32_t v : items) {
    in[v] = 1;
    load += model_.time(v, pool);
  }
  for (std::size_t e = 0; e < model_.netCount(); ++e) {
    std::size_t held = 0;
    for (const std::uint32_t v : model_.net_items[e]) held += in[v];
    if (held > 0 && held < model_.net_items[e].size())
      load += model_.cost(e, pool, in[model_.net_producer[e]]);
  }
  return load;
}

void Bounder::build(double limit) {
  limit_ = limit * (1 + kRounding);
  diagrams_.clear();
  sweeps_.clear();
  report_.nodes = 0;
  const std::size_t width =
      std::max<std::size_t>(16, std::min(kMaxWidth, kMaxNodes / (model_.itemCount() + 1)));
  std::vector<std::optional<PriceDiagram>> made(model_.poolCount());
  parallelFor(made.size(), model_.itemCount() < kTiny ? 1 : budget_.threads,
              [&](std::size_t k) { made[k].emplace(model_, k, order_.items, limit_, width); });
  for (auto& diagram : made) {
    diagrams_.push_back(std::move(*diagram));
    report_.nodes += diagrams_.back().nodeCount();
    report_.complete = report_.complete && diagrams_.back().complete;
  }
  for (const PriceDiagram& diagram : diagrams_) sweeps_.emplace_back(diagram);
}

double Bounder::itemBound() const {
  double most = 0;
  for (std::size_t layer = 0; layer < model_.itemCount(); ++layer) {
    double least = kInfinity;
    for (const PriceDiagram& diagram : diagrams_) least = std::min(least, diagram.leastWith(layer));
    most = std::max(most, std::min(least, limit_));
  }
  return most * (1 - kRounding) * (1 - kRounding);
}

bool Bounder::addSet(std::size_t pool, const std::vector<std::uint32_t>& items, double target) {
  const double load = loadOf(pool, items);
  return !items.empty() && load <= target * (1 + kRounding) && master_->add(pool, items, load);
}

double Bounder::resolution(std::size_t pool) const {
  const double most = std::min(kMaxResolution, kResolutionPerItem * static_cast<double>(model_.itemCount()));
  return std::clamp(kSweepEntries / static_cast<double>(diagrams_[pool].nodeCount()), kMinResolution,
                    std::max(kMinResolution, most));
}

// The least load T at which the devices together can be worth `total`; every T below it is refuted.
double Bounder::refutedBelow(std::uint64_t total, std::span<const std::uint32_t> caps) const {
  const auto refuted = [&](double load) {
    double worth = 0;
    for (std::size_t k = 0; k < sweeps_.size(); ++k) {
      const std::uint32_t most = sweeps_[k].mostPrize(load);
      if (most >= caps[k]) return false;
      worth += counts_[k] * most;
    }
    return worth < static_cast<double>(total) - 0.5;
  };
  std::vector<double> steps{0};
  for (std::size_t k = 0; k < sweeps_.size(); ++k) {
    for (std::uint32_t p = 0; p <= caps[k]; ++p) {
      const double load = sweeps_[k].leastLoad(p);
      if (load < kInfinity && (steps.empty() || load != steps.back())) steps.push_back(load);
    }
  }
  std::sort(steps.begin(), steps.end());
  const auto first = std::partition_point(steps.begin(), steps.end(), refuted);
  return first == steps.end() ? limit_ * (1 - kRounding) : *first;
}

// Sweeps all pools with the given prices and takes up sets that are worth more than their device.
bool Bounder::price(const std::vector<double>& item_price, const std::vector<double>& device_price,
                    double target, double expected) {
  const double limit = target * (1 + kRounding);
  const std::size_t pools = model_.poolCount(), n = model_.itemCount();
  double scale = kInfinity;
  for (std::size_t k = 0; k < pools; ++k) {
    if (device_price[k] > 0) scale = std::min(scale, resolution(k) / (device_price[k] * expected));
  }
  // Sums of prizes stay far from the ends of their types whatever the prices are.
  const double sum = std::accumulate(item_price.begin(), item_price.end(), 0.0);
  scale = std::min(scale, kMaxTotalPrize / std::max(sum, 1e-300));
  std::vector<std::uint32_t>& prize = priced_.prize;
  prize.resize(n);
  std::vector<std::uint32_t> caps(pools);
  std::uint64_t total = 0;
  // Good sets are few runs of the sweep order: what rounding adds here it takes back at the next item, so
  // that the prize of a run is off by at most one.
  double exact = 0;
  for (const std::uint32_t v : order_.items) {
    exact += item_price[v] * scale;
    const auto whole = static_cast<std::uint64_t>(std::llround(exact));
    prize[v] = static_cast<std::uint32_t>(whole - total);
    total = whole;
  }
  priced_.added = 0;
  priced_.most.assign(pools, 0);
  double worth_of_all = 0;
  for (std::size_t k = 0; k < pools; ++k) {
    const double worth = device_price[k] * scale;
    const double room = std::max(worth * expected * kPrizeRoom,
                                 kCheapEntries / static_cast<double>(diagrams_[k].nodeCount()));
    caps[k] = static_cast<std::uint32_t>(std::min(std::ceil(room) + 8, static_cast<double>(total) + 1));
    const auto need = static_cast<std::uint32_t>(worth * kNeededPrize);
    if (!sweeps_[k].run(prize, need, caps[k], limit_, budget_)) return false;
    ++report_.sweeps;
    work_ += static_cast<double>(sweeps_[k].entries());
    const std::uint32_t most = sweeps_[k].mostPrize(limit);
    priced_.most[k] = most;
    worth_of_all += counts_[k] * most;
    // The best set, and some by chance among all that are worth more than their device.
    const auto base = static_cast<std::uint32_t>(worth) + 1;
    if (most <= base || sweeps_[k].leastLoad(most) > limit) continue;
    std::vector<PriceSweep::Wish> wishes{{most, sweeps_[k].leastLoad(most), false}};
    for (std::uint32_t i = 1; i < kSetsPerSweep; ++i)
      wishes.push_back({most - (most - base) * i / kSetsPerSweep, limit, true});
    work_ += static_cast<double>(sweeps_[k].entries());
    for (const auto& set : sweeps_[k].sets(wishes, random_)) priced_.added += addSet(k, set, target);
  }
  raise(refutedBelow(total, caps) * (1 - kRounding) * (1 - kRounding));
  priced_.ratio = worth_of_all > 0 ? static_cast<double>(total) / worth_of_all : 0;
  for (std::size_t k = 0; k < pools; ++k) {
    if (priced_.most[k] >= caps[k]) priced_.ratio = 0;
  }
  if (priced_.ratio > center_.ratio) {
    center_.ratio = priced_.ratio;
    for (std::size_t v = 0; v < n; ++v) center_.item_price[v] = prize[v] / worth_of_all;
    for (std::size_t k = 0; k < pools; ++k) center_.device_price[k] = priced_.most[k] / worth_of_all;
  }
  return true;
}

// Ties the items into runs of the sweep order that are worth about the same.
void Bounder::tie(std::size_t groups) {
  const std::size_t n = model_.itemCount();
  groups = std::min(groups, n);
  double total = 0;
  for (const double price : center_.item_price) total += price;
  // A little for every item, so that prices of zero can rise.
  const double least = std::max(1e-4 * total / static_cast<double>(n), 1e-12);
  total += least * static_cast<double>(n);
  std::vector<double> base(n);
  group_of_.assign(n, 0);
  double passed = 0;
  std::uint32_t group = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint32_t v = order_.items[i];
    base[v] = center_.item_price[v] + least;
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
  master_->keepWorth(center_.item_price, center_.device_price, kKeepWorth);
  master_->tie(group_of_, base);
}

void Bounder::setRanges() {
  std::vector<double> at(groups_, 0);
  double mean = 0;
  for (std::size_t v = 0; v < group_of_.size(); ++v) {
    at[group_of_[v]] += center_.item_price[v];
    mean += center_.item_price[v] / static_cast<double>(groups_);
  }
  for (std::size_t g = 0; g < groups_; ++g) {
    const double room = range_ * (at[g] + mean);
    master_->setRange(g, std::max(0.0, at[g] - room), at[g] + room);
  }
}

Bounder::Outcome Bounder::refute(double target) {
  if (stopped()) return Outcome::kStopped;
  master_->setLimit(target * (1 + kRounding));
  const std::size_t n = model_.itemCount();
  center_.ratio = 0;
  for (double expected = 1; center_.ratio == 0 && expected < 1e3; expected *= 2) {
    if (!price(std::vector(center_.item_price), std::vector(center_.device_price), target, expected))
      return Outcome::kStopped;
  }
  if (closed(target)) return Outcome::kRefuted;
  // Where transfers weigh little, prices stay near the work of the items and runs of them move together.
  const std::size_t most_groups = std::min(n, kMaxGroups);
  std::size_t wanted = most_groups;
  if (heaviest_net_ < kLightNet * target) wanted = std::min(most_groups, std::max(kFirstGroups, groups_ / 4));
  tie(wanted);
  range_ = kFirstRange;
  std::size_t failures = 0;
  double pull = kPull;
  for (;;) {
    if (stopped()) return Outcome::kStopped;
    setRanges();
    if (!master_->solve(budget_)) return stopped() ? Outcome::kStopped : Outcome::kStuck;
    work_ += kWorkPerPivot * static_cast<double>(master_->pivots);
    const double promise = master_->factor, before = center_.ratio;
    if (wanted >= most_groups && promise <= 1 && !master_->ranges_bind) return Outcome::kCovered;
    if (promise - before < kSettled || failures > kPatience) {
      if (wanted >= most_groups) return Outcome::kCovered;
      wanted = std::min(2 * wanted, most_groups);
      tie(wanted);
      failures = 0;
      range_ = std::max(range_, kFirstRange / 4);
      continue;
    }
    std::vector<double> item_price(n), device_price(counts_.size());
    for (std::size_t v = 0; v < n; ++v)
      item_price[v] = pull * center_.item_price[v] + (1 - pull) * master_->item_price[v];
    for (std::size_t k = 0; k < counts_.size(); ++k)
      device_price[k] = pull * center_.device_price[k] + (1 - pull) * master_->device_price[k];
    if (!price(item_price, device_price, target, std::max(1.0, promise))) return Outcome::kStopped;
    if (closed(target)) return Outcome::kRefuted;
    if (center_.ratio > before + 0.1 * (promise - before)) {
      failures = 0;
      range_ = std::min(1.0, range_ * 1.5);
    } else if (++failures % 3 == 0) {
      range_ = std::max(kLeastRange, range_ * 0.7);
    }
    if (priced_.added == 0 && center_.ratio <= before) {
      if (pull == 0) failures = kPatience + 1;
      pull = 0;
    } else {
      pull = kPull;
    }
  }
}

PackingBoundReport Bounder::run(std::span<const std::vector<std::uint32_t>> known_sets, BoundBy by) {
  const std::size_t n = model_.itemCount();
  if (n == 0 || n > kMaxItems || upper_ <= 0) return report_;
  order_ = sweepOrder(model_);
  report_.peak_open = order_.peak_open;
  for (const Pool& pool : model_.pools) counts_.push_back(static_cast<double>(pool.devices.size()));
  for (const std::vector<double>* costs : {&model_.send, &model_.receive}) {
    for (const double cost : *costs) heaviest_net_ = std::max(heaviest_net_, cost);
  }
  const bool known = upper_ < kInfinity;
  double high = known ? upper_ : firstLoad(model_, counts_);
  for (int doubling = 0; doubling < kMaxDoublings && !stopped(); ++doubling) {
    build(high);
    report_.item_bound = itemBound();
    raise(report_.item_bound);
    if (by == BoundBy::kPrices && !closed(high)) search(high, known_sets);
    if (known || !closed(high)) break;
    high *= 2;
  }
  return report_;
}

// Looks for the highest load that prices can refute.
void Bounder::search(double high, std::span<const std::vector<std::uint32_t>> known_sets) {
  master_ = std::make_unique<PriceMaster>(model_.itemCount(), counts_);
  master_->setLimit(limit_);
  for (const auto& set : known_sets) {
    for (std::size_t k = 0; k < model_.poolCount(); ++k) {
      if (std::all_of(set.begin(), set.end(), [&](std::uint32_t v) { return model_.runs(v, k); }))
        addSet(k, set, high);
    }
  }
  SplitPrices start = splitPrices(model_, counts_);
  center_.item_price = std::move(start.item);
  center_.device_price = std::move(start.device);
  double top = high;
  bool untried = true;  // nothing has resisted yet
  while (report_.bound < top * (1 - (untried ? kOptimalGap : kSearchGap)) && top > kNothing * high) {
    double target = report_.bound <= 0 ? top / 2 : report_.bound + kStep * (top - report_.bound);
    if (untried && report_.bound > top * (1 - kLastStep)) target = top;
    const Outcome outcome = refute(target);
    if (outcome == Outcome::kStopped) break;
    if (outcome == Outcome::kRefuted) continue;
    top = target;
    untried = false;
  }
}

}  // namespace

PackingBoundReport packingBound(const PipelineModel& model, double upper, const Budget& budget, BoundBy by,
                                std::span<const std::vector<std::uint32_t>> known_sets,
                                const std::function<void(double)>& on_better) {
  return Bounder(model, upper, budget, on_better).run(known_sets, by);
}

bool packingBoundAccepts(const Problem& problem) {
  return problem.goal() == Goal::kThroughput && problem.modes.overlap == Overlap::kSum &&
         problem.modes.training_load == TrainingLoad::kSum && !problem.modes.replicate;
}

SolveResult solvePackingBound(const Problem& problem, const Budget& budget, Progress& progress) {
  PipelineModel model(problem, PipelineModel::Items::kUnits);
  model.joinFreeItems(false);
  std::vector<std::vector<std::uint32_t>> known;
  if (const Plan* plan = progress.bestPlan()) {
    std::vector<std::vector<std::uint32_t>> by_device(problem.deviceCount());
    for (std::uint32_t v = 0; v < model.itemCount(); ++v) {
      const OpId op = problem.unitOps(model.item_units[v].front()).front();
      by_device[plan->assignment[op.index()].index()].push_back(v);
    }
    for (auto& set : by_device) {
      if (!set.empty()) known.push_back(std::move(set));
    }
  }
  const PackingBoundReport report =
      packingBound(model, progress.bestValue(), budget, BoundBy::kPrices, known,
                   [&](double bound) { progress.bound(bound, "packing-bound"); });
  return {budget.stopped() ? SolveEnd::kStopped : SolveEnd::kFinished,
          fmt::format("smaller values refuted by prices in {} sweeps over {} sets of open nets",
                      report.sweeps, report.nodes)};
}

SolveResult solveItemBound(const Problem& problem, const Budget& budget, Progress& progress) {
  PipelineModel model(problem, PipelineModel::Items::kUnits);
  model.joinFreeItems(false);
  packingBound(model, progress.bestValue(), budget, BoundBy::kItems, {},
               [&](double bound) { progress.bound(bound, "item-bound"); });
  return {SolveEnd::kFinished, fmt::format("least load of a device for each of {} units", model.itemCount())};
}

}  // namespace allot
