// Chains over runs of items, against the best chain of the model by enumeration of all ideals.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "allot/allot.h"
#include "solve/throughput/run_rounding.h"
#include "solve/throughput/stage_order.h"
#include "support/random_problem.h"
#include "support/scale.h"
#include "support/small_chains.h"
#include "support/wide_graphs.h"

namespace allot {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Each holds what its items follow, and all that the one before it holds.
void expectIdeals(const PipelineModel& model, const std::vector<std::vector<std::uint8_t>>& boundaries) {
  for (std::size_t b = 0; b < boundaries.size(); ++b) {
    for (std::uint32_t v = 0; v < model.itemCount(); ++v) {
      if (boundaries[b][v] == 0) {
        EXPECT_TRUE(b == 0 || boundaries[b - 1][v] == 0);
        continue;
      }
      for (const std::uint32_t u : model.before[v]) EXPECT_EQ(boundaries[b][u], 1);
    }
  }
}

// Two costs for all nets, so that it often costs the same to stop at several items of a path.
void levelCosts(PipelineModel& model, Random& random) {
  if (model.send.empty()) return;
  const double most = *std::max_element(model.send.begin(), model.send.end());
  for (std::size_t e = 0; e < model.send.size(); ++e)
    model.send[e] = model.receive[e] = random.chance(0.8) ? most / 4 : most / 2;
}

TEST(RunSearch, FindsEveryChainAndNoOtherWhereRunsAreItems) {
  std::uint64_t taken = 0, exact = 0, joined = 0;
  for (std::uint64_t seed = 0; seed < scaled(8000); ++seed) {
    Random random(seed, 44);
    const auto problem = likeDevices(random, smallShape(random));
    if (!problem) continue;
    SCOPED_TRACE("seed " + std::to_string(seed) + ", " + describe(*problem));
    PipelineModel model(*problem, PipelineModel::Items::kBlocks);
    if (random.chance(0.7)) levelCosts(model, random);
    const std::size_t stages = model.pools[0].devices.size();
    const std::vector<Set> ideals = allIdeals(model);
    const auto least = leastLoads(model, ideals, stages);
    const double best = least[stages][0];
    if (best <= 0) continue;
    const double grain = random.chance(0.3) ? best / 4 : kInfinity;
    const RunGraph runs(model, stageOrder(model), grain);
    WalkCrew crew(1);
    RunSearch search(runs, stages, crew);
    ASSERT_TRUE(search.suitable());
    RunOptions run;
    run.threads = 1 + random.below(2);
    const Budget budget(run, nullptr);
    const RunWindows nothing{std::vector<double>(stages + 1, 0), std::vector<double>(stages + 1, 0)};
    for (const RunWindows& windows : {nothing, windowsOf(model, ideals, least, best * (1 + 1e-6))}) {
      ASSERT_EQ(search.below(best * (1 + 1e-6), windows, {}, budget), RunSearch::End::kFound);
      expectIdeals(model, roundToItems(model, runs, search.chain()));
    }
    // With few labels it may give up, but not say that there is none.
    EXPECT_NE(search.below(best * (1 + 1e-6), nothing, {.waiting = 1 + random.below(3)}, budget),
              RunSearch::End::kNone);
    joined += runs.runCount() < model.itemCount() ? 1 : 0;
    if (runs.runCount() == model.itemCount()) {
      EXPECT_EQ(search.below(best * (1 - 1e-6), nothing, {}, budget), RunSearch::End::kNone);
      ++exact;
    }
    ++taken;
  }
  EXPECT_GT(taken, scaled(2000));
  EXPECT_GT(exact, scaled(400));
  EXPECT_GT(joined, scaled(600));
}

// Branches of equal costs, which stages leave in the middle.
TEST(RunSearch, FindsEveryChainOfBranches) {
  for (std::uint64_t seed = 0; seed < scaled(1500); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed, 46);
    WideOptions options;
    options.devices = 2 + random.below(4);
    const auto problem = branchGraph(2 + random.below(2), 2 + random.below(3), options);
    ASSERT_TRUE(problem);
    PipelineModel model(*problem, PipelineModel::Items::kBlocks);
    levelCosts(model, random);
    const double unit = model.send[0] * (0.5 + 2 * random.unit());
    for (double& seconds : model.seconds) seconds = random.chance(0.1) ? 0 : unit * (0.1 + random.unit());
    const std::vector<Set> ideals = allIdeals(model);
    const auto least = leastLoads(model, ideals, options.devices);
    const double limit = least[options.devices][0] * (1 + 1e-6);
    const RunGraph runs(model, stageOrder(model), random.chance(0.3) ? unit : kInfinity);
    WalkCrew crew(1);
    RunSearch search(runs, options.devices, crew);
    const Budget budget(RunOptions{}, nullptr);
    const RunWindows nothing{std::vector<double>(options.devices + 1, 0),
                             std::vector<double>(options.devices + 1, 0)};
    for (const RunWindows& windows : {nothing, windowsOf(model, ideals, least, limit)})
      ASSERT_EQ(search.below(limit, windows, {}, budget), RunSearch::End::kFound);
  }
}

// Four layers of four heads on six devices.
class RunsOfHeads : public testing::Test {
 protected:
  void SetUp() override {
    WideOptions options;
    options.devices = kDevices;
    options.transfer = 0.5;
    problem_ = headGraph(4, 4, 3, options);
    ASSERT_TRUE(problem_);
    model_.emplace(*problem_, PipelineModel::Items::kBlocks);
    Random random(1, 45);
    levelCosts(*model_, random);
    runs_.emplace(*model_, stageOrder(*model_), kInfinity);
    ASSERT_LT(runs_->runCount(), model_->itemCount());
    for (const double seconds : model_->seconds) even_load_ += seconds / kDevices;
  }

  static constexpr std::uint32_t kDevices = 6;
  const RunWindows nothing_{std::vector<double>(kDevices + 1, 0), std::vector<double>(kDevices + 1, 0)};
  Result<Problem> problem_;
  std::optional<PipelineModel> model_;
  std::optional<RunGraph> runs_;
  double even_load_ = 0;
};

TEST_F(RunsOfHeads, EndWhenLabelsAreTooMany) {
  const Budget budget(RunOptions{}, nullptr);
  WalkCrew crew(1);
  RunSearch search(*runs_, kDevices, crew);
  ASSERT_EQ(search.below(even_load_, nothing_, {}, budget), RunSearch::End::kNone);
  const std::uint64_t all = search.labels();
  ASSERT_GT(all, 10u);
  EXPECT_EQ(search.below(even_load_, nothing_, {.altogether = all}, budget), RunSearch::End::kNone);
  EXPECT_EQ(search.below(even_load_, nothing_, {.altogether = all / 2}, budget), RunSearch::End::kCut);
  EXPECT_GT(search.labels(), all / 2);
}

TEST_F(RunsOfHeads, AreTheSameForAnyNumberOfThreads) {
  const Budget budget(RunOptions{}, nullptr);
  for (const double share : {1.0, 1.3, 1.6}) {
    std::vector<std::uint64_t> labels;
    std::vector<RunSearch::End> ends;
    for (const std::size_t workers : {1, 2, 3}) {
      WalkCrew crew(workers);
      RunSearch search(*runs_, kDevices, crew);
      ends.push_back(search.below(share * even_load_, nothing_, {}, budget));
      labels.push_back(search.labels());
    }
    EXPECT_EQ(labels[0], labels[1]);
    EXPECT_EQ(labels[0], labels[2]);
    EXPECT_EQ(ends[0], ends[1]);
    EXPECT_EQ(ends[0], ends[2]);
  }
}

}  // namespace
}  // namespace allot
