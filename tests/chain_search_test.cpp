// Chains that are as full as can be: a search for any chain below a cut-off against the search for the best.
#include <gtest/gtest.h>

#include "allot/allot.h"
#include "base/random.h"
#include "solve/throughput/chain_search.h"
#include "support/random_pipeline.h"
#include "support/random_problem.h"
#include "support/scale.h"
#include "support/wide_graphs.h"

namespace allot {
namespace {

struct Searched {
  explicit Searched(const Problem& problem) : model(problem, PipelineModel::Items::kBlocks) {
    model.joinFreeItems(true);
    std::vector<std::uint32_t> counts;
    for (const Pool& pool : model.pools) counts.push_back(static_cast<std::uint32_t>(pool.devices.size()));
    search = std::make_unique<ChainSearch>(model, counts);
  }

  ChainOutcome below(double cutoff, bool any) const {
    RunOptions run;
    run.threads = 1;
    const Budget budget(run, nullptr);
    WalkCrew crew(1);
    return search->run({.cutoff = cutoff, .any = any}, budget, crew);
  }

  PipelineModel model;
  std::unique_ptr<ChainSearch> search;
};

// Finds one wherever there is one, at cut-offs around the best chain and at random ones.
void compareAt(const Problem& problem, Random& random, std::size_t& found_any, std::size_t& none) {
  constexpr double kHigh = 1e6;
  const Searched searched(problem);
  const ChainOutcome best = searched.below(kHigh, false);
  ASSERT_TRUE(best.complete);
  std::vector<double> cutoffs{kHigh};
  if (best.found) {
    cutoffs.insert(cutoffs.end(), {best.value * (1 + 1e-12), best.value * (1 - 1e-12)});
    for (int i = 0; i < 4; ++i) cutoffs.push_back(best.value * (0.8 + 0.6 * random.unit()));
  }
  for (const double cutoff : cutoffs) {
    const ChainOutcome exact = searched.below(cutoff, false), any = searched.below(cutoff, true);
    ASSERT_TRUE(any.complete);
    ASSERT_EQ(any.found, exact.found) << "cut-off " << cutoff << ", best " << best.value;
    ++(any.found ? found_any : none);
    if (!any.found) continue;
    EXPECT_LT(any.value, cutoff);
    EXPECT_GE(any.value, exact.value);
  }
}

TEST(ChainSearch, AnyChainIsFoundWhereThereIsOne) {
  std::size_t found = 0, none = 0;
  for (std::uint64_t seed = 0; seed < scaled(1500); ++seed) {
    Random random(seed, 21);
    Modes modes = randomPipelineModes(random, Contiguity::kChain);
    modes.training_load = TrainingLoad::kSum;
    const Problem problem = finished(draftPipeline(random, modes, {.least_ops = 3, .most_ops = 12}));
    SCOPED_TRACE("seed " + std::to_string(seed) + ", " + describe(problem));
    compareAt(problem, random, found, none);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(found, scaled(1500));
  EXPECT_GT(none, scaled(1500));
}

// Tensors that take a tenth of an op, as long as one, and far longer; branches and grids.
TEST(ChainSearch, AnyChainIsFoundOnWideGraphs) {
  std::size_t found = 0, none = 0;
  for (std::uint64_t seed = 0; seed < scaled(60); ++seed) {
    Random random(seed, 22);
    WideOptions options;
    options.devices = 3;
    options.unlike = seed % 2 == 1;
    options.transfer = seed % 3 == 0 ? 0.1 : seed % 3 == 1 ? 1 : 5;
    options.seed = seed;
    const auto problem = seed % 4 < 2 ? branchGraph(3, 4, options) : gridGraph(4, 5, options);
    ASSERT_TRUE(problem);
    SCOPED_TRACE("seed " + std::to_string(seed));
    compareAt(*problem, random, found, none);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(found, scaled(60));
  EXPECT_GT(none, scaled(60));
}

}  // namespace
}  // namespace allot
