#include "solve/throughput/price_order.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <queue>
#include <span>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/random.h"
#include "solve/polls.h"

namespace allot {
namespace {

constexpr std::size_t kMinStarts = 2, kMaxStarts = 24, kItemsOfAllStarts = 6000;
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::size_t kMaxCost = 60;  // exponent at which a layer counts as hopeless
// Looks at items in nets, until which alike nets are counted once: about a second. A look at an item's nets
// costs more.
constexpr double kMaxWork = 3e8, kWorkPerNet = 8;
constexpr std::size_t kWorkBetweenPolls = 100'000;

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

// The next item of an order: of the items of open nets the one that changes the count the least; on a tie the
// one whose first net has been open for longest, then the one that stands first in it. An item comes into the
// queue again whenever its change becomes less, which happens twice for each of its nets at most.
class Candidates {
 public:
  explicit Candidates(const PipelineModel& model)
      : change_(model.itemCount(), 0), first_(model.itemCount(), kNone), placed_(model.itemCount(), 0) {
    for (std::size_t e = 0; e < model.netCount(); ++e) {
      const auto items = model.net_items[e];
      for (const std::uint32_t v : items) change_[v] += items.size() > 1 ? 1 : 0;
    }
  }

  bool placed(std::uint32_t item) const { return placed_[item] != 0; }
  void place(std::uint32_t item) { placed_[item] = 1; }
  // It would open one net less, or close one more.
  void lower(std::uint32_t item) {
    --change_[item];
    if (!placed_[item] && first_[item] != kNone) push(item);
  }
  // The item is in an open net; nets come in the order in which they open, items in that of the net.
  void meet(std::uint32_t item) {
    if (first_[item] != kNone) return;
    first_[item] = met_++;
    if (!placed_[item]) push(item);
  }
  // Absent where no open net has an item left.
  std::optional<std::uint32_t> next() {
    for (; !queue_.empty(); queue_.pop()) {
      const auto [change, first, item] = queue_.top();
      if (!placed_[item] && change == change_[item]) return item;
    }
    return std::nullopt;
  }

 private:
  static constexpr std::uint32_t kNone = 0xFFFFFFFF;
  using Entry = std::tuple<std::int32_t, std::uint32_t, std::uint32_t>;  // change, when first met, item
  std::vector<std::int32_t> change_;
  std::vector<std::uint32_t> first_;
  std::vector<std::uint8_t> placed_;
  std::uint32_t met_ = 0;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue_;

  void push(std::uint32_t item) { queue_.emplace(change_[item], first_[item], item); }
};

class Grower {
 public:
  Grower(const PipelineModel& model, const Budget& budget)
      : model_(model), polls_(budget, kWorkBetweenPolls) {}

  // Gives up as soon as the cost is no less than `limit`, the work is done that may be, or the time is up.
  Growth from(std::uint32_t start, Count count, double limit) {
    const std::size_t n = model_.itemCount();
    begin();
    Candidates candidates(model_);
    OpenSets sets(model_);
    Growth grown;
    std::uint32_t next_start = 0, item = start;
    for (std::uint32_t step = 1; step <= n; ++step) {
      candidates.place(item);
      grown.order.items.push_back(item);
      if (count == Count::kSets) sets.place(item, left_);
      enter(item, step, candidates);
      const std::size_t opened = count == Count::kSets ? sets.count() : open_nets_;
      grown.order.peak_open = std::max(grown.order.peak_open, static_cast<std::uint32_t>(opened));
      grown.cost += std::ldexp(1.0, static_cast<int>(std::min(opened, kMaxCost)));
      if (grown.cost >= limit || work_ > kMaxWork || polls_.stop(passed_)) {
        grown.cost = kInfinity;
        break;
      }
      passed_ = 1;
      if (step == n) break;
      const std::optional<std::uint32_t> best =
          count == Count::kSets ? bestOfSets(sets, candidates, step) : candidates.next();
      while (!best && candidates.placed(next_start)) ++next_start;
      item = best.value_or(next_start);
    }
    return grown;
  }

 private:
  const PipelineModel& model_;
  Polls polls_;
  double work_ = 0;                  // of counting sets
  std::size_t passed_ = 0;           // of all, in the step
  std::vector<std::uint32_t> left_;  // items of the net still to come
  std::vector<std::uint8_t> open_;
  std::vector<std::uint32_t> opened_at_, frontier_, stamp_;  // frontier: nets that opened, some closed again
  std::size_t open_nets_ = 0;

  void begin() {
    left_.clear();
    for (std::size_t e = 0; e < model_.netCount(); ++e)
      left_.push_back(static_cast<std::uint32_t>(model_.net_items[e].size()));
    open_.assign(model_.netCount(), 0);
    opened_at_.assign(model_.netCount(), 0);
    frontier_.clear();
    stamp_.assign(model_.itemCount(), 0);
    open_nets_ = 0;
  }

  // What the item does to its nets.
  void enter(std::uint32_t item, std::uint32_t step, Candidates& candidates) {
    for (const std::uint32_t e : model_.item_nets[item]) {
      const auto items = model_.net_items[e];
      if (!open_[e]) {
        open_[e] = 1;
        opened_at_[e] = step;
        frontier_.push_back(e);
        ++open_nets_;
        passed_ += items.size();
        for (const std::uint32_t v : items) {
          candidates.lower(v);
          candidates.meet(v);
        }
      }
      --left_[e];
      if (left_[e] == 0) --open_nets_;
      if (left_[e] != 1) continue;
      const auto last =
          std::find_if(items.begin(), items.end(), [&](std::uint32_t v) { return !candidates.placed(v); });
      candidates.lower(*last);
    }
  }

  std::optional<std::uint32_t> bestOfSets(OpenSets& sets, const Candidates& candidates, std::uint32_t step) {
    std::erase_if(frontier_, [&](std::uint32_t e) { return left_[e] == 0; });
    std::optional<std::uint32_t> best;
    int best_change = 0;
    std::uint32_t best_age = 0;
    const double before = work_;
    for (const std::uint32_t e : frontier_) {
      work_ += static_cast<double>(model_.net_items[e].size());
      for (const std::uint32_t v : model_.net_items[e]) {
        if (candidates.placed(v) || stamp_[v] == step) continue;
        stamp_[v] = step;
        work_ += kWorkPerNet * static_cast<double>(model_.item_nets[v].size());
        const int change = sets.change(v, left_);
        const bool better =
            !best || change < best_change || (change == best_change && opened_at_[e] < best_age);
        if (!better) continue;
        best = v;
        best_change = change;
        best_age = opened_at_[e];
      }
    }
    passed_ += static_cast<std::size_t>(work_ - before);
    return best;
  }
};

}  // namespace

SweepOrder sweepOrder(const PipelineModel& model, const Budget& budget) {
  const std::size_t n = model.itemCount();
  const std::size_t starts = std::min(n, std::clamp(kItemsOfAllStarts / (n + 1), kMinStarts, kMaxStarts));
  Grower grower(model, budget);
  const auto grow = [&](Count count, double limit) {
    Growth best{.order = {}, .cost = limit};
    for (std::size_t s = 0; s < starts && !budget.stopped(); ++s) {
      Growth grown = grower.from(static_cast<std::uint32_t>(s * n / starts), count, best.cost);
      if (grown.cost < best.cost) best = std::move(grown);
    }
    return best;
  };
  const Growth by_nets = grow(Count::kNets, kInfinity);
  // Counting sets finds orders around items of many nets, but is easily led astray elsewhere.
  const Growth by_sets = grow(Count::kSets, by_nets.cost / 2);
  SweepOrder order = (by_sets.order.items.empty() ? by_nets : by_sets).order;
  if (order.items.size() == n) return order;
  order.items.resize(n);
  std::iota(order.items.begin(), order.items.end(), 0u);
  order.peak_open = static_cast<std::uint32_t>(model.netCount());
  return order;
}

}  // namespace allot
