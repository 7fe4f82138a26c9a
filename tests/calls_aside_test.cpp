// Items left out of a subgraph-calls problem: bounds carry over.
#include <gtest/gtest.h>

#include <limits>

#include "base/random.h"
#include "check_maker.h"
#include "solve/latency/calls_aside.h"
#include "solve/latency/calls_search.h"

namespace allot {
namespace {

// A chain, here and there two ops wide, with one or two ops beside it that read early and are read late. Such
// an op often shares a unit with an early one; some neighbours in the chain share units too.
Problem chainWithBypasses(std::uint64_t seed) {
  Random random(seed, 1);
  Maker m;
  m.cls("acc", DeviceKind::kAccelerator);
  m.cls("cpu", DeviceKind::kCpu);
  const auto accelerators = 1 + random.below(3);
  const auto memory = static_cast<std::int64_t>(4 + random.below(14));
  for (std::uint32_t d = 0; d < accelerators; ++d) m.device("acc" + std::to_string(d), 0, memory);
  m.device("cpu0", 1);
  std::vector<std::vector<OpId>> readers;
  const auto newOp = [&] {
    const double slow = 0.25 * (1 + random.below(24));
    const double fast = random.below(12) == 0 ? kCannotRun : slow * 0.1 + 0.125 * random.below(3);
    const OpId op = m.op("op" + std::to_string(readers.size()), {fast, slow});
    m.problem.graph.op_memory_bytes.back() = random.below(5);
    readers.emplace_back();
    return op;
  };
  std::vector<OpId> chain;
  for (std::uint32_t length = 6 + random.below(3); chain.size() < length;) {
    const OpId op = newOp();
    if (!chain.empty()) readers[chain.back().index()].push_back(op);
    if (chain.size() > 1 && random.below(6) == 0) {
      const OpId beside = newOp();
      readers[chain.back().index()].push_back(beside);
      const OpId join = newOp();
      readers[op.index()].push_back(join);
      readers[beside.index()].push_back(join);
      chain.push_back(op);
      chain.push_back(join);
      continue;
    }
    chain.push_back(op);
  }
  const std::uint32_t bypasses = 1 + random.below(2);
  std::vector<std::uint8_t> in_unit(readers.size() + bypasses, 0);
  for (std::uint32_t b = 0; b < bypasses; ++b) {
    const std::size_t from = random.below(2), to = chain.size() - 1 - random.below(2);
    const OpId op = newOp();
    readers[chain[from].index()].push_back(op);
    readers[op.index()].push_back(chain[to]);
    const OpId early = chain[random.below(3)];
    if (random.below(2) == 0 && !in_unit[early.index()]) {
      m.problem.constraints.together.push_back({early, op});
      in_unit[early.index()] = in_unit[op.index()] = 1;
    }
  }
  for (std::size_t i = 2; i + 1 < chain.size(); ++i) {
    const OpId a = chain[i], b = chain[i + 1];
    if (random.below(4) != 0 || in_unit[a.index()] || in_unit[b.index()]) continue;
    m.problem.constraints.together.push_back({a, b});
    in_unit[a.index()] = in_unit[b.index()] = 1;
  }
  for (std::uint32_t i = 0; i < readers.size(); ++i) {
    if (!readers[i].empty()) m.tensor(OpId(i), readers[i], 0.25 * random.below(10));
  }
  m.problem.modes.model = LatencyModel::kSubgraphCalls;
  m.finish(Goal::kLatency);
  return std::move(m.problem);
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
