// Modules taken apart into branches, against the search that keeps them whole.
#include <gtest/gtest.h>

#include "allot/evaluate.h"
#include "base/random.h"
#include "solve/latency/calls_branches.h"
#include "solve/latency/calls_pack.h"
#include "solve/latency/calls_search.h"
#include "support/call_draft.h"

namespace allot {
namespace {

// Parallel branches between a fork and a join, several such modules after each other. Branches are chains or
// fork themselves, the join may read the fork directly, the fork may have two tensors, memory is often tight.
Problem forksAndJoins(std::uint64_t seed) {
  Random random(seed, 0);
  const auto accelerators = 1 + random.below(4);
  CallDraft draft(accelerators,
                  static_cast<std::int64_t>(random.below(3) == 0 ? 1000 : 4 + random.below(12)));
  const bool cheap = random.below(2) == 0;
  const auto newOp = [&] {
    const double slow = 1 + 0.25 * random.below(24);
    const std::uint32_t kind = random.below(12);
    const double fast = kind == 0 ? kCannotRun : slow * 0.1 + 0.125 * random.below(3);
    return draft.op(fast, kind == 1 ? kCannotRun : slow, random.below(5));
  };
  const auto read = [&](OpId from, OpId to) { draft.read(from, to, random.below(4) == 0); };
  OpId fork = newOp();
  const std::uint32_t modules = 1 + random.below(2);
  for (std::uint32_t i = 0; i < modules; ++i) {
    const std::uint32_t branches = 1 + random.below(modules == 1 ? 4 : 3);
    std::vector<OpId> ends;
    for (std::uint32_t b = 0; b < branches; ++b) {
      const std::uint32_t length = 1 + random.below(modules == 1 ? 3 : 2);
      std::vector<OpId> own;
      for (std::uint32_t k = 0; k < length; ++k) {
        const OpId op = newOp();
        read(own.empty() || random.below(5) == 0 ? fork : own[random.below(own.size())], op);
        own.push_back(op);
      }
      for (const OpId op : own) {
        if (!draft.isRead(op)) ends.push_back(op);
      }
    }
    const OpId join = newOp();
    for (const OpId end : ends) read(end, join);
    if (random.below(4) == 0) read(fork, join);
    fork = join;
  }
  return draft.finish([&] { return 0.25 * random.below(cheap ? 3 : 12); });
}

TEST(CallBranches, BoundAndPlansAgreeWithTheWholeSearch) {
  constexpr int kSeeds = 800;
  int usable = 0, closed = 0, plans = 0, open_gap = 0;
  for (std::uint64_t seed = 4000; seed < 4000 + kSeeds; ++seed) {
    const Problem problem = forksAndJoins(seed);
    const Budget budget(RunOptions{}, nullptr);
    const CallItems items(problem, true);
    ASSERT_TRUE(items.suitable);
    if (items.itemCount() == 0) continue;
    const CallGraphFacts facts(items);
    for (std::size_t module = 0; module + 1 < facts.cuts.size(); ++module)
      usable += facts.cuts[module + 1] - facts.cuts[module] > 2 && CallBranches(facts, module).usable();
    const std::vector<std::uint32_t> calls{static_cast<std::uint32_t>(items.pools[0].devices.size())};
    CallSearchLimits limits;
    limits.below = std::numeric_limits<double>::infinity();
    const CallSearchOutcome whole = searchCalls(facts, calls, 1, limits, budget);
    ASSERT_TRUE(whole.complete);
    limits.by_branches = true;
    const CallSearchOutcome parts = searchCalls(facts, calls, 1, limits, budget);
    const double best = whole.found ? whole.value : limits.below;
    EXPECT_LE(parts.bound, best + 1e-9) << seed;
    closed += parts.complete;
    if (parts.complete) {
      EXPECT_EQ(parts.found, whole.found) << seed;
    }
    if (!parts.found) continue;
    ++plans;
    open_gap += !parts.complete;
    EXPECT_GE(parts.value, best - 1e-9) << seed;
    if (parts.complete) {
      EXPECT_NEAR(parts.value, best, 1e-9) << seed;
    }
    const Plan plan = packCalls(items, parts.parts, budget);
    const Evaluation evaluation = evaluate(problem, plan);
    EXPECT_NEAR(evaluation.plan.value, parts.value, 1e-9) << seed;
    // Held against the best value, nothing below it may be lost.
    limits.below = best * (1 + 1e-6);
    const CallSearchOutcome tight = searchCalls(facts, calls, 1, limits, budget);
    EXPECT_LE(tight.bound, best + 1e-9) << seed;
    if (tight.complete) {
      EXPECT_TRUE(tight.found) << seed;
      EXPECT_NEAR(tight.value, best, 1e-9) << seed;
    }
  }
  EXPECT_GT(usable, kSeeds / 2);
  EXPECT_GT(closed, kSeeds / 2);
  EXPECT_GT(plans, kSeeds / 2);
  EXPECT_GT(open_gap, 0);
}

}  // namespace
}  // namespace allot
