// Prices near a center: their promise is never above the ceiling, and steps of them close the gap.
#include "solve/throughput/price_bundle.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <vector>

#include "base/random.h"
#include "solve/throughput/growing_factor.h"

namespace allot {
namespace {

TEST(GrowingFactor, SolvesWhileTheMatrixChanges) {
  Random random(1);
  for (int round = 0; round < 300; ++round) {
    constexpr std::size_t kSpace = 16;
    // Rows have entries by coordinate, of which some count; a side has an entry by row and an amount of each
    // coordinate.
    std::vector<std::vector<double>> rows, by_row(2), by_coordinate(2, std::vector<double>(kSpace));
    std::vector<std::uint8_t> counted(kSpace, 1);
    for (auto& side : by_coordinate) std::generate(side.begin(), side.end(), [&] { return random.unit(); });
    const auto product = [&](const std::vector<double>& a, const std::vector<double>& b) {
      double sum = 0;
      for (std::size_t j = 0; j < kSpace; ++j) sum += counted[j] ? a[j] * b[j] : 0;
      return sum;
    };
    const auto sideOf = [&](std::size_t k, std::size_t i) {
      return by_row[k][i] + product(by_coordinate[k], rows[i]);
    };
    GrowingFactor factor;
    factor.clear(2);
    for (int change = 0; change < 60; ++change) {
      const auto left = static_cast<std::size_t>(std::count(counted.begin(), counted.end(), 1));
      const std::uint32_t at = random.below(kSpace);
      if (rows.size() + 4 < left && (rows.empty() || random.chance(0.3))) {
        auto& fresh = rows.emplace_back(kSpace);
        for (double& x : fresh) x = random.unit() - 0.3;
        for (auto& side : by_row) side.push_back(random.unit());
        std::vector<double> products;
        for (const auto& other : rows) products.push_back(product(fresh, other));
        const std::size_t last = rows.size() - 1;
        factor.append(std::move(products), std::array{sideOf(0, last), sideOf(1, last)});
      } else if (!rows.empty() && random.chance(0.2)) {
        const auto gone = static_cast<std::ptrdiff_t>(random.below(static_cast<std::uint32_t>(rows.size())));
        rows.erase(rows.begin() + gone);
        for (auto& side : by_row) side.erase(side.begin() + gone);
        factor.erase(static_cast<std::size_t>(gone));
      } else if (!counted[at] || rows.size() + 4 < left) {
        std::vector<double> column;
        for (const auto& row : rows) column.push_back(row[at]);
        const std::array times{by_coordinate[0][at], by_coordinate[1][at]};
        counted[at] ? factor.subtract(column, times) : factor.add(column, times);
        counted[at] ^= 1;
      }
      ASSERT_EQ(factor.size(), rows.size());
      const std::vector<double> x = factor.solve(std::array{2.0, -1.0});
      for (std::size_t i = 0; i < rows.size(); ++i) {
        double sum = 0;
        for (std::size_t j = 0; j < rows.size(); ++j) sum += product(rows[i], rows[j]) * x[j];
        ASSERT_NEAR(sum, 2 * sideOf(0, i) - sideOf(1, i), 1e-6);
      }
      double mixed = 0;
      const std::vector<double> y = factor.solve(std::array{1.0, 0.0});
      for (std::size_t i = 0; i < rows.size(); ++i) mixed += y[i] * sideOf(1, i);
      ASSERT_NEAR(factor.product(0, 1), mixed, 1e-6 * (1 + std::abs(mixed)));
    }
  }
}

struct Family {
  std::size_t items;
  std::vector<std::uint32_t> order;  // all items
  std::vector<double> counts;
  std::vector<std::pair<std::size_t, std::vector<std::uint32_t>>> sets;  // pool, items

  // What the items are worth over what devices are that can hold the dearest set.
  double promise(const std::vector<double>& prices) const {
    std::vector<double> dearest(counts.size(), 0);
    for (const auto& [pool, set] : sets) {
      double worth = 0;
      for (const std::uint32_t v : set) worth += prices[v];
      dearest[pool] = std::max(dearest[pool], worth);
    }
    return std::accumulate(prices.begin(), prices.end(), 0.0) /
           std::inner_product(counts.begin(), counts.end(), dearest.begin(), 0.0);
  }
};

// Every item is in a set of every pool.
Family randomFamily(Random& random) {
  Family family;
  family.items = 2 + random.below(12);
  for (std::uint32_t v = 0; v < family.items; ++v)
    family.order.insert(family.order.begin() + random.below(v + 1), v);
  family.counts.resize(1 + random.below(3));
  for (std::size_t k = 0; k < family.counts.size(); ++k) {
    family.counts[k] = 1 + random.below(4);
    const std::uint32_t sets = 1 + random.below(30);
    for (std::uint32_t s = 0; s < sets; ++s) {
      std::vector<std::uint32_t> set;
      for (std::uint32_t v = 0; v < family.items; ++v) {
        if (random.chance(0.3)) set.push_back(v);
      }
      if (!set.empty()) family.sets.emplace_back(k, std::move(set));
    }
    for (std::uint32_t v = 0; v < family.items; ++v)
      family.sets.emplace_back(k, std::vector<std::uint32_t>{v});
  }
  return family;
}

TEST(PriceBundle, PromiseAndCeilingMeet) {
  Random random(2);
  std::size_t at_zero = 0;
  for (int round = 0; round < 1000; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    const Family family = randomFamily(random);
    PriceBundle bundle(family.order, family.counts, static_cast<std::uint32_t>(round));
    for (const auto& [pool, set] : family.sets) bundle.add(pool, set, 1);
    // What is too heavy does not count.
    std::vector<std::uint32_t> all(family.items);
    std::iota(all.begin(), all.end(), 0u);
    bundle.add(0, all, 3);
    bundle.setLimit(2);
    std::vector<std::uint32_t> own(family.items);
    std::iota(own.begin(), own.end(), 0u);
    bundle.tie(own, std::vector<double>(family.items, 1.0));
    std::vector<double> items(family.items, 1.0 / static_cast<double>(family.items));
    double total = 0;
    for (const double count : family.counts) total += count;
    std::vector<double> devices(family.counts.size(), 1 / total);
    double best = 0, ceiling = 1e300;
    for (int step = 0; step < 60; ++step) {
      bundle.solve(items, devices, 8);
      ASSERT_FALSE(bundle.blind);
      ASSERT_NEAR(bundle.promise, family.promise(bundle.item_price), 1e-9);
      double worth_of_all = 0;
      for (std::size_t k = 0; k < family.counts.size(); ++k) {
        ASSERT_GE(bundle.device_price[k], 0);
        worth_of_all += family.counts[k] * bundle.device_price[k];
      }
      ASSERT_NEAR(worth_of_all, 1, 1e-9);
      for (const double price : bundle.item_price) {
        ASSERT_GE(price, 0);
        at_zero += price == 0 ? 1 : 0;
      }
      best = std::max(best, bundle.promise);
      ceiling = std::min(ceiling, bundle.ceiling);
      items = bundle.item_price;
      devices = bundle.device_price;
    }
    ASSERT_LE(best, ceiling * (1 + 1e-9));
    ASSERT_GE(best, ceiling * (1 - 1e-3));
    for (int other = 0; other < 20; ++other) {
      std::vector<double> prices(family.items);
      for (double& price : prices) price = random.unit() * random.unit();
      ASSERT_LE(family.promise(prices), ceiling * (1 + 1e-9));
    }
  }
  EXPECT_GT(at_zero, 10'000u) << "prices that are held are what this is about, too";
}

TEST(PriceBundle, WithoutSetsPricesAreThoseOfTheCenter) {
  const std::vector<double> counts{2, 1}, items{0.2, 0.3, 0.4}, devices{0.3, 0.4};
  PriceBundle bundle(std::vector<std::uint32_t>{0, 1, 2}, counts, 0);
  bundle.add(0, {0, 1}, 5);
  bundle.setLimit(4);
  bundle.tie(std::vector<std::uint32_t>{0, 1, 2}, items);
  bundle.solve(items, devices, 0.1);
  EXPECT_TRUE(bundle.blind);
  for (std::size_t v = 0; v < 3; ++v) EXPECT_NEAR(bundle.item_price[v], items[v], 1e-12);
  for (std::size_t k = 0; k < 2; ++k) EXPECT_NEAR(bundle.device_price[k], devices[k], 1e-12);
}

TEST(PriceBundle, WorthlessItemsStayWorthless) {
  const std::vector<double> counts{2}, items{0, 0}, devices{0.5};
  PriceBundle bundle(std::vector<std::uint32_t>{0, 1}, counts, 0);
  bundle.add(0, {0, 1}, 1);
  bundle.setLimit(1);
  bundle.tie(std::vector<std::uint32_t>{0, 1}, std::vector<double>{1, 1});
  bundle.solve(items, devices, 0.1);
  for (const double price : bundle.item_price) EXPECT_EQ(price, 0);
  EXPECT_EQ(bundle.promise, 0);
}

TEST(PriceBundle, TiedItemsKeepTheirShares) {
  const std::vector<double> counts{2}, items{0.1, 0.3, 0.4}, devices{0.5};
  PriceBundle bundle(std::vector<std::uint32_t>{0, 1, 2}, counts, 0);
  bundle.add(0, {0, 1}, 1);
  bundle.add(0, {2}, 1);
  bundle.setLimit(1);
  bundle.tie(std::vector<std::uint32_t>{0, 0, 1}, items);
  bundle.solve(items, devices, 0.5);
  EXPECT_NEAR(bundle.item_price[1], 3 * bundle.item_price[0], 1e-12);
  EXPECT_FALSE(bundle.add(0, {1, 0}, 1)) << "known, in whatever order";
}

}  // namespace
}  // namespace allot
