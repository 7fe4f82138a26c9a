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

TEST(GrowingFactor, SolvesWhileRowsComeAndGo) {
  Random random(1);
  for (int round = 0; round < 200; ++round) {
    constexpr std::size_t kSpace = 12;
    std::vector<std::vector<double>> vectors, sides(2);
    GrowingFactor factor;
    factor.setSides(sides);
    const auto product = [](const std::vector<double>& a, const std::vector<double>& b) {
      return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
    };
    for (int change = 0; change < 30; ++change) {
      if (vectors.size() < kSpace - 2 && (vectors.empty() || random.chance(0.6))) {
        std::vector<double> fresh(kSpace), row;
        for (double& x : fresh) x = random.unit() - 0.3;
        vectors.push_back(fresh);
        for (const auto& other : vectors) row.push_back(product(fresh, other));
        for (auto& side : sides) side.push_back(random.unit());
        factor.append(std::move(row), std::array{sides[0].back(), sides[1].back()});
      } else if (random.chance(0.2)) {
        for (auto& side : sides) std::generate(side.begin(), side.end(), [&] { return random.unit(); });
        factor.setSides(sides);
      } else {
        const auto at = static_cast<std::ptrdiff_t>(random.below(static_cast<std::uint32_t>(vectors.size())));
        vectors.erase(vectors.begin() + at);
        for (auto& side : sides) side.erase(side.begin() + at);
        factor.erase(static_cast<std::size_t>(at));
      }
      ASSERT_EQ(factor.size(), vectors.size());
      const std::vector<double> x = factor.solve(std::array{2.0, -1.0});
      for (std::size_t i = 0; i < vectors.size(); ++i) {
        double sum = 0;
        for (std::size_t j = 0; j < vectors.size(); ++j) sum += product(vectors[i], vectors[j]) * x[j];
        ASSERT_NEAR(sum, 2 * sides[0][i] - sides[1][i], 1e-6);
      }
      const double mixed = factor.product(0, 1);
      ASSERT_NEAR(product(factor.solve(std::array{1.0, 0.0}), sides[1]), mixed, 1e-6 * (1 + std::abs(mixed)));
    }
  }
}

struct Family {
  std::size_t items;
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
  for (int round = 0; round < 1000; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    const Family family = randomFamily(random);
    PriceBundle bundle(family.items, family.counts, static_cast<std::uint32_t>(round));
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
      bundle.solve(items, devices, 2);
      ASSERT_FALSE(bundle.blind);
      ASSERT_NEAR(bundle.promise, family.promise(bundle.item_price), 1e-9);
      double worth_of_all = 0;
      for (std::size_t k = 0; k < family.counts.size(); ++k) {
        ASSERT_GE(bundle.device_price[k], 0);
        worth_of_all += family.counts[k] * bundle.device_price[k];
      }
      ASSERT_NEAR(worth_of_all, 1, 1e-9);
      for (const double price : bundle.item_price) ASSERT_GE(price, 0);
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
}

TEST(PriceBundle, WithoutSetsPricesAreThoseOfTheCenter) {
  const std::vector<double> counts{2, 1}, items{0.2, 0.3, 0.4}, devices{0.3, 0.4};
  PriceBundle bundle(3, counts, 0);
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
  PriceBundle bundle(2, counts, 0);
  bundle.add(0, {0, 1}, 1);
  bundle.setLimit(1);
  bundle.tie(std::vector<std::uint32_t>{0, 1}, std::vector<double>{1, 1});
  bundle.solve(items, devices, 0.1);
  for (const double price : bundle.item_price) EXPECT_EQ(price, 0);
  EXPECT_EQ(bundle.promise, 0);
}

TEST(PriceBundle, TiedItemsKeepTheirShares) {
  const std::vector<double> counts{2}, items{0.1, 0.3, 0.4}, devices{0.5};
  PriceBundle bundle(3, counts, 0);
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
