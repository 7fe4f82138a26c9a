#include "solve/throughput/stage_bound.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <optional>

#include "solve/throughput/chain_refine.h"
#include "solve/throughput/stage_order.h"
#include "solve/throughput/stage_path.h"
#include "solve/throughput/stage_sweep.h"

namespace allot {
namespace {

constexpr std::string_view kName = "chain";
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kRounding = 1e-10;  // of sums of work and costs, as a share of them
constexpr std::size_t kMostItems = 4000;
constexpr std::size_t kProfileUnits = 4096;
constexpr std::size_t kMostUnits = 8192;
constexpr std::size_t kUnitsPerStage = 24;  // at first
constexpr std::uint64_t kRefineMoves = 1'000'000;

using Held = std::vector<std::uint8_t>;  // by item: whether an ideal holds it

class StageBound {
 public:
  StageBound(const PipelineModel& model, std::size_t stages, const Budget& budget, Progress& progress)
      : model_(model), stages_(stages), budget_(budget), progress_(progress), line_(*model.problem) {}

  bool run() {
    const std::vector<std::uint32_t> order = stageOrder(model_);
    const double upper = progress_.bestValue() * (1 + kRounding);
    {
      const StageDiagram ideals(model_, order, StageDiagram::Paths::kIdeals, upper, budget_);
      if (!ideals.built) return false;
      planByProfile(ideals);
    }
    const StageDiagram diagram(model_, order, StageDiagram::Paths::kStages, upper, budget_);
    if (!diagram.built) return false;
    raise(diagram);
    return true;
  }

 private:
  const PipelineModel& model_;
  std::size_t stages_;
  const Budget& budget_;
  Progress& progress_;
  LineModel line_;

  double cutoff() const { return progress_.bestValue() * (1 - kRounding); }

  // The best chain when each stage pays for all that its two ideals cut.
  void planByProfile(const StageDiagram& ideals) {
    const StageLabels labels(model_, ideals, kProfileUnits);
    StageSweep sweep(model_, ideals);
    const auto entries = sweep.run(labels, nullptr, progress_.bestValue(), budget_);
    if (!entries) return;
    std::vector<double> cut(labels.units + 1, kInfinity);
    for (const StageEntry& entry : *entries) cut[entry.to] = entry.load;
    std::vector<StageEntry> wanted;
    for (const std::uint32_t at : cheapestBoundaries(cut, labels.unit, stages_, kInfinity))
      wanted.push_back({0, at, cut[at]});
    if (wanted.empty()) return;
    std::vector<Held> ideals_held;
    for (const auto& sides : sweep.stages(wanted, labels, budget_))
      ideals_held.push_back(heldBy(sides, Side::kInside));
    if (!ideals_held.empty()) offer(ideals_held);
  }

  void raise(const StageDiagram& diagram) {
    StageSweep sweep(model_, diagram);
    std::optional<StageMask> mask;
    for (std::size_t count = kUnitsPerStage * stages_; count <= kMostUnits; count *= 2) {
      const StageLabels labels(model_, diagram, count);
      const auto entries = sweep.run(labels, mask ? &*mask : nullptr, cutoff(), budget_);
      if (!entries) return;
      const StagePaths paths(*entries, labels.all(), stages_);
      progress_.bound(std::min(paths.bound() * (1 - kRounding), cutoff()), kName);
      std::fprintf(stderr, "  t %.2f units %zu entries %zu bound %.5f of %.5f\n", budget_.elapsedSeconds(),
                   count, entries->size(), paths.bound() * 1e3, cutoff() * 1e3);
      if (progress_.done() || !paths.found()) return;
      tryPath(paths.best(), sweep, labels);
      if (progress_.done()) return;
      const StageLabels finer(model_, diagram, 2 * count);
      mask = finerMask(*entries, paths.used(), labels, finer);
    }
  }

  // The pairs of finer labels that stages in use may have.
  StageMask finerMask(std::span<const StageEntry> entries, std::span<const std::uint8_t> used,
                      const StageLabels& labels, const StageLabels& finer) const {
    StageMask known(labels.units);
    for (std::size_t e = 0; e < entries.size(); ++e) {
      if (used[e]) known.allow(StageLabels::unitsOf(entries[e].from), StageLabels::unitsOf(entries[e].to));
    }
    known.finish();
    // The work of an ideal lies between those of its units with the least and the most rest.
    const auto first = [&](std::uint32_t units) {
      const double work = finer.unit * units + finer.least_rest;
      return static_cast<std::int64_t>(std::floor((work - labels.most_rest) / labels.unit * (1 - 1e-9)));
    };
    const auto last = [&](std::uint32_t units) {
      const double work = finer.unit * units + finer.most_rest;
      return static_cast<std::int64_t>(std::ceil((work - labels.least_rest) / labels.unit * (1 + 1e-9)));
    };
    StageMask mask(finer.units);
    for (std::uint32_t i = 0; i <= finer.units; ++i) {
      if (!known.any(first(i), last(i), 0, labels.units)) continue;
      for (std::uint32_t j = i; j <= finer.units; ++j) {
        if (known.any(first(i), last(i), first(j), last(j))) mask.allow(i, j);
      }
    }
    mask.finish();
    return mask;
  }

  // Plans whose boundaries are the ideals that the stages of the path begin with, or end with.
  void tryPath(std::span<const StageEntry> path, StageSweep& sweep, const StageLabels& labels) {
    const auto stages = sweep.stages(path, labels, budget_);
    if (stages.empty()) return;
    std::vector<Held> ends, begins;
    for (std::size_t b = 0; b + 1 < stages.size(); ++b) {
      ends.push_back(heldBy(stages[b], Side::kInside));
      begins.push_back(heldBy(stages[b + 1], Side::kBefore));
    }
    offer(ends);
    offer(begins);
  }

  static Held heldBy(const std::vector<Side>& sides, Side last) {
    Held held;
    for (const Side side : sides) held.push_back(side <= last ? 1 : 0);
    return held;
  }

  // The plan with these boundaries, each taken together with all before it, and one near it.
  void offer(std::span<const Held> boundaries) {
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
    LinePlan near = line_.fromPlan(plan);
    std::fprintf(stderr, "  t %.2f offer %zu stages line %g", budget_.elapsedSeconds(), plan.stages.size(),
                 near.found() ? lineValue(line_, near) * 1e3 : -1);
    progress_.plan(std::move(plan), kName);
    if (!near.found() ||
        !refineFits(line_, near.stages.size(), static_cast<double>(budget_.memory_bytes) / 4))
      return;
    near = refineChain(line_, std::move(near), {.moves = kRefineMoves, .heat = 0.03, .seed = budget_.seed},
                       budget_);
    std::fprintf(stderr, " refined %g t %.2f\n", near.value * 1e3, budget_.elapsedSeconds());
    if (near.value < progress_.bestValue()) progress_.plan(line_.toPlan(near), kName);
  }
};

}  // namespace

bool boundByStages(const PipelineModel& model, std::size_t stages, const Budget& budget, Progress& progress) {
  if (model.itemCount() > kMostItems) return false;
  return StageBound(model, stages, budget, progress).run();
}

}  // namespace allot
