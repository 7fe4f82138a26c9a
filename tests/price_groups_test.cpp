// Sums along an order agree with sums over items, whatever the order and the groups.
#include "solve/throughput/price_groups.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/random.h"

namespace allot {
namespace {

TEST(PriceGroups, AgreeWithSumsOverItems) {
  Random random(1);
  for (int round = 0; round < 500; ++round) {
    const std::uint32_t items = 1 + random.below(30);
    const std::uint32_t most_groups = 1 + random.below(items);
    std::vector<std::uint32_t> order, group_of;
    std::vector<double> base;
    for (std::uint32_t v = 0; v < items; ++v) {
      order.insert(order.begin() + random.below(v + 1), v);
      group_of.push_back(v < most_groups ? v : random.below(most_groups));
      base.push_back(0.1 + random.unit());
    }
    PriceGroups groups(order);
    groups.tie(group_of, base);
    ASSERT_EQ(groups.size(), most_groups);
    ASSERT_EQ(groups.itemCount(), items);

    std::vector<double> prices(most_groups);
    for (double& price : prices) price = random.unit();
    const std::vector<double> of_items = groups.itemPrices(prices);
    const std::vector<double> back = groups.groupPrices(of_items);
    for (std::size_t g = 0; g < prices.size(); ++g) ASSERT_NEAR(back[g], prices[g], 1e-12);
    PriceGroups::Sums sums;
    groups.sumUp(prices, sums);

    PriceGroups::Cover cover;
    cover.clear(items);
    std::vector<double> expected(most_groups, 0), covered;
    for (int k = 0; k < 4; ++k) {
      std::vector<std::uint32_t> set;
      for (std::uint32_t v = 0; v < items; ++v) {
        if (random.chance(0.5)) set.push_back(v);
      }
      const auto runs = groups.runsOf(set);
      double worth = 0;
      std::vector<double> parts(most_groups, 0);
      for (const std::uint32_t v : set) {
        worth += of_items[v];
        parts[group_of[v]] += of_items[v] / prices[group_of[v]];
      }
      ASSERT_NEAR(PriceGroups::worth(runs, sums), worth, 1e-12 * items);
      std::vector<double> added(most_groups, 0);
      groups.addParts(runs, added);
      const double weight = random.unit();
      cover.add(runs, weight);
      for (std::uint32_t g = 0; g < most_groups; ++g) {
        ASSERT_NEAR(added[g], parts[g], 1e-12 * items);
        ASSERT_NEAR(groups.partOf(g, runs), parts[g], 1e-12 * items);
        expected[g] += weight * parts[g];
      }
    }
    cover.parts(groups, covered);
    for (std::size_t g = 0; g < expected.size(); ++g) ASSERT_NEAR(covered[g], expected[g], 1e-12 * items);
  }
}

}  // namespace
}  // namespace allot
