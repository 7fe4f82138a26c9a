// Baechi's placers, GETF, lookahead and Pesto on small cases worked out by hand.
#include "baselines_support.h"

namespace allot::baselines_test {
namespace {

Devices devicesBy(const Problem& problem, std::string_view name) {
  const std::vector<Plan> plans = run(problem, name);
  EXPECT_EQ(plans.size(), 1u) << name;
  return plans.empty() ? Devices{} : devicesOf(plans[0]);
}

// Two chains of two ops that take 1 s anywhere, transfers of 4 s. Earliest start puts the second op of each
// chain where the first ran: a transfer is longer than the wait.
TEST(BaselinePlacers, EarliestStartKeepsChains) {
  Maker m(Goal::kLatency);
  m.device().device();
  const OpId a = m.op({1, 1}), b = m.op({1, 1}), c = m.op({1, 1}), d = m.op({1, 1});
  m.edge(a, c, 4);
  m.edge(b, d, 4);
  const Problem problem = m.done();
  for (const char* name : {"m-etf", "m-sct", "getf"})
    EXPECT_EQ(devicesBy(problem, name), (Devices{0, 1, 0, 1}));
}

// Device 1 is eight times slower: GETF leaves it alone, m-ETF takes it because it is idle.
TEST(BaselinePlacers, GetfLeavesTheSlowGroup) {
  Maker m(Goal::kLatency);
  m.device().device();
  m.op({1, 8});
  m.op({1, 8});
  const Problem problem = m.done();
  EXPECT_EQ(devicesBy(problem, "getf"), (Devices{0, 0}));
  EXPECT_EQ(devicesBy(problem, "m-etf"), (Devices{0, 1}));
}

// x ends at 1 on device 0. Alone it would be faster on device 1 (0.5 s), but its child runs only on device 0
// and the transfer takes 3 s: HEFT goes for 0.5, lookahead for 1 + 1.
TEST(BaselinePlacers, LookaheadSeesTheChild) {
  Maker m(Goal::kLatency);
  m.device().device();
  const OpId x = m.op({1, 0.5}), y = m.op({1, kInfinity});
  m.edge(x, y, 3);
  const Problem problem = m.done();
  EXPECT_EQ(devicesBy(problem, "heft-lookahead"), (Devices{0, 0}));
  EXPECT_EQ(devicesBy(problem, "heft"), (Devices{1, 0}));
}

}  // namespace
}  // namespace allot::baselines_test
