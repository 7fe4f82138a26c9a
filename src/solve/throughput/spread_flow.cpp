#include "solve/throughput/spread_flow.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>

namespace allot {
namespace {

constexpr float kUnreached = std::numeric_limits<float>::infinity();
constexpr std::size_t kBatch = 16;       // sources that see the same lengths
constexpr double kRoundShare = 0.15;     // of all capacity, that a round uses at the first lengths
constexpr double kSteepness = 60;        // of lengths, by what a net carries as a share of its capacity
constexpr double kLeastPower = -50;      // so that short lengths are not lost beside long ones
constexpr std::uint64_t kStream = 0x59;  // of random numbers

// Distances are not negative, so their bits are in order.
std::uint64_t key(float distance, std::uint32_t item) {
  return std::uint64_t{std::bit_cast<std::uint32_t>(distance)} << 32 | item;
}

}  // namespace

SpreadFlow::SpreadFlow(const PipelineModel& model, std::vector<double> weight, std::vector<double> capacity,
                       double size, const Budget& budget)
    : model_(model),
      weight_(std::move(weight)),
      capacity_(std::move(capacity)),
      size_(size),
      budget_(budget),
      crew_(std::max(1u, budget.threads)),
      random_(budget.seed, kStream),
      searches_(std::max(1u, budget.threads)),
      carried_(model.netCount(), 0),
      length_(model.netCount()),
      ends_(model.itemCount(), 0),
      density_(model.itemCount(), 0) {
  const std::size_t n = model.itemCount();
  for (Search& search : searches_) {
    search.distance.assign(n, kUnreached);
    search.parent.resize(n);
    search.net.resize(n);
    search.settled.assign(n, 0);
    search.below.resize(n);
    search.passed.assign(model.netCount(), 0);
  }
  for (std::uint32_t v = 0; v < n; ++v) {
    if (weight_[v] > 0) order_.push_back(v);
  }
}

bool SpreadFlow::round() {
  for (std::size_t i = order_.size(); i > 1; --i)
    std::swap(order_[i - 1], order_[random_.below(static_cast<std::uint32_t>(i))]);
  std::vector<Tree> trees(kBatch);
  bool any = false;
  for (std::size_t first = 0; first < order_.size(); first += kBatch) {
    if (budget_.stopped()) return false;
    measure();
    const std::size_t count = std::min(kBatch, order_.size() - first);
    for (std::size_t i = 0; i < count; ++i) trees[i].source = order_[first + i];
    const WalkCrew::Task task = [&](std::size_t worker, std::size_t i, const WalkPart*) {
      grow(searches_[worker], trees[i]);
    };
    crew_.run(count, task, true);
    if (unit_ == 0) {
      double cost = 0;
      for (std::size_t i = 0; i < count; ++i) cost += weight_[trees[i].source] * trees[i].cost;
      // At the first lengths every net is as long as it takes to count 1 when it is full.
      const double each = cost / static_cast<double>(count);
      if (each > 0)
        unit_ = kRoundShare * static_cast<double>(model_.netCount()) /
                (each * static_cast<double>(order_.size()));
    }
    for (std::size_t i = 0; i < count; ++i) {
      visited_ += trees[i].items.size();
      // An item that is too heavy by itself has nobody to send to.
      if (trees[i].weight <= size_ || trees[i].cost <= 0) continue;
      send(trees[i]);
      any = true;
    }
  }
  return any;
}

// Only ratios of lengths count: the fullest net is as long as an empty one was at first.
void SpreadFlow::measure() {
  const double most = carried_.empty() ? 0 : *std::max_element(carried_.begin(), carried_.end());
  for (std::size_t e = 0; e < length_.size(); ++e) {
    const double power = std::max(kSteepness * (carried_[e] - most), kLeastPower);
    length_[e] = capacity_[e] > 0 ? static_cast<float>(std::exp(power) / capacity_[e]) : kUnreached;
  }
}

// The ball around the source that is worth most for its cost: `weight` beyond `size_` over the sum of weights
// times distances. An item at distance d raises that as long as 1 / d is above it.
void SpreadFlow::grow(Search& s, Tree& tree) const {
  tree.weight = tree.cost = 0;
  tree.items.clear();
  tree.nets.clear();
  if (budget_.stopped()) return;
  s.reached.assign(1, tree.source);
  s.distance[tree.source] = 0;
  s.heap.assign(1, key(0, tree.source));
  while (!s.heap.empty()) {
    std::pop_heap(s.heap.begin(), s.heap.end(), std::greater<>());
    const auto item = static_cast<std::uint32_t>(s.heap.back());
    s.heap.pop_back();
    if (s.settled[item] != 0) continue;
    const float distance = s.distance[item];
    if (tree.weight > size_ && distance * (tree.weight - size_) >= tree.cost) break;
    s.settled[item] = 1;
    tree.items.push_back(item);
    tree.weight += weight_[item];
    tree.cost += weight_[item] * distance;
    settle(s, item, distance);
  }
  for (const std::uint32_t item : tree.items) s.below[item] = weight_[item];
  for (std::size_t i = tree.items.size(); i-- > 1;) {
    const std::uint32_t item = tree.items[i];
    s.below[s.parent[item]] += s.below[item];
    if (s.below[item] > 0) tree.nets.emplace_back(s.net[item], s.below[item]);
  }
  for (const std::uint32_t item : s.reached) {
    s.distance[item] = kUnreached;
    s.settled[item] = 0;
  }
  for (const std::uint32_t net : s.passed_nets) s.passed[net] = 0;
  s.passed_nets.clear();
}

void SpreadFlow::settle(Search& s, std::uint32_t item, float distance) const {
  for (const std::uint32_t net : model_.item_nets[item]) {
    // Nobody passes it sooner than its first item.
    if (s.passed[net] != 0 || length_[net] == kUnreached) continue;
    s.passed[net] = 1;
    s.passed_nets.push_back(net);
    const float there = distance + length_[net];
    for (const std::uint32_t other : model_.net_items[net]) {
      if (!(there < s.distance[other])) continue;
      if (s.distance[other] == kUnreached) s.reached.push_back(other);
      s.distance[other] = there;
      s.parent[other] = item;
      s.net[other] = net;
      s.heap.push_back(key(there, other));
      std::push_heap(s.heap.begin(), s.heap.end(), std::greater<>());
    }
  }
}

void SpreadFlow::send(const Tree& tree) {
  const double density = unit_ * weight_[tree.source];
  density_[tree.source] += density;
  ends_[tree.source] += density * tree.weight;
  for (const std::uint32_t item : tree.items) ends_[item] += density * weight_[item];
  for (const auto& [net, weight] : tree.nets) carried_[net] += density * weight / capacity_[net];
}

std::vector<double> SpreadFlow::scaled(const std::vector<double>& figures) const {
  const double most = carried_.empty() ? 0 : *std::max_element(carried_.begin(), carried_.end());
  std::vector<double> all(figures.size(), 0);
  for (std::size_t i = 0; i < all.size() && most > 0; ++i) all[i] = figures[i] / most;
  return all;
}

}  // namespace allot
