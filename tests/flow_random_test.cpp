#include <gtest/gtest.h>

#include "flow_support.h"

// Random networks before and after random changes, against cycle cancelling; every claim goes through the
// checker.
namespace allot::test {
namespace {

using flow::CoreChoice;
using flow::Status;

struct Seen {
  int optimal = 0, infeasible = 0, unbounded = 0;
};

void expectEqual(flow::MinCostFlow& network, Seen& seen) {
  const auto solved = network.solve();
  const auto certificate = network.certificate();
  const auto reference = referenceFlow(certificate);
  switch (reference.kind) {
    case ReferenceFlow::Kind::kOptimal: {
      ASSERT_TRUE(solved) << solved.error().text();
      EXPECT_EQ(*solved, reference.cost);
      const auto checked = flow::checkOptimal(certificate);
      ASSERT_TRUE(checked) << checked.error().text();
      EXPECT_EQ(*checked, *solved);
      ++seen.optimal;
      break;
    }
    case ReferenceFlow::Kind::kInfeasible: {
      ASSERT_FALSE(solved);
      ASSERT_EQ(network.status(), Status::kInfeasible);
      EXPECT_EQ(solved.error().code, ErrorCode::kInfeasible);
      EXPECT_TRUE(flow::checkInfeasible(certificate));
      ++seen.infeasible;
      break;
    }
    case ReferenceFlow::Kind::kUnbounded: {
      ASSERT_FALSE(solved);
      ASSERT_EQ(network.status(), Status::kUnbounded);
      EXPECT_TRUE(flow::checkUnbounded(certificate));
      ++seen.unbounded;
      break;
    }
  }
}

void runRandom(CoreChoice core, bool hubs, int networks) {
  Seen seen;
  for (int seed = 0; seed < networks; ++seed) {
    SCOPED_TRACE(seed);
    ChangingNetwork network(core, static_cast<std::uint64_t>(seed), hubs);
    expectEqual(network.flow, seen);
    for (int step = 0; step < 20; ++step) {
      SCOPED_TRACE(step);
      const std::uint32_t changes = 1 + network.random.below(4);
      for (std::uint32_t i = 0; i < changes; ++i) network.change();
      expectEqual(network.flow, seen);
      if (testing::Test::HasFailure()) return;
    }
  }
  EXPECT_GT(seen.optimal, networks);
  EXPECT_GT(seen.infeasible, networks / 10);
  EXPECT_GT(seen.unbounded, 0);
}

TEST(FlowRandom, TreeEqualsCycleCancelling) {
  runRandom(CoreChoice::kTree, false, 1000);
}

TEST(FlowRandom, TreeEqualsCycleCancellingOnHubs) {
  runRandom(CoreChoice::kTree, true, 300);
}

TEST(FlowRandom, HubsEqualCycleCancelling) {
  runRandom(CoreChoice::kHubs, false, 1000);
}

TEST(FlowRandom, HubsEqualCycleCancellingOnHubs) {
  runRandom(CoreChoice::kHubs, true, 1000);
}

}  // namespace
}  // namespace allot::test
