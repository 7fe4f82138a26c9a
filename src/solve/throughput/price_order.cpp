#include "solve/throughput/price_order.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/random.h"

namespace allot {
namespace {

constexpr std::size_t kMinStarts = 2, kMaxStarts = 24, kItemsOfAllStarts = 6000;
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::size_t kMaxCost = 60;  // exponent at which a layer counts as hopeless

struct Growth {
  SweepOrder order;
  double cost = 0;  // infinite where it was given up
};

// Open nets with the same items so far are in the same state whatever the choice: they count once. Sets of
// items are told apart by sums of random numbers.
class OpenSets {
 public:
  explicit OpenSets(const PipelineModel& model) : model_(model), of_net_(model.netCount(), 0) {
    Random random(1, kStream);
    for (std::size_t v = 0; v < model.itemCount(); ++v) item_key_.push_back(random.next());
  }

  std::size_t count() const { return nets_.size(); }

  // Adds the item to its nets; `left`: how many items of each net were still to come.
  void place(std::uint32_t item, std::span<const std::uint32_t> left) {
    for (const std::uint32_t e : model_.item_nets[item]) {
      if (of_net_[e] != 0) drop(of_net_[e]);
      of_net_[e] += item_key_[item];
      if (left[e] > 1) ++nets_[of_net_[e]];
    }
  }

  // By how much the count would grow.
  int change(std::uint32_t item, std::span<const std::uint32_t> left) {
    bool opens = false;
    touched_.clear();
    for (const std::uint32_t e : model_.item_nets[item]) {
      if (of_net_[e] != 0)
        touched_.push_back({of_net_[e], left[e] > 1});
      else
        opens = opens || left[e] > 1;
    }
    std::sort(touched_.begin(), touched_.end());
    int sum = opens ? 1 : 0;
    for (std::size_t i = 0; i < touched_.size();) {
      const std::uint64_t set = touched_[i].first;
      std::size_t nets = 0;
      bool stays = false;
      for (; i < touched_.size() && touched_[i].first == set; ++i, ++nets)
        stays = stays || touched_[i].second;
      sum += (stays ? 1 : 0) + (nets_[set] > nets ? 1 : 0) - 1;
    }
    return sum;
  }

 private:
  static constexpr std::uint64_t kStream = 17;  // of random numbers
  const PipelineModel& model_;
  std::vector<std::uint64_t> item_key_;
  std::vector<std::uint64_t> of_net_;                    // items placed so far; 0 = none
  std::unordered_map<std::uint64_t, std::size_t> nets_;  // open ones by set
  std::vector<std::pair<std::uint64_t, bool>> touched_;

  void drop(std::uint64_t set) {
    const auto at = nets_.find(set);
    if (--at->second == 0) nets_.erase(at);
  }
};

// How open nets are counted.
enum class Count : std::uint8_t { kNets, kSets };

// Gives up as soon as the cost is no less than `limit`.
Growth growFrom(const PipelineModel& model, std::uint32_t start, Count count, double limit) {
  const std::size_t n = model.itemCount();
  Growth grown;
  std::vector<std::uint32_t> left(model.netCount());  // items of the net still to come
  std::vector<std::uint8_t> open(model.netCount(), 0), placed(n, 0);
  std::vector<std::uint32_t> opened_at(model.netCount(), 0);
  for (std::size_t e = 0; e < left.size(); ++e)
    left[e] = static_cast<std::uint32_t>(model.net_items[e].size());
  std::vector<std::uint32_t> frontier;  // open nets
  OpenSets sets(model);
  std::uint32_t next_start = 0;
  std::uint32_t item = start;
  std::vector<std::uint32_t> stamp(n, 0);
  for (std::uint32_t step = 1; step <= n; ++step) {
    placed[item] = 1;
    grown.order.items.push_back(item);
    if (count == Count::kSets) sets.place(item, left);
    for (const std::uint32_t e : model.item_nets[item]) {
      if (!open[e]) {
        open[e] = 1;
        opened_at[e] = step;
        frontier.push_back(e);
      }
      --left[e];
    }
    std::erase_if(frontier, [&](std::uint32_t e) { return left[e] == 0; });
    const std::size_t opened = count == Count::kSets ? sets.count() : frontier.size();
    grown.order.peak_open = std::max(grown.order.peak_open, static_cast<std::uint32_t>(opened));
    grown.cost += std::ldexp(1.0, static_cast<int>(std::min(opened, kMaxCost)));
    if (grown.cost >= limit) {
      grown.cost = kInfinity;
      break;
    }
    if (step == n) break;
    int best = 0;
    std::uint32_t best_age = 0;
    bool found = false;
    for (const std::uint32_t e : frontier) {
      for (const std::uint32_t v : model.net_items[e]) {
        if (placed[v] || stamp[v] == step) continue;
        stamp[v] = step;
        int change = 0;
        if (count == Count::kSets) {
          change = sets.change(v, left);
        } else {
          for (const std::uint32_t f : model.item_nets[v]) {
            if (!open[f]) ++change;
            if (left[f] == 1) --change;
          }
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
  const std::size_t starts = std::min(n, std::clamp(kItemsOfAllStarts / (n + 1), kMinStarts, kMaxStarts));
  const auto grow = [&](Count count, double limit) {
    Growth best{.order = {}, .cost = limit};
    for (std::size_t s = 0; s < starts; ++s) {
      Growth grown = growFrom(model, static_cast<std::uint32_t>(s * n / starts), count, best.cost);
      if (grown.cost < best.cost) best = std::move(grown);
    }
    return best;
  };
  const Growth by_nets = grow(Count::kNets, kInfinity);
  // Counting sets finds orders around items of many nets, but is easily led astray elsewhere.
  const Growth by_sets = grow(Count::kSets, by_nets.cost / 2);
  return (by_sets.order.items.empty() ? by_nets : by_sets).order;
}

}  // namespace allot
