#include "solve/throughput/price_order.h"

#include <algorithm>
#include <cmath>

namespace allot {
namespace {

constexpr std::size_t kMinStarts = 2, kMaxStarts = 24, kItemsOfAllStarts = 6000;
constexpr std::size_t kMaxCost = 60;  // exponent at which a layer counts as hopeless

struct Growth {
  SweepOrder order;
  double cost = 0;
};

Growth growFrom(const PipelineModel& model, std::uint32_t start) {
  const std::size_t n = model.itemCount();
  Growth grown;
  std::vector<std::uint32_t> left(model.netCount());  // items of the net still to come
  std::vector<std::uint8_t> open(model.netCount(), 0), placed(n, 0);
  std::vector<std::uint32_t> opened_at(model.netCount(), 0);
  for (std::size_t e = 0; e < left.size(); ++e)
    left[e] = static_cast<std::uint32_t>(model.net_items[e].size());
  std::vector<std::uint32_t> frontier;  // open nets
  std::uint32_t next_start = 0;
  std::uint32_t item = start;
  std::vector<std::uint32_t> stamp(n, 0);
  for (std::uint32_t step = 1; step <= n; ++step) {
    placed[item] = 1;
    grown.order.items.push_back(item);
    for (const std::uint32_t e : model.item_nets[item]) {
      if (!open[e]) {
        open[e] = 1;
        opened_at[e] = step;
        frontier.push_back(e);
      }
      --left[e];
    }
    std::erase_if(frontier, [&](std::uint32_t e) { return left[e] == 0; });
    grown.order.peak_open = std::max(grown.order.peak_open, static_cast<std::uint32_t>(frontier.size()));
    grown.cost += std::ldexp(1.0, static_cast<int>(std::min(frontier.size(), kMaxCost)));
    if (step == n) break;
    int best = 0;
    std::uint32_t best_age = 0;
    bool found = false;
    for (const std::uint32_t e : frontier) {
      for (const std::uint32_t v : model.net_items[e]) {
        if (placed[v] || stamp[v] == step) continue;
        stamp[v] = step;
        int change = 0;
        for (const std::uint32_t f : model.item_nets[v]) {
          if (!open[f]) ++change;
          if (left[f] == 1) --change;
        }
        const bool better = !found || change < best || (change == best && opened_at[e] < best_age);
        if (!better) continue;
        found = true;
        best = change;
        best_age = opened_at[e];
        item = v;
      }
    }
    if (found) continue;
    while (placed[next_start]) ++next_start;
    item = next_start;
  }
  return grown;
}

}  // namespace

SweepOrder sweepOrder(const PipelineModel& model) {
  const std::size_t n = model.itemCount();
  Growth best;
  const std::size_t starts = std::min(n, std::clamp(kItemsOfAllStarts / (n + 1), kMinStarts, kMaxStarts));
  for (std::size_t s = 0; s < starts; ++s) {
    Growth grown = growFrom(model, static_cast<std::uint32_t>(s * n / starts));
    if (s == 0 || grown.cost < best.cost) best = std::move(grown);
  }
  return best.order;
}

}  // namespace allot
