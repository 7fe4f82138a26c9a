#include "solve/throughput/stage_order.h"

#include <algorithm>
#include <tuple>

namespace allot {
namespace {

// Most items that are placed at once.
constexpr std::size_t kMostAtOnce = 64;
// Items that are tried as the last of those, about.
constexpr std::size_t kMostNear = 200;

// The items placed so far and how many of them are open. What was placed last can be taken back.
class Frontier {
 public:
  explicit Frontier(const PipelineModel& model)
      : placed(model.itemCount(), 0),
        model_(model),
        pending_(model.itemCount(), 0),
        anchor_(model.netCount(), kNone),
        left_(model.netCount()) {
    for (std::size_t e = 0; e < left_.size(); ++e)
      left_[e] = static_cast<std::uint32_t>(model.net_items[e].size());
  }

  std::vector<std::uint8_t> placed;  // by item
  int open = 0;

  void place(std::uint32_t v) {
    placed[v] = 1;
    pending_[v] = static_cast<std::uint32_t>(model_.after[v].size());
    for (const std::uint32_t u : model_.before[v]) release(u);
    for (const std::uint32_t e : model_.item_nets[v]) {
      --left_[e];
      if (anchor_[e] == kNone) {
        anchor_[e] = v;
        ++pending_[v];
      } else if (left_[e] == 0) {
        release(anchor_[e]);
      }
    }
    open += pending_[v] > 0 ? 1 : 0;
  }

  void takeBack(std::uint32_t v) {
    placed[v] = 0;
    open -= pending_[v] > 0 ? 1 : 0;
    for (const std::uint32_t u : model_.before[v]) hold(u);
    for (const std::uint32_t e : model_.item_nets[v]) {
      if (anchor_[e] == v)
        anchor_[e] = kNone;
      else if (left_[e] == 0)
        hold(anchor_[e]);
      ++left_[e];
    }
  }

  // Items that are not placed and near to an open one, the nearest first.
  std::vector<std::uint32_t> near(std::span<const std::uint32_t> order) const {
    std::vector<std::uint32_t> found;
    std::vector<std::uint8_t> seen(placed);
    const auto add = [&](std::span<const std::uint32_t> items) {
      for (const std::uint32_t u : items) {
        if (seen[u] != 0) continue;
        seen[u] = 1;
        found.push_back(u);
      }
    };
    for (const std::uint32_t v : order) {
      if (pending_[v] == 0) continue;
      add(model_.after[v]);
      for (const std::uint32_t e : model_.item_nets[v]) add(model_.net_items[e]);
    }
    for (std::size_t i = 0; i < found.size() && found.size() < kMostNear; ++i) add(model_.after[found[i]]);
    return found;
  }

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;
  const PipelineModel& model_;
  std::vector<std::uint32_t> pending_;  // by item: successors and nets that hold it open
  std::vector<std::uint32_t> anchor_;   // by net: its first end
  std::vector<std::uint32_t> left_;     // by net: ends to come

  void release(std::uint32_t v) { open -= --pending_[v] == 0 ? 1 : 0; }
  void hold(std::uint32_t v) { open += pending_[v]++ == 0 ? 1 : 0; }
};

class Grower {
 public:
  explicit Grower(const PipelineModel& model)
      : model_(model), frontier_(model), seen_(model.itemCount(), 0) {}

  std::vector<std::uint32_t> run() {
    const std::size_t n = model_.itemCount();
    while (order_.size() < n) {
      std::vector<std::uint32_t> best;
      auto best_rank = rank({}, 0, 0);
      const auto offer = [&](std::vector<std::uint32_t>&& items) {
        if (items.empty()) return;
        const auto [change, peak] = tryOut(items);
        const auto here = rank(items, change, peak);
        if (!best.empty() && here >= best_rank) return;
        best_rank = here;
        best = std::move(items);
      };
      for (const std::uint32_t v : frontier_.near(order_)) offer(withAllBefore(v));
      if (best.empty()) {
        for (std::uint32_t v = 0; v < n; ++v) {
          if (!frontier_.placed[v] && isReady(v)) offer({v});
        }
      }
      for (const std::uint32_t v : best) {
        frontier_.place(v);
        order_.push_back(v);
      }
    }
    return order_;
  }

 private:
  const PipelineModel& model_;
  Frontier frontier_;
  std::vector<std::uint32_t> order_;
  std::vector<std::uint32_t> seen_;  // by item: the last search that met it
  std::uint32_t search_ = 0;

  bool isReady(std::uint32_t v) const {
    return std::all_of(model_.before[v].begin(), model_.before[v].end(),
                       [&](std::uint32_t u) { return frontier_.placed[u] != 0; });
  }

  // What closes more than it opens comes first, by the room it needs on the way.
  static std::tuple<int, int, int, std::size_t> rank(const std::vector<std::uint32_t>& items, int change,
                                                     int peak) {
    return {change < 0 ? 0 : change == 0 ? 1 : 2, std::max(0, change), peak, items.size()};
  }

  // Change of the number of open items, and the most on the way.
  std::pair<int, int> tryOut(const std::vector<std::uint32_t>& items) {
    const int before = frontier_.open;
    int peak = 0;
    for (const std::uint32_t v : items) {
      frontier_.place(v);
      peak = std::max(peak, frontier_.open - before);
    }
    const int change = frontier_.open - before;
    for (std::size_t i = items.size(); i-- > 0;) frontier_.takeBack(items[i]);
    return {change, peak};
  }

  // The item behind all that must come before it, one branch after the other; empty when those are too many.
  std::vector<std::uint32_t> withAllBefore(std::uint32_t last) {
    ++search_;
    std::vector<std::uint32_t> items;
    std::vector<std::pair<std::uint32_t, std::size_t>> path{{last, 0}};
    seen_[last] = search_;
    while (!path.empty()) {
      auto& [v, next] = path.back();
      if (next < model_.before[v].size()) {
        const std::uint32_t u = model_.before[v][next++];
        if (frontier_.placed[u] || seen_[u] == search_) continue;
        seen_[u] = search_;
        if (path.size() + items.size() >= kMostAtOnce) return {};
        path.emplace_back(u, 0);
      } else {
        items.push_back(v);
        path.pop_back();
      }
    }
    return items;
  }
};

}  // namespace

std::vector<std::uint32_t> stageOrder(const PipelineModel& model) {
  return Grower(model).run();
}

}  // namespace allot
