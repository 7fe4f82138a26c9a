// The price bound is never above the optimum, and reaches it where it should.
#include "solve/throughput/packing_bound.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "allot/allot.h"
#include "solve/throughput/price_diagram.h"
#include "solve/throughput/price_order.h"
#include "solve/throughput/price_sweep.h"
#include "support/brute_force.h"
#include "support/random_problem.h"

namespace allot {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Budget smallBudget() {
  RunOptions run;
  run.time_limit_seconds = 60;
  return Budget(run, nullptr);
}

std::vector<std::uint32_t> subset(std::uint32_t mask, std::size_t items) {
  std::vector<std::uint32_t> out;
  for (std::uint32_t v = 0; v < items; ++v) {
    if ((mask >> v) & 1) out.push_back(v);
  }
  return out;
}

// Load of a set by the definition; infinite where it may not run.
double loadOf(const PipelineModel& model, std::size_t pool, std::uint32_t mask) {
  double load = 0;
  for (const std::uint32_t v : subset(mask, model.itemCount())) {
    if (!model.runs(v, pool)) return kInfinity;
    load += model.time(v, pool);
  }
  for (std::size_t e = 0; e < model.netCount(); ++e) {
    std::size_t in = 0;
    for (const std::uint32_t v : model.net_items[e]) in += (mask >> v) & 1;
    if (in > 0 && in < model.net_items[e].size())
      load += model.cost(e, pool, (mask >> model.net_producer[e]) & 1);
  }
  return load;
}

TEST(PackingBound, NeverAboveTheOptimum) {
  std::size_t tried = 0, closed = 0;
  for (std::uint64_t seed = 0; tried < 2000; ++seed) {
    const Problem problem = randomProblem(seed, Goal::kThroughput, {6, 4});
    if (!packingBoundAccepts(problem)) continue;
    const auto best = bruteForce(problem);
    if (!best) continue;
    SCOPED_TRACE("seed " + std::to_string(seed) + ", " + describe(problem));
    ++tried;
    const Budget budget = smallBudget();
    PipelineModel model(problem, PipelineModel::Items::kUnits);
    if (seed % 2 == 0) model.joinFreeItems(false);
    // Without a known value, with the best one, or with one above it.
    const double upper = std::array{kInfinity, *best, 1.3 * *best + 0.1}[seed % 3];
    const double bound = packingBound(model, {.upper = upper}, budget, BoundBy::kPrices).bound;
    ASSERT_LE(bound, *best * (1 + 1e-9)) << "upper " << upper;
    closed += bound >= *best * (1 - 1e-9);
  }
  // Most tiny problems are closed outright.
  EXPECT_GT(closed, tried / 3);
}

// A value that is a hair too large to be called proven, and too close to what is refuted for another sweep to
// help, must not keep it busy.
TEST(PackingBound, EndsWhereAHairIsMissing) {
  std::size_t tried = 0;
  for (std::uint64_t seed = 0; tried < 200; ++seed) {
    const Problem problem = randomProblem(seed, Goal::kThroughput, {6, 4});
    if (!packingBoundAccepts(problem)) continue;
    const auto best = bruteForce(problem);
    if (!best || *best <= 0) continue;
    ++tried;
    SCOPED_TRACE("seed " + std::to_string(seed) + ", " + describe(problem));
    const PipelineModel model(problem, PipelineModel::Items::kUnits);
    for (const double hair : {3e-10, 6e-10, 9e-10, 1.2e-9, 1.5e-9}) {
      const Budget budget = smallBudget();
      const double bound = packingBound(model, {.upper = *best * (1 + hair)}, budget, BoundBy::kPrices).bound;
      EXPECT_LE(bound, *best * (1 + 1e-10));
      EXPECT_LT(budget.elapsedSeconds(), 10);
    }
  }
}

// Threads start after some milliseconds, so the problems are not tiny.
TEST(PackingBound, IsTheSameForAnyNumberOfThreads) {
  std::size_t tried = 0, sweeps = 0;
  for (std::uint64_t seed = 0; tried < 20; ++seed) {
    const Problem problem = randomProblem(seed, Goal::kThroughput, {30, 4});
    if (!packingBoundAccepts(problem) || problem.unitCount() < 15) continue;
    ++tried;
    SCOPED_TRACE("seed " + std::to_string(seed) + ", " + describe(problem));
    const PipelineModel model(problem, PipelineModel::Items::kUnits);
    Budget alone = smallBudget(), crew = smallBudget();
    alone.threads = 1;
    crew.threads = 3;
    const PackingBoundReport one = packingBound(model, {.upper = kInfinity}, alone, BoundBy::kPrices);
    const PackingBoundReport many = packingBound(model, {.upper = kInfinity}, crew, BoundBy::kPrices);
    EXPECT_EQ(one.bound, many.bound);
    EXPECT_EQ(one.sweeps, many.sweeps);
    sweeps += one.sweeps;
  }
  EXPECT_GT(sweeps, 10 * tried);
}

// On every set of tiny problems: the diagram's cheapest path is its load, or less when nets were forgotten.
// Sets that do not fit into memory altogether may have a path or not.
TEST(PackingBound, SweepFindsTheBestSet) {
  std::size_t tried = 0, dropped = 0, dearer = 0;
  for (std::uint64_t seed = 0; tried < 1500; ++seed) {
    // With more items, more layers are computed again for the way back.
    const Problem problem = randomProblem(seed, Goal::kThroughput, {seed % 8 == 0 ? 12u : 7u, 3});
    if (problem.modes.overlap != Overlap::kSum) continue;
    const PipelineModel model(problem, PipelineModel::Items::kUnits);
    const std::size_t n = model.itemCount();
    if (n == 0) continue;
    ++tried;
    SCOPED_TRACE("seed " + std::to_string(seed) + ", " + describe(problem));
    Random random(seed, 3);
    std::vector<std::uint32_t> prize(n);
    for (std::uint32_t& p : prize) p = random.below(20);
    const SweepOrder order = sweepOrder(model, Budget({}, nullptr));
    ASSERT_EQ(order.items.size(), n);
    const std::size_t width = seed % 3 == 0 ? 2 : 1000;
    const double limit = seed % 4 == 0 ? 1e9 : 6;
    for (std::size_t k = 0; k < model.poolCount(); ++k) {
      const PriceDiagram diagram(model, k, order.items, limit, width, Budget({}, nullptr));
      PriceSweep sweep(diagram);
      std::uint32_t total = 0;
      for (const std::uint32_t p : prize) total += p;
      const std::uint32_t need = random.below(total + 1), cap = need + random.below(total + 2);
      ASSERT_TRUE(sweep.run(prize, need, cap, limit, smallBudget()));
      const LeastLoads found = sweep.leastLoads();
      std::vector<PriceSweep::Wish> wishes;
      std::vector<double> least(cap + 1, kInfinity), least_fitting = least;
      for (std::uint32_t mask = 0; mask < (1u << n); ++mask) {
        bool each_fits = true;
        std::uint32_t worth = 0;
        double bytes = 0;
        for (const std::uint32_t v : subset(mask, n)) {
          each_fits = each_fits && model.resident[v] <= model.pools[k].memory;
          bytes += static_cast<double>(model.resident[v]);
          worth += prize[v];
        }
        const double load = loadOf(model, k, mask);
        if (!each_fits || load > limit) continue;
        dropped += bytes > model.pools[k].memory;
        for (std::uint32_t p = 0; p <= std::min(worth, cap); ++p) {
          least[p] = std::min(least[p], load);
          if (bytes <= model.pools[k].memory) least_fitting[p] = std::min(least_fitting[p], load);
        }
      }
      for (std::uint32_t p = need; p <= cap; ++p) {
        const double load = found.leastLoad(p);
        ASSERT_LE(load, least_fitting[p] + 1e-9) << "prize " << p;
        if (!diagram.complete) continue;
        ASSERT_GE(load, least[p] - 1e-9) << "prize " << p;
        dearer += load > least[p] + 1e-9;
        if (load == kInfinity) continue;
        wishes.push_back({p, load + 1e-9, false});
        wishes.push_back({p, load + random.unit(), true});
      }
      const auto sets = sweep.sets(wishes, random);
      ASSERT_EQ(sets.size(), wishes.size());
      for (std::size_t i = 0; i < wishes.size(); ++i) {
        std::uint32_t mask = 0, worth = 0;
        for (const std::uint32_t v : sets[i]) {
          mask |= 1u << v;
          worth += prize[v];
        }
        ASSERT_GE(worth, wishes[i].prize);
        ASSERT_LE(loadOf(model, k, mask), wishes[i].load + 1e-9);
      }
    }
  }
  EXPECT_GT(dropped, 1000u);
  EXPECT_GT(dearer, 1000u);
}

// Three ops of 1 s in a row on two like accelerators, tensors of 10 s between them: whoever cuts a tensor
// pays for it, so all three belong on one device and the value is 3. Average work says 1.5.
TEST(PackingBound, HeavyTensorsKeepOpsTogether) {
  const char* text = R"({"schema": "allot.problem/1", "goal": "throughput",
    "classes": [{"name": "a", "kind": "accelerator"}],
    "devices": [{"name": "d0", "class": "a"}, {"name": "d1", "class": "a"}],
    "ops": [{"name": "x", "time": [1]}, {"name": "y", "time": [1]}, {"name": "z", "time": [1]}],
    "tensors": [{"from": "x", "to": ["y"], "time": 10}, {"from": "y", "to": ["z"], "time": 10}],
    "options": {"contiguity": "none", "transfers": "via-host"}})";
  Warnings warnings;
  const auto problem = readProblem(text, "inline", {}, nullptr, warnings);
  ASSERT_TRUE(problem.has_value()) << problem.error().text();
  const PipelineModel model(*problem, PipelineModel::Items::kUnits);
  EXPECT_NEAR(packingBound(model, {.upper = 3}, smallBudget(), BoundBy::kPrices).bound, 3, 1e-8);
  EXPECT_NEAR(packingBound(model, {.upper = kInfinity}, smallBudget(), BoundBy::kPrices).bound, 3, 1e-8);
}

// Two ops of 6 bytes on accelerators of 10 bytes: one of them must pay for the tensor between them, or run on
// the cpu. Neither compute nor memory alone says so.
TEST(PackingBound, SeesThatHeavyTensorsDoNotFitWithTheirEnds) {
  const char* text = R"({"schema": "allot.problem/1", "goal": "throughput",
"classes": [{"name": "a", "kind": "accelerator"}, {"name": "c", "kind": "cpu"}],
"devices": [{"name": "a0", "class": "a", "memory": 10}, {"name": "a1", "class": "a", "memory": 10},
            {"name": "c0", "class": "c"}],
"ops": [{"name": "x", "time": [1, 20], "memory": 6}, {"name": "y", "time": [1, 30], "memory": 6}],
"tensors": [{"from": "x", "to": ["y"], "time": 8}]})";
  Warnings warnings;
  const auto problem = readProblem(text, "inline", {}, nullptr, warnings);
  ASSERT_TRUE(problem.has_value()) << problem.error().text();
  const PipelineModel model(*problem, PipelineModel::Items::kUnits);
  EXPECT_NEAR(packingBound(model, {.upper = 9}, smallBudget(), BoundBy::kItems).bound, 9, 1e-6);
}

TEST(PackingBound, StopsInTime) {
  RunOptions run;
  run.time_limit_seconds = 0.2;
  const Problem problem = [] {
    Problem p;
    DeviceClass cls;
    cls.name = "a";
    cls.kind = DeviceKind::kAccelerator;
    p.cluster.classes.push_back(cls);
    for (int d = 0; d < 8; ++d) {
      Device device;
      device.name = "d" + std::to_string(d);
      device.cls = ClassId(0);
      p.cluster.devices.push_back(device);
    }
    Random random(5);
    for (int i = 0; i < 600; ++i) {
      p.graph.addOp("op" + std::to_string(i));
      p.op_seconds.push_back(0.1 + random.unit());
    }
    for (std::uint32_t i = 0; i + 1 < 600; ++i) {
      std::vector<OpId> to{OpId(i + 1)};
      if (i + 20 < 600) to.push_back(OpId(i + 2 + random.below(18)));
      p.addTensor(OpId(i), to, 0, random.unit());
    }
    p.modes.goal = Goal::kThroughput;
    p.modes.transfers = Transfers::kViaHost;
    p.modes.contiguity = Contiguity::kNone;
    EXPECT_TRUE(p.finish().has_value());
    return p;
  }();
  const PipelineModel model(problem, PipelineModel::Items::kUnits);
  const Budget budget(run, nullptr);
  const PackingBoundReport report = packingBound(model, {.upper = kInfinity}, budget, BoundBy::kPrices);
  EXPECT_LT(budget.elapsedSeconds(), 2.0);
  EXPECT_GT(report.bound, 0);
}

// Values known for the public inputs, in milliseconds: no bound may pass them.
TEST(PackingBound, ClosesPublicInputs) {
  const char* data = std::getenv("ALLOT_DATA");
  if (data == nullptr) GTEST_SKIP() << "set ALLOT_DATA to a folder with dnn-partitioning";
  const std::filesystem::path folder = std::filesystem::path(data) / "dnn-partitioning" / "throughput";
  struct Known {
    const char* file;
    double value;
  };
  for (const Known& known : {Known{"OperatorGraphs/bert_l-3_inference.json", 21.9084},
                             Known{"OperatorGraphs/resnet50_inference.json", 124.348849774},
                             Known{"LayerGraphs/bert24_training.json", 39.7895}}) {
    std::ifstream file(folder / known.file);
    if (!file) GTEST_SKIP() << known.file << " is not there";
    std::stringstream text;
    text << file.rdbuf();
    Warnings warnings;
    auto problem = readProblem(text.str(), known.file, {}, nullptr, warnings);
    ASSERT_TRUE(problem.has_value());
    Modes modes = problem->modes;
    modes.goal = Goal::kThroughput;
    modes.contiguity = Contiguity::kNone;
    ASSERT_TRUE(problem->setModes(modes).has_value());
    const PipelineModel model(*problem, PipelineModel::Items::kUnits);
    const double bound =
        packingBound(model, {.upper = kInfinity}, smallBudget(), BoundBy::kPrices).bound * 1e3;
    EXPECT_LE(bound, known.value * (1 + 1e-5)) << known.file;
    EXPECT_GE(bound, known.value * (1 - 1e-3)) << known.file;
  }
}

}  // namespace
}  // namespace allot
