// Items left out of a subgraph-calls problem: bounds carry over.
#include <gtest/gtest.h>

#include <limits>

#include "base/random.h"
#include "solve/latency/calls_aside.h"
#include "solve/latency/calls_search.h"
#include "support/call_draft.h"

namespace allot {
namespace {

// A chain, here and there two ops wide, with one or two ops beside it that read early and are read late. Such
// an op often shares a unit with an early one; some neighbours in the chain share units too.
Problem chainWithBypasses(std::uint64_t seed) {
  Random random(seed, 1);
  const auto accelerators = 1 + random.below(3);
  CallDraft draft(accelerators, static_cast<std::int64_t>(4 + random.below(14)));
  const auto newOp = [&] {
    const double slow = 0.25 * (1 + random.below(24));
    const double fast = random.below(12) == 0 ? kCannotRun : slow * 0.1 + 0.125 * random.below(3);
    return draft.op(fast, slow, random.below(5));
  };
  std::vector<OpId> chain;
  for (std::uint32_t length = 6 + random.below(3); chain.size() < length;) {
    const OpId op = newOp();
    if (!chain.empty()) draft.read(chain.back(), op);
    if (chain.size() > 1 && random.below(6) == 0) {
      const OpId beside = newOp();
      draft.read(chain.back(), beside);
      const OpId join = newOp();
      draft.read(op, join);
      draft.read(beside, join);
      chain.push_back(op);
      chain.push_back(join);
      continue;
    }
    chain.push_back(op);
  }
  const std::uint32_t bypasses = 1 + random.below(2);
  std::vector<std::uint8_t> in_unit(draft.opCount() + bypasses, 0);
  for (std::uint32_t b = 0; b < bypasses; ++b) {
    const std::size_t from = random.below(2), to = chain.size() - 1 - random.below(2);
    const OpId op = newOp();
    draft.read(chain[from], op);
    draft.read(op, chain[to]);
    const OpId early = chain[random.below(3)];
    if (random.below(2) == 0 && !in_unit[early.index()]) {
      draft.together(early, op);
      in_unit[early.index()] = in_unit[op.index()] = 1;
    }
  }
  for (std::size_t i = 2; i + 1 < chain.size(); ++i) {
    const OpId a = chain[i], b = chain[i + 1];
    if (random.below(4) != 0 || in_unit[a.index()] || in_unit[b.index()]) continue;
    draft.together(a, b);
    in_unit[a.index()] = in_unit[b.index()] = 1;
  }
  return draft.finish([&] { return 0.25 * random.below(10); });
}

TEST(CallsAside, LeaveNoPlanBelowTheBound) {
  int left_out = 0, exact = 0, tied = 0;
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    const Problem problem = chainWithBypasses(seed);
    const Budget budget(RunOptions{}, nullptr);
    for (const std::uint32_t calls_each : {1u, 2u}) {
      const CallItems items(problem, calls_each == 1);
      ASSERT_TRUE(items.suitable);
      const auto left = withoutBypasses(items, calls_each);
      if (!left) continue;
      ++left_out;
      tied += left->tie_count < items.tie_count;
      const CallGraphFacts facts(items), facts_left(*left);
      EXPECT_GT(facts_left.cuts.size(), facts.cuts.size());
      const std::vector<std::uint32_t> calls{static_cast<std::uint32_t>(items.pools[0].devices.size()) *
                                             calls_each};
      CallSearchLimits limits;
      limits.below = std::numeric_limits<double>::infinity();
      const CallSearchOutcome all = searchCalls(facts, calls, calls_each, limits, budget);
      const CallSearchOutcome some = searchCalls(facts_left, calls, calls_each, limits, budget);
      ASSERT_TRUE(all.complete && some.complete);
      if (!all.found) continue;
      ASSERT_TRUE(some.found) << seed;
      EXPECT_LE(some.value, all.value + 1e-9) << seed << ' ' << calls_each;
      exact += some.value > all.value - 1e-9;
    }
  }
  EXPECT_GT(left_out, 600);
  EXPECT_GT(tied, 50);
  EXPECT_GT(exact, left_out / 4);
}

}  // namespace
}  // namespace allot
