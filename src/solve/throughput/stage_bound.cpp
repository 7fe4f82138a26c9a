#include "solve/throughput/stage_bound.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>

#include "solve/throughput/chain_refine.h"
#include "solve/throughput/run_rounding.h"
#include "solve/throughput/run_search.h"
#include "solve/throughput/stage_order.h"
#include "solve/throughput/stage_path.h"
#include "solve/throughput/stage_sweep.h"

namespace allot {
namespace {

constexpr std::string_view kName = "chain";
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kRounding = 1e-10;  // of sums of work and costs, as a share of them
constexpr std::size_t kMostItems = 4000;
// Units of work: of the first table for each stage, for each item and altogether at most.
constexpr std::size_t kStageUnits = 24, kItemUnits = 32, kMostUnits = 4096;
// And of the profile of cuts, which is only a start.
constexpr std::size_t kProfileUnits = 1024;
// Where chains of runs are searched: how fine tables become for each stage, the share of the time that is
// left for a table, and how many cells of a table allow for one label of a search before a finer one is made
// (a label takes as long as 50 to 100 cells).
constexpr std::size_t kRunUnits = 4 * kStageUnits;
constexpr double kTableShare = 0.4;
constexpr std::uint64_t kCellsPerLabel = 64;
// Items of a run are at most this long at first, and at last, as a share of the best value.
constexpr double kGrain = 0.03, kLeastGrain = 1e-4;
// Labels before a run that go on at most; when some do not, a limit is not refuted, but a chain may be found.
constexpr std::size_t kMostLabels = 4'000'000;
// How close limits come to the least chain of runs, and how far they go up at a time, as a share of the way
// to the least chain that is known.
constexpr double kClose = 0.001, kRise = 0.3, kLeastRise = 0.05;
// Under a work limit: cells that count as one plan.
constexpr std::uint64_t kCellsPerPlan = 1000;
// A chain in which nets count at both ends may be this many times worse than the best plan.
constexpr double kLoss = 2;
// Moves for each item in search of a better plan near one, how far from it at first, and in how many walks:
// of half the length from the profile, as two threads are more than one; of the full one from a chain of
// runs, which rounding may have made much worse.
constexpr std::uint64_t kNearMoves = 1000, kProfileSeeds = 2;
constexpr double kNearAcceptance = 0.03;
constexpr std::array<double, 3> kChainAcceptances{0.003, 0.03, 0.1};
constexpr std::uint64_t kChainSeeds = 4;
// A limit for which there is a path, beyond one for which there is none, as a share of it.
constexpr double kJustAbove = 1e-6;

using Task = std::function<void()>;
using Held = std::vector<std::uint8_t>;  // by item: whether an ideal holds it
using Boundaries = std::vector<Held>;    // of a chain, first to last

class StageBound {
 public:
  StageBound(const PipelineModel& model, std::size_t stages, const Budget& budget, Progress& progress)
      : model_(model),
        stages_(stages),
        budget_(budget),
        progress_(progress),
        line_(*model.problem),
        crew_(std::max(1u, budget.threads)),
        most_units_(std::min(kMostUnits, kItemUnits * model.itemCount())) {}

  bool run() {
    const std::vector<std::uint32_t> order = stageOrder(model_);
    const StageDiagram ideals(model_, order, StageDiagram::Paths::kIdeals, kInfinity, budget_);
    if (!ideals.built) return false;
    std::optional<StageDiagram> diagram;
    std::optional<StageSweep> sweep;
    planByProfile(ideals, [&] {
      const double limit = progress_.bestValue() * (1 + kRounding);
      diagram.emplace(model_, order, StageDiagram::Paths::kStages, limit, budget_);
      if (diagram->built) sweep.emplace(model_, *diagram, crew_);
    });
    if (!diagram->built) return false;
    const double upper = progress_.bestValue() * (1 + kRounding);
    // How much work a search over runs is, nobody knows before.
    if (budget_.work_limit == 0) useGrain(order, kGrain * upper);
    if (search_ != nullptr) most_units_ = std::min(most_units_, kRunUnits * stages_);
    raise(*sweep, ideals);
    for (double grain = kGrain / 2; grain > kLeastGrain && search_ != nullptr && !over(); grain /= 2) {
      const std::size_t before = runs_->runCount();
      useGrain(order, grain * upper);
      if (runs_->runCount() > before) searchRuns(UINT64_MAX);
    }
    return true;
  }

 private:
  const PipelineModel& model_;
  std::size_t stages_;
  const Budget& budget_;
  Progress& progress_;
  LineModel line_;
  WalkCrew crew_;
  std::size_t most_units_;
  std::vector<StageEntry> table_;  // the last one
  std::optional<StageUnits> table_units_;
  // Chains of runs; no search where they are not suitable for one.
  std::unique_ptr<RunGraph> runs_;
  std::unique_ptr<RunSearch> search_;
  double rise_ = kRise;
  struct Cut {
    double least_work, most_work, cost;  // of the ideals of so many units: the cheapest cut
  };
  std::vector<Cut> cuts_;

  bool over() const { return progress_.done() || budget_.stopped(); }
  // Below it a chain would be better than the best plan.
  double cutoff() const { return progress_.bestValue() * (1 - kRounding); }
  void report(double bound) { progress_.bound(std::min(bound, cutoff()) * (1 - kRounding), kName); }

  // The best chain when each stage pays for all that its two ideals cut. Another task is done beside the
  // search for better plans near it.
  void planByProfile(const StageDiagram& ideals, const Task& beside) {
    const StageUnits units(model_, ideals, std::min(most_units_, kProfileUnits));
    StageSweep sweep(model_, ideals, crew_);
    const auto entries = sweep.run(units, nullptr, kInfinity, budget_);
    if (!entries) return beside();
    std::vector<double> cut(units.all + 1, kInfinity);
    for (const StageEntry& entry : *entries) {
      cut[entry.to] = entry.load;
      cuts_.push_back({units.least_work[entry.to], units.most_work[entry.to], entry.load});
    }
    std::vector<StageEntry> wanted;
    for (const std::uint32_t at : cheapestBoundaries(cut, units.unit, stages_, kLoss * progress_.bestValue()))
      wanted.push_back({0, at, cut[at], 0});
    Boundaries boundaries;
    for (const auto& sides : sweep.stages(wanted, units, kInfinity, budget_))
      boundaries.push_back(heldBy(sides, Side::kInside));
    if (boundaries.empty()) return beside();
    offer({&boundaries, 1}, kNearAcceptance, kProfileSeeds, kNearMoves / kProfileSeeds, beside);
  }

  void useGrain(std::span<const std::uint32_t> order, double seconds) {
    runs_ = std::make_unique<RunGraph>(model_, order, seconds);
    search_ = std::make_unique<RunSearch>(*runs_, stages_, crew_);
    if (!search_->suitable()) search_.reset();
  }

  // Ever finer units, until no path is below the best plan, or no chain of runs.
  void raise(StageSweep& sweep, const StageDiagram& ideals) {
    std::optional<StageMask> mask;
    // In a turn before this one the coarsest table was not enough.
    const std::size_t first = kStageUnits * stages_ * (budget_.turn > 0 ? 2 : 1);
    for (std::size_t count = first; count <= most_units_; count *= 2) {
      const Budget budget =
          search_ != nullptr ? budget_.slice(kTableShare * budget_.remainingSeconds()) : budget_;
      const StageUnits units(model_, ideals, count);
      const auto entries = sweep.run(units, mask ? &*mask : nullptr, cutoff(), budget);
      if (!entries) break;
      const std::uint64_t cells = sweep.cells();
      table_ = *entries;
      table_units_ = units;
      const StagePaths paths(*entries, units, stages_);
      const double value = paths.value(progress_.bestBound(), cutoff());
      report(value);
      if (progress_.done() || value >= cutoff()) return;
      tryPath(
          sweep.stages(paths.path(std::min(cutoff(), value * (1 + kJustAbove))), units, cutoff(), budget));
      if (progress_.done()) return;
      if (searchRuns(cells / kCellsPerLabel)) return;
      // The next table may have four times as many.
      if (budget_.work_limit > 0 && 4 * cells > kCellsPerPlan * budget_.work_limit) return;
      const StageMask used = paths.used(cutoff());
      mask.reset();
      // Looking at a mask that rules out little takes longer than what it saves.
      if (used.count() * 2 < entries->size())
        mask = finer(used, units, StageUnits(model_, ideals, 2 * count));
    }
    searchRuns(UINT64_MAX);
  }

  // Ever higher limits are refuted, or a chain of runs is found below them, of which a plan is made. False
  // when a limit takes more labels than these.
  bool searchRuns(std::uint64_t most_labels) {
    if (search_ == nullptr || table_.empty()) return false;
    double tried = progress_.bestBound(), high = cutoff();
    while (!over()) {
      // At last whether there is any chain that is better than the best plan.
      const bool close = high - tried <= kClose * high;
      if (close && high < cutoff()) break;
      const double limit = close ? high : tried + rise_ * (high - tried);
      const RunWindows known = windows(limit);
      const RunSearch::End end =
          known.work.empty()
              ? RunSearch::End::kNone
              : search_->below(limit, known, {.waiting = kMostLabels, .altogether = most_labels}, budget_);
      if (end == RunSearch::End::kCut && (search_->labels() > most_labels || budget_.stopped())) {
        // Labels grow with the limit.
        rise_ = std::max(kLeastRise, rise_ / 2);
        return false;
      }
      if (end == RunSearch::End::kNone) report(limit);
      (end == RunSearch::End::kFound ? high : tried) = limit;
      for (const double acceptance : kChainAcceptances) {
        if (end != RunSearch::End::kFound || search_->chain().empty() ||
            progress_.bestValue() <= limit * (1 + kClose))
          break;
        const Boundaries rounded = roundToItems(model_, *runs_, search_->chain());
        offer({&rounded, 1}, acceptance, kChainSeeds, kNearMoves);
      }
      if (close) break;
      high = std::min(high, cutoff());
    }
    return true;
  }

  // As far as the table of stages and the cheapest cuts can tell. Empty where there is no chain.
  RunWindows windows(double limit) const {
    RunWindows windows{.work = StagePaths(table_, *table_units_, stages_).needed(limit), .with_cut = {}};
    for (const double work : windows.work) {
      double least = cuts_.empty() ? work : kInfinity;
      for (const Cut& cut : cuts_) {
        if (cut.most_work * (1 + kRounding) >= work)
          least = std::min(least, std::max(work, cut.least_work) + cut.cost);
      }
      windows.with_cut.push_back(least);
    }
    return windows;
  }

  // The pairs of finer units that the allowed pairs may have become.
  StageMask finer(const StageMask& known, const StageUnits& units, const StageUnits& finer) const {
    const double slack = kRounding * units.most_work.back();
    // By finer units: the first and the last of those that an ideal with so much work may have.
    std::vector<std::int64_t> first, last;
    for (std::uint32_t i = 0; i <= finer.all; ++i) {
      first.push_back(units.all + 1);
      last.push_back(-1);
      for (std::uint32_t k = 0; k <= units.all; ++k) {
        if (units.most_work[k] < finer.least_work[i] - slack ||
            units.least_work[k] > finer.most_work[i] + slack)
          continue;
        first.back() = std::min<std::int64_t>(first.back(), k);
        last.back() = k;
      }
    }
    StageMask mask(finer.all);
    for (std::uint32_t i = 0; i <= finer.all; ++i) {
      if (!known.any(first[i], last[i], 0, units.all)) continue;
      for (std::uint32_t j = i; j <= finer.all; ++j) {
        if (finer.least_work[j] - finer.most_work[i] <= cutoff() &&
            known.any(first[i], last[i], first[j], last[j]))
          mask.allow(i, j);
      }
    }
    mask.finish();
    return mask;
  }

  // Plans whose boundaries are the ideals that the stages of a path begin with, or end with.
  void tryPath(const std::vector<std::vector<Side>>& stages) {
    std::array<Boundaries, 2> ends_and_begins;
    for (std::size_t b = 0; b + 1 < stages.size(); ++b) {
      ends_and_begins[0].push_back(heldBy(stages[b], Side::kInside));
      ends_and_begins[1].push_back(heldBy(stages[b + 1], Side::kBefore));
    }
    if (!ends_and_begins[0].empty()) offer(ends_and_begins, kNearAcceptance, 1, kNearMoves);
  }

  static Held heldBy(const std::vector<Side>& sides, Side last) {
    Held held;
    for (const Side side : sides) held.push_back(side <= last ? 1 : 0);
    return held;
  }

  // The plans with these boundaries, each taken together with all before it, and some near them, for which
  // the crew searches while one of it does what else there is.
  void offer(std::span<const Boundaries> chains, double acceptance, std::uint64_t seeds, std::uint64_t moves,
             const Task& beside = {}) {
    std::vector<LinePlan> starts;
    for (const Boundaries& boundaries : chains) {
      Plan plan = planOf(boundaries);
      starts.push_back(line_.fromPlan(plan));
      progress_.plan(std::move(plan), kName);
    }
    std::vector<LinePlan> near(starts.size() * seeds);
    const std::size_t others = beside ? 1 : 0;
    crew_.run(
        others + near.size(),
        [&](std::size_t, std::size_t task, const WalkPart*) {
          if (task < others) return beside();
          const std::size_t i = task - others;
          const LinePlan& start = starts[i / seeds];
          if (!start.found() || over() ||
              !refineFits(line_, start.stages.size(), static_cast<double>(budget_.memory_bytes) / 4))
            return;
          near[i] = refineChain(line_, start,
                                {.moves = moves * line_.item_count,
                                 .first_acceptance = acceptance,
                                 .seed = budget_.seed + i % seeds},
                                budget_);
        },
        others + near.size() > 1);
    for (const LinePlan& plan : near) {
      if (plan.value < progress_.bestValue()) progress_.plan(line_.toPlan(plan), kName);
    }
  }

  Plan planOf(const Boundaries& boundaries) const {
    Plan plan;
    plan.modes = model_.problem->modes;
    std::vector<DeviceId> device_of_item(model_.itemCount());
    std::vector<std::uint8_t> placed(model_.itemCount(), 0);
    for (std::size_t b = 0; b <= boundaries.size(); ++b) {
      PlanStage stage;
      const DeviceId device = model_.pools[0].devices[plan.stages.size()];
      for (std::uint32_t v = 0; v < model_.itemCount(); ++v) {
        if (placed[v] || (b < boundaries.size() && !boundaries[b][v])) continue;
        placed[v] = 1;
        device_of_item[v] = device;
        for (const UnitId unit : model_.item_units[v]) {
          const auto ops = model_.problem->unitOps(unit);
          stage.ops.insert(stage.ops.end(), ops.begin(), ops.end());
        }
      }
      if (stage.ops.empty()) continue;
      stage.devices.push_back(device);
      plan.stages.push_back(std::move(stage));
    }
    plan.assignment = model_.assignment(device_of_item);
    return plan;
  }
};

}  // namespace

bool boundByStages(const PipelineModel& model, std::size_t stages, const Budget& budget, Progress& progress) {
  const double work = std::accumulate(model.seconds.begin(), model.seconds.end(), 0.0);
  if (model.itemCount() > kMostItems || work <= 0) return false;
  return StageBound(model, stages, budget, progress).run();
}

}  // namespace allot
