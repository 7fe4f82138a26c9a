// Tables of the least loads of stages, against enumeration of all pairs of ideals, and the bounds from them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>

#include "allot/allot.h"
#include "solve/throughput/position_bound.h"
#include "solve/throughput/stage_bound.h"
#include "solve/throughput/stage_order.h"
#include "solve/throughput/stage_path.h"
#include "solve/throughput/stage_sweep.h"
#include "support/random_pipeline.h"
#include "support/random_problem.h"
#include "support/small_chains.h"
#include "support/wide_graphs.h"

namespace allot {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::uint32_t unitsOf(Set set, const StageUnits& units) {
  std::uint32_t sum = 0;
  for (std::uint32_t v = 0; v < units.item.size(); ++v) sum += holds(set, v) ? units.item[v] : 0;
  return sum;
}

struct Least {
  double load, cut;
};
using Table = std::map<std::pair<std::uint32_t, std::uint32_t>, Least>;

Table enumerated(const PipelineModel& model, const StageUnits& units, double cutoff) {
  Table table;
  const std::vector<Set> ideals = allIdeals(model);
  for (const Set first : ideals) {
    for (const Set last : ideals) {
      if ((first & ~last) != 0) continue;
      const Set stage = last & ~first;
      const double cut = cutOf(model, stage), load = sumOver(stage, model.seconds) + cut;
      if (load > cutoff) continue;
      const std::pair key(unitsOf(first, units), unitsOf(last, units));
      Least& least = table.emplace(key, Least{load, cut}).first->second;
      least.load = std::min(least.load, load);
      least.cut = std::min(least.cut, cut);
    }
  }
  return table;
}

TEST(StageOrder, IsTopological) {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    Random random(seed, 41);
    const Problem problem = finished(draftPipeline(random, chainModes(random), smallShape(random)));
    const PipelineModel model(problem, PipelineModel::Items::kBlocks);
    const std::vector<std::uint32_t> order = stageOrder(model);
    ASSERT_EQ(order.size(), model.itemCount());
    std::vector<std::size_t> place(order.size(), SIZE_MAX);
    for (std::size_t i = 0; i < order.size(); ++i) place[order[i]] = i;
    for (std::uint32_t v = 0; v < order.size(); ++v) {
      for (const std::uint32_t u : model.before[v]) EXPECT_LT(place[u], place[v]);
    }
  }
}

TEST(StageSweep, IsThatOfAllPairsOfIdeals) {
  int taken = 0;
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    Random random(seed, 42);
    const auto problem = likeDevices(random, smallShape(random));
    if (!problem) continue;
    SCOPED_TRACE("seed " + std::to_string(seed) + ", " + describe(*problem));
    const PipelineModel model(*problem, PipelineModel::Items::kBlocks);
    RunOptions run;
    run.threads = 1 + random.below(2);
    const Budget budget(run, nullptr);
    double work = 0;
    for (const double seconds : model.seconds) work += seconds;
    if (work <= 0) continue;
    const double cutoff = random.chance(0.3) ? kInfinity : (0.2 + 0.2 * random.below(8)) * work;
    const StageDiagram diagram(model, stageOrder(model), StageDiagram::Paths::kStages, cutoff, budget);
    ASSERT_TRUE(diagram.built);
    const StageDiagram ideals(model, stageOrder(model), StageDiagram::Paths::kIdeals, kInfinity, budget);
    ASSERT_TRUE(ideals.built);
    const StageUnits units(model, ideals, 1 + random.below(30));
    const Table expected = enumerated(model, units, cutoff);
    std::vector<double> least_work(units.all + 1, kInfinity), most_work(units.all + 1, -kInfinity);
    for (const Set ideal : allIdeals(model)) {
      const std::uint32_t mine = unitsOf(ideal, units);
      least_work[mine] = std::min(least_work[mine], sumOver(ideal, model.seconds));
      most_work[mine] = std::max(most_work[mine], sumOver(ideal, model.seconds));
    }
    for (std::uint32_t u = 0; u <= units.all; ++u) {
      ASSERT_EQ(least_work[u] < kInfinity, units.least_work[u] < kInfinity);
      if (least_work[u] == kInfinity) continue;
      EXPECT_NEAR(units.least_work[u], least_work[u], 1e-9);
      EXPECT_NEAR(units.most_work[u], most_work[u], 1e-9);
    }
    WalkCrew crew(run.threads);
    StageSweep sweep(model, diagram, crew);
    const auto entries = sweep.run(units, nullptr, cutoff, budget);
    ASSERT_TRUE(entries);
    ASSERT_EQ(entries->size(), expected.size());
    StageMask mask(units.all);
    std::size_t allowed = 0;
    for (const StageEntry& entry : *entries) {
      ASSERT_TRUE(expected.contains({entry.from, entry.to}));
      const Least& least = expected.at({entry.from, entry.to});
      EXPECT_NEAR(entry.load, least.load, 1e-9);
      // Below a cut-off that of a stage that turns out to be above it may be less.
      if (cutoff == kInfinity) EXPECT_NEAR(entry.cut, least.cut, 1e-6 * least.load);
      EXPECT_LE(entry.cut, least.cut * (1 + 1e-12));
      if (!random.chance(0.4)) continue;
      mask.allow(entry.from, entry.to);
      ++allowed;
    }
    // Stages of these values exist.
    const auto stages = sweep.stages(*entries, units, cutoff, budget);
    ASSERT_EQ(stages.size(), entries->size());
    for (std::size_t i = 0; i < stages.size(); ++i) {
      Set first = 0, last = 0;
      for (std::uint32_t v = 0; v < model.itemCount(); ++v) {
        first |= stages[i][v] == Side::kBefore ? 1u << v : 0;
        last |= stages[i][v] != Side::kBehind ? 1u << v : 0;
        for (const std::uint32_t u : model.before[v]) EXPECT_LE(stages[i][u], stages[i][v]);
      }
      EXPECT_EQ(unitsOf(first, units), (*entries)[i].from);
      EXPECT_EQ(unitsOf(last, units), (*entries)[i].to);
      const Set stage = last & ~first;
      EXPECT_NEAR(sumOver(stage, model.seconds) + cutOf(model, stage), (*entries)[i].load, 1e-9);
    }
    // A mask loses nothing that it allows.
    mask.finish();
    const auto masked = sweep.run(units, &mask, cutoff, budget);
    ASSERT_TRUE(masked);
    std::size_t found = 0;
    for (const StageEntry& entry : *masked) {
      if (!mask.any(entry.from, entry.from, entry.to, entry.to)) continue;
      ++found;
      EXPECT_NEAR(entry.load, expected.at({entry.from, entry.to}).load, 1e-9);
    }
    EXPECT_EQ(found, allowed);
    ++taken;
  }
  EXPECT_GT(taken, 500);
}

TEST(StageSweep, IsTheSameForAnyNumberOfThreads) {
  WideOptions options;
  options.devices = 4;
  const auto problem = headGraph(3, 4, 3, options);
  ASSERT_TRUE(problem);
  const PipelineModel model(*problem, PipelineModel::Items::kBlocks);
  const Budget budget(RunOptions{}, nullptr);
  const StageDiagram ideals(model, stageOrder(model), StageDiagram::Paths::kIdeals, kInfinity, budget);
  const StageDiagram diagram(model, stageOrder(model), StageDiagram::Paths::kStages, kInfinity, budget);
  ASSERT_TRUE(ideals.built && diagram.built);
  const StageUnits units(model, ideals, 600);
  std::vector<StageEntry> first;
  for (const std::size_t workers : {1, 2, 3}) {
    WalkCrew crew(workers);
    StageSweep sweep(model, diagram, crew);
    const auto entries = sweep.run(units, nullptr, kInfinity, budget);
    ASSERT_TRUE(entries);
    EXPECT_GT(sweep.cells(), 500'000u);  // enough for threads to take part
    if (first.empty()) first = *entries;
    ASSERT_EQ(entries->size(), first.size());
    for (std::size_t i = 0; i < first.size(); ++i) {
      EXPECT_EQ((*entries)[i].from, first[i].from);
      EXPECT_EQ((*entries)[i].to, first[i].to);
      EXPECT_EQ((*entries)[i].load, first[i].load);
      EXPECT_EQ((*entries)[i].cut, first[i].cut);
    }
  }
}

// The boundaries of every chain within a limit are at or behind what paths need, and its value is no lower
// than theirs.
TEST(StagePaths, BoundEveryChain) {
  int taken = 0, close = 0;
  for (std::uint64_t seed = 0; seed < 1500; ++seed) {
    Random random(seed, 47);
    const auto problem = likeDevices(random, smallShape(random));
    if (!problem) continue;
    SCOPED_TRACE("seed " + std::to_string(seed) + ", " + describe(*problem));
    const PipelineModel model(*problem, PipelineModel::Items::kBlocks);
    const std::size_t count = model.pools[0].devices.size();
    const std::vector<Set> ideals = allIdeals(model);
    const auto least = leastLoads(model, ideals, count);
    const double best = least[count][0];
    if (best <= 0) continue;
    const Budget budget(RunOptions{}, nullptr);
    const double limit = best * (1 + 0.1 * random.below(5) + 1e-9), cutoff = 2 * limit;
    const StageDiagram all(model, stageOrder(model), StageDiagram::Paths::kIdeals, kInfinity, budget);
    const StageDiagram diagram(model, stageOrder(model), StageDiagram::Paths::kStages, cutoff, budget);
    const StageUnits units(model, all, 1 + random.below(40));
    WalkCrew crew(1);
    StageSweep sweep(model, diagram, crew);
    const auto entries = sweep.run(units, nullptr, cutoff, budget);
    ASSERT_TRUE(entries);
    const StagePaths paths(*entries, units, count);
    const double value = paths.value(0, cutoff);
    EXPECT_LE(value, best * (1 + 1e-9));
    close += value >= best * (1 - 1e-6) ? 1 : 0;
    const std::vector<double> needed = paths.needed(limit);
    const std::vector<double> work = windowsOf(model, ideals, least, limit).work;
    ASSERT_EQ(needed.size(), work.size());
    for (std::size_t b = 0; b < work.size(); ++b) EXPECT_LE(needed[b], work[b] + 1e-9) << b;
    // The path is one: it begins with nothing, ends with everything, and every stage is within the limit.
    std::uint32_t at = 0;
    const StageMask used = paths.used(limit);
    for (const StageEntry& entry : paths.path(limit)) {
      EXPECT_EQ(entry.from, at);
      EXPECT_LE(entry.load, limit);
      EXPECT_TRUE(used.any(entry.from, entry.from, entry.to, entry.to));
      at = entry.to;
    }
    EXPECT_EQ(at, units.all);
    ++taken;
  }
  EXPECT_GT(taken, 300);
  EXPECT_GT(close, taken / 4);
}

// Hears bounds; keeps the plan it was given.
class Listener final : public Progress {
 public:
  explicit Listener(Plan plan) : plan_(std::move(plan)) {}
  double best_bound = 0;
  int plans = 0;
  double best_offer = kInfinity;
  const Problem* problem = nullptr;

  bool plan(Plan decisions, std::string_view) override {
    ++plans;
    const Evaluation evaluation = evaluate(*problem, std::move(decisions));
    if (evaluation.violations.empty()) best_offer = std::min(best_offer, evaluation.plan.value);
    return false;
  }
  void bound(double bound, std::string_view) override { best_bound = std::max(best_bound, bound); }
  double bestValue() const override { return plan_.value; }
  double bestBound() const override { return best_bound; }
  const Plan* bestPlan() const override { return &plan_; }
  bool done() const override { return best_bound >= plan_.value * (1 - kOptimalGap); }

 private:
  Plan plan_;
};

TEST(StageBound, IsNeverAboveTheBestChain) {
  int taken = 0, tight = 0;
  for (std::uint64_t seed = 0; seed < 600; ++seed) {
    Random random(seed, 43);
    const auto problem = likeDevices(random, smallShape(random));
    if (!problem) continue;
    SCOPED_TRACE("seed " + std::to_string(seed) + ", " + describe(*problem));
    const std::optional<double> best = bruteForceChain(*problem);
    if (!best || *best <= 0) continue;
    RunOptions run;
    run.threads = 1;
    run.solver = "single";
    const SolveOutcome start = solve(*problem, run);
    if (!start.plan.hasPlan()) continue;
    PipelineModel model(*problem, PipelineModel::Items::kBlocks);
    if (random.chance(0.5)) model.joinFreeItems(true);
    const Budget budget(run, nullptr);
    Listener listener(start.plan);
    listener.problem = problem.get();
    ASSERT_TRUE(boundByStages(model, model.pools[0].devices.size(), budget, listener));
    EXPECT_LE(listener.best_bound, *best * (1 + 1e-9));
    tight += listener.best_bound >= *best * (1 - 1e-6) ? 1 : 0;
    ++taken;
  }
  EXPECT_GT(taken, 100);
  EXPECT_GT(tight, taken / 2);
}

// Four branches of forty ops have 41^4 ideals and far too many pairs of them, but few items are open at a
// time.
TEST(StageBound, ClosesTheGapWherePairsOfIdealsCannotBeListed) {
  WideOptions options;
  options.devices = 4;
  options.transfer = 0.5;
  const auto problem = branchGraph(4, 40, options);
  ASSERT_TRUE(problem);
  const SolveOutcome outcome = solveFromLinearDp(*problem, "chain", 0.01);
  ASSERT_TRUE(outcome.message.empty()) << outcome.message;
  EXPECT_LE(outcome.plan.gap(), 0.01);
}

}  // namespace
}  // namespace allot
