// The search for pipelines without contiguity, and the loads it keeps while items move.
#include "solve/throughput/free_search.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <limits>

#include "allot/formats.h"
#include "base/file_io.h"
#include "evaluate/load_state.h"
#include "solve/collector.h"
#include "solve/throughput/price_cover.h"
#include "support/brute_force.h"
#include "support/random_problem.h"

namespace allot {
namespace {

RunOptions withWork(std::uint64_t work, std::uint32_t threads = 1) {
  RunOptions run;
  run.work_limit = work;
  run.threads = threads;
  return run;
}

// The best value and plan of the search alone.
Plan search(const Problem& problem, const RunOptions& run) {
  const Budget budget(run, nullptr);
  Collector collector(problem, budget, {});
  const SolveResult result = solveFreeSearch(problem, budget, collector);
  EXPECT_EQ(result.end, SolveEnd::kFinished);
  EXPECT_TRUE(collector.internalError().empty()) << collector.internalError();
  return collector.take(false, "");
}

// Calls `test` with the random problems that the search accepts.
template <class Test>
void overRandomProblems(std::uint64_t first, std::uint64_t seeds, const RandomLimits& limits, Test&& test) {
  for (std::uint64_t seed = first; seed < first + seeds; ++seed) {
    Problem problem = randomProblem(seed, Goal::kThroughput, limits);
    Modes modes = problem.modes;
    modes.contiguity = Contiguity::kNone;
    modes.training_load = TrainingLoad::kSum;
    modes.replicate = modes.in_flight = false;
    modes.max_stages = 0;
    if (problem.transfers() != Transfers::kViaHost || !problem.setModes(modes)) continue;
    SCOPED_TRACE(describe(problem) + " seed " + std::to_string(seed));
    ASSERT_TRUE(freeSearchAccepts(problem));
    test(problem, seed);
  }
}

TEST(NetState, FollowsTheEvaluatorAndUndoesExactly) {
  overRandomProblems(1, 600, {.ops = 12, .devices = 4}, [](const Problem& problem, std::uint64_t seed) {
    const PipelineModel model(problem, PipelineModel::Items::kUnits);
    Random random(seed, 5);
    const auto devices = static_cast<std::uint32_t>(problem.deviceCount());
    std::vector<Place> places(model.itemCount());
    for (std::uint32_t i = 0; i < places.size(); ++i) {
      std::uint32_t tries = 0;
      do places[i] = static_cast<Place>(random.below(devices));
      while (!problem.allowed(model.item_units[i].front(), DeviceId(places[i])) && ++tries < 1000);
      if (tries == 1000) return;
    }
    NetState state(model);
    state.assign(places);
    for (int round = 0; round < 20; ++round) {
      state.mark();
      const std::vector<Place> before(state.places().begin(), state.places().end());
      std::vector<double> loads;
      for (Place d = 0; d < devices; ++d) loads.push_back(state.load(d));
      for (std::uint32_t m = 0; m < 1 + random.below(4); ++m) {
        const std::uint32_t item = random.below(static_cast<std::uint32_t>(model.itemCount()));
        const Place to = static_cast<Place>(random.below(devices));
        if (to != state.place(item) && state.runs(item, to)) state.move(item, to);
      }
      std::vector<DeviceId> by_item;
      for (const Place place : state.places()) by_item.emplace_back(place);
      const LoadState fresh(problem, model.assignment(by_item));
      for (Place d = 0; d < devices; ++d) {
        EXPECT_NEAR(state.load(d), fresh.load(DeviceId(d)), 1e-9);
        EXPECT_EQ(state.sums(d).resident, fresh.resident(DeviceId(d)));
      }
      if (random.below(2) == 0) continue;
      state.undo();
      EXPECT_EQ(before, std::vector<Place>(state.places().begin(), state.places().end()));
      for (Place d = 0; d < devices; ++d) EXPECT_EQ(state.load(d), loads[d]);
    }
  });
}

TEST(FreeSearch, FindsTheBestOfTinyProblems) {
  std::size_t problems = 0, found = 0;
  overRandomProblems(1000, 4000, {.ops = 6, .devices = 3}, [&](const Problem& problem, std::uint64_t) {
    const auto best = bruteForce(problem);
    const Plan plan = search(problem, withWork(12'000));
    if (!best) {
      EXPECT_FALSE(plan.hasPlan());
      return;
    }
    ++problems;
    if (!plan.hasPlan()) return;
    EXPECT_GE(plan.value, *best - 1e-9);
    found += plan.value <= *best + 1e-9 ? 1 : 0;
  });
  RecordProperty("problems", static_cast<int>(problems));
  RecordProperty("found", static_cast<int>(found));
  EXPECT_GT(problems, 500u);
  EXPECT_GE(found * 1000, problems * 997) << found << " of " << problems;
}

TEST(FreeSearch, SameAnswerForAnyNumberOfThreads) {
  overRandomProblems(7000, 20, {.ops = 40, .devices = 5}, [](const Problem& problem, std::uint64_t) {
    const Plan one = search(problem, withWork(60'000, 1));
    for (const std::uint32_t threads : {2u, 3u}) {
      const Plan more = search(problem, withWork(60'000, threads));
      EXPECT_EQ(one.value, more.value);
      EXPECT_EQ(one.assignment, more.assignment);
    }
  });
}

// Two accelerators of 10 bytes, a slow cpu without a limit; four ops of 1 second and 5 bytes on either
// accelerator. `bytes` is the size of the last one.
Problem tightProblem(std::int64_t bytes) {
  Problem problem;
  const auto text = R"({"schema": "allot.problem/1", "goal": "throughput",
    "options": {"contiguity": "none", "transfers": "via-host"},
    "classes": [{"name": "a", "kind": "accelerator"}, {"name": "c", "kind": "cpu"}],
    "devices": [{"name": "a0", "class": "a", "memory": 10}, {"name": "a1", "class": "a", "memory": 10},
                {"name": "c0", "class": "c"}],
    "ops": [{"name": "p", "time": [1, 7], "memory": 5}, {"name": "q", "time": [1, 7], "memory": 5},
            {"name": "r", "time": [1, 7], "memory": 5}, {"name": "s", "time": [1, 7], "memory": )" +
                    std::to_string(bytes) + R"(}], "tensors": []})";
  Warnings warnings;
  auto read = readProblem(text, "tight.json", {}, nullptr, warnings);
  EXPECT_TRUE(read.has_value()) << (read ? "" : read.error().message);
  if (read) problem = std::move(*read);
  return problem;
}

// Ten bytes each: two and two, 2 seconds. One byte more and one op must go to the cpu: 7 seconds.
TEST(FreeSearch, KeepsMemoryToTheByte) {
  EXPECT_DOUBLE_EQ(search(tightProblem(5), withWork(20'000)).value, 2);
  EXPECT_DOUBLE_EQ(search(tightProblem(6), withWork(20'000)).value, 7);
}

TEST(FreeSearch, StopsInTime) {
  bool tried = false;
  overRandomProblems(1, 20, {.ops = 400, .devices = 8}, [&](const Problem& problem, std::uint64_t) {
    if (tried || problem.deviceCount() < 2) return;
    tried = true;
    RunOptions run;
    run.time_limit_seconds = 0.2;
    const Budget budget(run, nullptr);
    Collector collector(problem, budget, {});
    solveFreeSearch(problem, budget, collector);
    EXPECT_LT(budget.elapsedSeconds(), 2);
  });
  EXPECT_TRUE(tried);
}

// Optima that general solvers have proven, in milliseconds.
TEST(FreeSearch, ReachesProvenOptimaOfPublicGraphs) {
  const char* data = std::getenv("ALLOT_DATA");
  if (data == nullptr) GTEST_SKIP() << "ALLOT_DATA is not set";
  const std::filesystem::path folder =
      std::filesystem::path(data) / "dnn-partitioning" / "throughput" / "OperatorGraphs";
  for (const auto& [name, optimum] :
       {std::pair("bert_l-3_inference.json", 21.9084), std::pair("bert_l-3_training.json", 54.2074)}) {
    const auto text = readFile((folder / name).string());
    if (!text) GTEST_SKIP() << name << " is absent";
    Warnings warnings;
    auto problem = readProblem(*text, name, {}, nullptr, warnings);
    ASSERT_TRUE(problem.has_value());
    Modes modes = problem->modes;
    modes.goal = Goal::kThroughput;
    modes.contiguity = Contiguity::kNone;
    ASSERT_TRUE(problem->setModes(modes).has_value());
    EXPECT_NEAR(search(*problem, withWork(1'500'000)).value * 1e3, optimum, 1e-3);
  }
}

// Sets by device with whole weights are a plan; with some of them missing, what is left goes somewhere.
TEST(PriceCover, MakesPlansOfSets) {
  overRandomProblems(7000, 400, {.ops = 12, .devices = 4}, [](const Problem& problem, std::uint64_t seed) {
    const Plan plan = search(problem, withWork(2000));
    if (plan.assignment.empty()) return;
    const PipelineModel model(problem, PipelineModel::Items::kUnits);
    std::vector<CoverSet> cover;
    for (std::size_t k = 0; k < model.poolCount(); ++k) {
      for (const DeviceId device : model.pools[k].devices) {
        CoverSet set{k, {}, 1};
        for (std::uint32_t v = 0; v < model.itemCount(); ++v) {
          const OpId op = problem.unitOps(model.item_units[v].front()).front();
          if (plan.assignment[op.index()] == device) set.items.push_back(v);
        }
        if (!set.items.empty() && (seed % 4 != 0 || cover.empty())) cover.push_back(std::move(set));
      }
    }
    std::vector<Plan> made;
    for (const std::uint32_t threads : {1u, 3u}) {
      const RunOptions run = withWork(1, threads);
      const Budget budget(run, nullptr);
      Collector collector(problem, budget, {});
      WalkCrew crew(threads);
      planFromCover(model, cover, budget, crew, collector);
      EXPECT_TRUE(collector.internalError().empty()) << collector.internalError();
      made.push_back(collector.take(false, ""));
    }
    EXPECT_EQ(made[0].assignment, made[1].assignment);
    if (seed % 4 != 0) {
      EXPECT_LE(made[0].value, plan.value * (1 + 1e-12));
    }
  });
}

}  // namespace
}  // namespace allot
