#include "solve/throughput/run_search.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <numeric>

#include "base/thread_pool.h"

namespace allot {
namespace {

constexpr double kRounding = 1e-9;  // of sums of work and costs, as a share of them
constexpr std::size_t kShareNodes = 64;

using SlotCosts = std::array<double, 64>;  // by slot

double sumOf(std::uint64_t slots, const SlotCosts& cost) {
  double sum = 0;
  for (; slots != 0; slots &= slots - 1) sum += cost[static_cast<std::size_t>(std::countr_zero(slots))];
  return sum;
}

std::vector<std::uint32_t> countUp(std::size_t n) {
  std::vector<std::uint32_t> numbers(n);
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

std::uint64_t mix(std::uint64_t a) {
  a *= 0x9E3779B97F4A7C15ull;
  return a ^ a >> 29;
}

// Numbers of entries by their hash; the caller compares.
class HashIndex {
 public:
  explicit HashIndex(std::size_t bits) : slots_(std::size_t{1} << bits, kFree) {}

  // The number of the entry that `same` accepts, or `number`, which is then noted.
  template <class Same>
  std::uint32_t find(std::uint64_t hash, std::uint32_t number, Same same) {
    const std::size_t mask = slots_.size() - 1;
    for (std::size_t at = hash & mask;; at = (at + 1) & mask) {
      if (slots_[at] == kFree) {
        slots_[at] = number;
        used_.push_back(at);
        return number;
      }
      if (same(slots_[at])) return slots_[at];
    }
  }
  bool crowded() const { return used_.size() * 2 > slots_.size(); }
  void clear() {
    for (const std::size_t at : used_) slots_[at] = kFree;
    used_.clear();
  }
  std::size_t bits() const { return static_cast<std::size_t>(std::countr_zero(slots_.size())); }

 private:
  static constexpr std::uint32_t kFree = UINT32_MAX;
  std::vector<std::uint32_t> slots_;
  std::vector<std::size_t> used_;
};

}  // namespace

RunSearch::RunSearch(const RunGraph& graph, std::size_t stages)
    : graph_(graph), stages_(stages), packing_(graph.before, countUp(graph.runCount())) {
  total_ = std::accumulate(graph.work.begin(), graph.work.end(), 0.0);
  giveSlots();
}

bool RunSearch::holdsAll(const std::uint64_t* key, std::span<const std::uint32_t> runs) const {
  return std::all_of(runs.begin(), runs.end(), [&](std::uint32_t r) { return holds(key, r); });
}

bool RunSearch::holdsAny(const std::uint64_t* key, std::span<const std::uint32_t> runs) const {
  return std::any_of(runs.begin(), runs.end(), [&](std::uint32_t r) { return holds(key, r); });
}

void RunSearch::giveSlots() {
  const std::size_t n = graph_.runCount(), words = (n + 63) / 64, nets = graph_.net_cost.size();
  std::vector<std::uint64_t> needs(n * words, 0);  // all that comes before a run, and itself
  for (std::size_t r = 0; r < n; ++r) {
    needs[r * words + r / 64] |= std::uint64_t{1} << r % 64;
    for (const std::uint32_t p : graph_.before[r]) {
      for (std::size_t w = 0; w < words; ++w) needs[r * words + w] |= needs[p * words + w];
    }
  }
  // Whether net e is complete whenever f begins.
  const auto precedes = [&](std::uint32_t e, std::uint32_t f) {
    return std::all_of(graph_.net_runs[f].begin(), graph_.net_runs[f].end(), [&](std::uint32_t y) {
      return std::all_of(graph_.net_runs[e].begin(), graph_.net_runs[e].end(),
                         [&](std::uint32_t x) { return (needs[y * words + x / 64] >> x % 64 & 1) != 0; });
    });
  };
  slot_.assign(nets, 0);
  for (std::uint32_t e = 0; e < nets; ++e) {
    std::uint64_t taken = 0;
    for (std::uint32_t f = 0; f < e; ++f) {
      if (!precedes(f, e) && !precedes(e, f)) taken |= std::uint64_t{1} << slot_[f];
    }
    if (taken == UINT64_MAX) return;
    slot_[e] = static_cast<std::uint8_t>(std::countr_one(taken));
  }
  suitable_ = true;
}

double RunSearch::leastToGoOn(const std::uint64_t* key) const {
  double least = std::numeric_limits<double>::infinity();
  for (std::uint32_t r = 0; r < graph_.runCount(); ++r) {
    if (graph_.items[r].size() == 1 || !holds(key, r) || holdsAny(key, graph_.after[r])) continue;
    double cost = 0;
    for (const std::uint32_t e : graph_.run_nets[r]) {
      if (!holdsAll(key, graph_.net_runs[e])) cost += graph_.net_cost[e];
    }
    least = std::min(least, cost);
  }
  return least;
}

RunSearch::Level RunSearch::first() const {
  Level level;
  level.keys.assign(packing_.words, 0);
  level.least = level.most = {0};
  level.open.closeRow();
  level.labels.items.push_back({});
  level.labels.closeRow();
  return level;
}

void RunSearch::addNode(const Level& from, std::uint32_t parent, std::uint32_t run, const std::uint64_t* key,
                        Level& level) const {
  const std::uint64_t* old_key = &from.keys[parent * packing_.words];
  level.keys.insert(level.keys.end(), key, key + packing_.words);
  level.most.push_back(from.most[parent] + graph_.work[run]);
  double least = from.least[parent] + graph_.least[run];
  for (const std::uint32_t p : graph_.before[run]) {
    // The first that follows a run has all of it done.
    if (!holdsAny(old_key, graph_.after[p])) least += graph_.work[p] - graph_.least[p];
  }
  level.least.push_back(least);
  const auto known = from.open[parent];
  for (const std::uint32_t e : known) {
    if (!holdsAll(key, graph_.net_runs[e])) level.open.items.push_back(e);
  }
  for (const std::uint32_t e : graph_.run_nets[run]) {
    if (std::find(known.begin(), known.end(), e) == known.end()) level.open.items.push_back(e);
  }
  level.open.closeRow();
}

RunSearch::Level RunSearch::next(const Level& level, Csr<Edge>& edges) const {
  Level made;
  std::vector<std::pair<std::uint32_t, Edge>> found;  // with the node that an edge leads to
  HashIndex index(16);
  std::vector<std::uint64_t> key(packing_.words);
  const auto hashOf = [&](const std::uint64_t* words) {
    std::uint64_t hash = 0;
    for (std::size_t w = 0; w < packing_.words; ++w) hash = mix(hash ^ words[w]);
    return mix(hash);
  };
  for (std::uint32_t node = 0; node < level.size(); ++node) {
    if (level.labels[node].empty()) continue;
    const std::uint64_t* old_key = &level.keys[node * packing_.words];
    for (std::size_t c = 0; c < packing_.chains.size(); ++c) {
      const std::uint32_t held = packing_.held(old_key, c);
      if (held == packing_.chains[c].size()) continue;
      const std::uint32_t run = packing_.chains[c][held];
      if (!holdsAll(old_key, graph_.before[run])) continue;
      std::copy_n(old_key, packing_.words, key.begin());
      key[packing_.places[run].word] += std::uint64_t{1} << packing_.places[run].shift;
      if (index.crowded()) {
        HashIndex larger(index.bits() + 2);
        for (std::uint32_t i = 0; i < made.size(); ++i)
          larger.find(hashOf(&made.keys[i * packing_.words]), i, [](std::uint32_t) { return false; });
        index = std::move(larger);
      }
      const auto number = static_cast<std::uint32_t>(made.size());
      const std::uint32_t to = index.find(hashOf(key.data()), number, [&](std::uint32_t i) {
        return std::equal(key.begin(), key.end(), &made.keys[i * packing_.words]);
      });
      if (to == number) addNode(level, node, run, key.data(), made);
      found.push_back({to, {node, run}});
    }
  }
  edges.begin.assign(made.size() + 1, 0);
  for (const auto& [to, edge] : found) ++edges.begin[to + 1];
  std::partial_sum(edges.begin.begin(), edges.begin.end(), edges.begin.begin());
  edges.items.resize(found.size());
  std::vector<std::uint32_t> at(edges.begin.begin(), edges.begin.end() - 1);
  for (const auto& [to, edge] : found) edges.items[at[to]++] = edge;
  return made;
}

void RunSearch::gather(const Level& from, std::span<const Edge> edges, const Level& level, std::size_t node,
                       std::vector<Label>& labels) const {
  thread_local HashIndex index(8);
  index.clear();
  labels.clear();
  SlotCosts cost{};
  for (const Edge& edge : edges) {
    std::uint64_t touched = 0, completed = 0;
    const auto open = level.open[node];
    for (const std::uint32_t e : graph_.run_nets[edge.run]) {
      const auto known = from.open[edge.from];
      if (std::find(known.begin(), known.end(), e) == known.end()) continue;
      const std::uint64_t bit = std::uint64_t{1} << slot_[e];
      touched |= bit;
      cost[slot_[e]] = graph_.net_cost[e];
      if (std::find(open.begin(), open.end(), e) == open.end()) completed |= bit;
    }
    for (Label label : from.labels[edge.from]) {
      label.left -= sumOf(label.unpaid & touched, cost);
      if (label.left + limit_ < std::max(level.least[node], needed_[label.stages + 1])) continue;
      label.old &= ~completed;
      label.unpaid &= ~touched;
      if (index.crowded()) {
        index = HashIndex(index.bits() + 2);
        for (std::uint32_t i = 0; i < labels.size(); ++i) {
          index.find(mix(mix(labels[i].old) ^ labels[i].unpaid) + labels[i].stages, i,
                     [](std::uint32_t) { return false; });
        }
      }
      const auto number = static_cast<std::uint32_t>(labels.size());
      const std::uint32_t same =
          index.find(mix(mix(label.old) ^ label.unpaid) + label.stages, number, [&](std::uint32_t i) {
            return labels[i].old == label.old && labels[i].unpaid == label.unpaid &&
                   labels[i].stages == label.stages;
          });
      if (same == number)
        labels.push_back(label);
      else if (labels[same].left < label.left)
        labels[same] = label;
    }
  }
}

void RunSearch::fill(const Level& from, std::span<const Edge> edges, const Level& level, std::size_t node,
                     Share& share) const {
  thread_local std::vector<Label> found;
  gather(from, edges, level, node, found);
  SlotCosts cost{};
  std::uint64_t open = 0;
  for (const std::uint32_t e : level.open[node]) {
    open |= std::uint64_t{1} << slot_[e];
    cost[slot_[e]] = graph_.net_cost[e];
  }
  double least_cost = std::numeric_limits<double>::infinity();
  for (const std::uint32_t e : level.open[node]) least_cost = std::min(least_cost, graph_.net_cost[e]);
  const std::size_t begin = share.labels.size();
  // Whether a label that was kept is ahead whatever comes: it may have to pay for a net at the end of the
  // stage that came from before in the other one, and for one from before that the other never pays for.
  const auto beaten = [&](const Label& label) {
    for (std::size_t i = begin; i < share.labels.size(); ++i) {
      const Label& other = share.labels[i];
      const double ahead = other.left - label.left;
      if (ahead < 0 || other.stages > label.stages) continue;
      const std::uint64_t at_end = label.old & ~other.old, at_use = other.unpaid & ~label.unpaid;
      if ((at_end | at_use) == 0) return true;
      if (ahead >= least_cost && sumOf(at_end, cost) + sumOf(at_use, cost) <= ahead) return true;
    }
    return false;
  };
  std::sort(found.begin(), found.end(), [](const Label& a, const Label& b) {
    if (a.left != b.left) return a.left > b.left;
    if (a.stages != b.stages) return a.stages < b.stages;
    if (a.old != b.old) return a.old < b.old;
    return a.unpaid < b.unpaid;
  });
  for (const Label& label : found) {
    if (!beaten(label)) share.labels.push_back(label);
  }
  // Stages that end here.
  const double all_open = sumOf(open, cost);
  std::vector<double> reached(stages_ + 1, -1);  // by number of stages
  for (std::size_t i = begin; i < share.labels.size(); ++i) {
    const Label& label = share.labels[i];
    const double work = std::min(label.left + limit_ - all_open + sumOf(label.old, cost), level.most[node]);
    if (work >= level.least[node]) reached[label.stages + 1] = std::max(reached[label.stages + 1], work);
  }
  const std::uint64_t* key = &level.keys[node * packing_.words];
  double most = -1;
  for (std::uint32_t b = 1; b <= stages_; ++b) {
    if (reached[b] <= most || reached[b] < needed_[b]) continue;
    most = reached[b];
    if (b == stages_) break;
    const Label label{open, open, most, b};
    if (!beaten(label)) share.labels.push_back(label);
    reached[b + 1] =
        std::max(reached[b + 1], std::min(most + limit_ - 2 * leastToGoOn(key), level.most[node]));
  }
  share.complete = share.complete || most >= total_ * (1 - kRounding);
  for (std::size_t i = begin; i < share.labels.size(); ++i) {
    const Label& label = share.labels[i];
    share.times.push_back(timeOf(label, level.most[node], all_open - sumOf(label.old, cost)));
  }
  share.ends.push_back(static_cast<std::uint32_t>(share.labels.size()));
}

double RunSearch::timeOf(const Label& label, double work, double new_cost) const {
  // What is left takes as long as between the amounts that are needed at least.
  std::size_t b = 0;
  while (b + 1 < stages_ && needed_[b + 1] <= work) ++b;
  const double step = needed_[b + 1] - needed_[b];
  const double done = static_cast<double>(b) + (step > 0 ? std::min(1.0, (work - needed_[b]) / step) : 1);
  return limit_ * (label.stages - done) + work - label.left + new_cost;
}

RunSearch::End RunSearch::below(double limit, std::span<const double> needed, std::size_t most_labels,
                                const Budget& budget) {
  limit_ = limit + kRounding * total_;
  needed_.assign(needed.begin(), needed.end());
  for (double& work : needed_) work -= kRounding * total_;
  labels_ = 0;
  bool dropped = false;
  Level level = first();
  for (std::size_t i = 0; i < graph_.runCount(); ++i) {
    Csr<Edge> edges;
    Level made = next(level, edges);
    if (made.size() == 0) return dropped ? End::kCut : End::kNone;
    std::vector<Share> shares((made.size() + kShareNodes - 1) / kShareNodes);
    parallelFor(shares.size(), budget.threads, [&](std::size_t s) {
      if (budget.stopped()) return;
      for (std::size_t node = s * kShareNodes; node < std::min(made.size(), (s + 1) * kShareNodes); ++node)
        fill(level, edges[node], made, node, shares[s]);
    });
    if (budget.stopped()) return End::kCut;
    // The only node of the last level is everything.
    if (i + 1 == graph_.runCount() && shares[0].complete) return End::kFound;
    double latest = std::numeric_limits<double>::infinity();
    std::vector<double> times;
    for (const Share& share : shares) times.insert(times.end(), share.times.begin(), share.times.end());
    labels_ += times.size();
    if (times.size() > most_labels) {
      const auto last = times.begin() + static_cast<std::ptrdiff_t>(most_labels);
      std::nth_element(times.begin(), last, times.end());
      latest = *last;
      dropped = true;
    }
    for (Share& share : shares) {
      std::size_t at = 0;
      for (const std::uint32_t end : share.ends) {
        for (; at < end; ++at) {
          if (share.times[at] <= latest) made.labels.items.push_back(share.labels[at]);
        }
        made.labels.closeRow();
      }
      share = {};
    }
    if (2 * sizeof(Label) * (made.labels.items.size() + level.labels.items.size()) > budget.memory_bytes)
      return End::kCut;
    level = std::move(made);
  }
  return dropped ? End::kCut : End::kNone;
}

}  // namespace allot
