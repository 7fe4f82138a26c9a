#include "solve/throughput/beam.h"

#include <algorithm>
#include <memory>

#include "base/random.h"
#include "base/thread_pool.h"
#include "solve/throughput/linear_dp_model.h"

namespace allot {
namespace {

constexpr std::size_t kWidth = 12;
constexpr std::size_t kVariants = 12;
constexpr int kTargets = 8;
constexpr std::size_t kMostItems = 30'000;

// A chain of stages that covers an ideal.
struct Chain {
  std::shared_ptr<const Chain> before;
  std::vector<std::uint32_t> items;  // of the last stage
  std::uint32_t pool = 0;
  std::vector<std::uint32_t> used;    // by pool
  std::vector<std::uint32_t> waits;   // by item: predecessors outside
  std::vector<std::uint32_t> placed;  // by net: ends inside
  std::size_t count = 0, stages = 0;
  double score = 0;
  std::uint64_t hash = 0;
};

std::uint64_t itemHash(std::uint32_t item) {
  return Random(item, 9).next();
}

// Grows one stage on top of a chain.
class Growth {
 public:
  Growth(const LineModel& model, const Chain& base, std::uint32_t pool, double target, std::uint64_t seed,
         std::size_t variant)
      : model_(model),
        base_(base),
        pool_(pool),
        target_(target),
        random_(seed, variant),
        noise_(variant < 4 ? 0 : 0.5),
        own_share_(0.2 + 0.3 * static_cast<double>(variant % 4)),
        depth_first_(variant % 4 == 3),
        waits_(base.waits),
        placed_(base.placed),
        inside_(model.netCount(), 0),
        has_producer_(model.netCount(), 0) {}

  // The best stage, or nothing.
  std::shared_ptr<Chain> run() {
    std::vector<std::uint32_t> ready;
    for (std::uint32_t item = 0; item < model_.item_count; ++item) {
      if (waits_[item] == 0) ready.push_back(item);
    }
    if (noise_ > 0) {
      for (auto i = static_cast<std::uint32_t>(ready.size()); i > 1; --i)
        std::swap(ready[i - 1], ready[random_.below(i)]);
    }
    for (const std::uint32_t item : ready) push(item);
    std::vector<std::uint32_t> taken;
    double work = 0, open = openCost(), resident = 0;
    double best = -std::numeric_limits<double>::infinity();
    std::size_t best_count = 0;
    const Pool& pool = model_.pools[pool_];
    while (!heap_.empty()) {
      const Entry top = pop();
      if (waits_[top.item] != 0) continue;
      const double key = keyOf(top.item);
      if (key > top.key + 1e-15) {
        heap_.push_back({key, top.tie, top.item, top.factor});
        std::push_heap(heap_.begin(), heap_.end());
        continue;
      }
      const double* time = model_.times(top.item, pool_);
      if (resident + model_.resident[top.item] > pool.memory || time[0] == kCannotRun) {
        waits_[top.item] = kTaken;
        continue;
      }
      for (std::size_t part = 0; part < model_.parts; ++part) sums_.compute[part] += time[part];
      if (sums_.compute[0] + sums_.compute[1] > target_) break;
      resident += model_.resident[top.item];
      work += model_.work[top.item];
      waits_[top.item] = kTaken;
      open += take(top.item);
      taken.push_back(top.item);
      for (const std::uint32_t next : model_.after[top.item]) {
        if (--waits_[next] == 0) push(next);
      }
      if (model_.load(sums_, pool_, 1) > target_) continue;
      const double score = work - model_.capacity[pool_] * open;
      const bool last = base_.count + taken.size() == model_.item_count;
      if (score > best || last) {
        best = score;
        best_count = taken.size();
      }
    }
    if (best_count == 0) return nullptr;
    taken.resize(best_count);
    return extended(std::move(taken), best);
  }

 private:
  static constexpr std::uint32_t kTaken = UINT32_MAX;
  struct Entry {
    double key;
    std::int64_t tie;
    std::uint32_t item;
    double factor;
    bool operator<(const Entry& other) const { return key != other.key ? key > other.key : tie < other.tie; }
  };

  const LineModel& model_;
  const Chain& base_;
  std::uint32_t pool_;
  double target_;
  Random random_;
  double noise_, own_share_;
  bool depth_first_;
  std::vector<std::uint32_t> waits_, placed_, inside_;
  std::vector<std::uint8_t> has_producer_;
  std::vector<Entry> heap_;
  StageSums sums_;
  std::int64_t clock_ = 0;

  double openCost() const {
    double open = 0;
    for (std::uint32_t net = 0; net < model_.netCount(); ++net) {
      if (placed_[net] > 0 && placed_[net] < model_.net_items[net].size()) open += model_.net_weight[net];
    }
    return open;
  }

  // What the item adds to the stage's communication and to what is open behind it.
  double keyOf(std::uint32_t item) const {
    if (depth_first_) return 0;
    double own = 0, open = 0;
    for (const std::uint32_t net : model_.item_nets[item]) {
      const std::size_t ends = model_.net_items[net].size();
      const double cost = model_.net_weight[net];
      if (inside_[net] == 0) own += cost;
      if (inside_[net] + 1 == ends) own -= cost;
      if (placed_[net] == 0) open += cost;
      if (placed_[net] + 1 == ends) open -= cost;
    }
    return own_share_ * own + (1 - own_share_) * open;
  }

  void push(std::uint32_t item) {
    const double factor = noise_ * random_.unit();
    const double key = keyOf(item);
    heap_.push_back({key * (1 + (key > 0 ? factor : -factor)), ++clock_, item, factor});
    std::push_heap(heap_.begin(), heap_.end());
  }

  Entry pop() {
    std::pop_heap(heap_.begin(), heap_.end());
    const Entry top = heap_.back();
    heap_.pop_back();
    return top;
  }

  // Returns the change of what is open.
  double take(std::uint32_t item) {
    constexpr std::size_t kFewEnds = 16;
    double change = 0;
    for (const std::uint32_t net : model_.item_nets[item]) {
      const auto ends = model_.net_items[net];
      const bool had = inside_[net] > 0, sent = has_producer_[net] != 0;
      const bool sends = sent || model_.net_producer[net] == item;
      if (placed_[net] == 0) change += model_.net_weight[net];
      if (++placed_[net] == ends.size()) change -= model_.net_weight[net];
      ++inside_[net];
      has_producer_[net] = sends ? 1 : 0;
      double& pays = sums_.communication[model_.net_part[net]];
      if (had) pays -= model_.cost(net, pool_, sent);
      if (inside_[net] < ends.size()) pays += model_.cost(net, pool_, sends);
      // Others of the net may have become cheap.
      if (depth_first_ || (ends.size() > kFewEnds && placed_[net] + 1 < ends.size())) continue;
      for (const std::uint32_t other : ends) {
        if (waits_[other] == 0) push(other);
      }
    }
    return change;
  }

  std::shared_ptr<Chain> extended(std::vector<std::uint32_t> items, double gain) const {
    auto chain = std::make_shared<Chain>();
    chain->pool = pool_;
    chain->used = base_.used;
    ++chain->used[pool_];
    chain->waits = base_.waits;
    chain->placed = base_.placed;
    chain->count = base_.count + items.size();
    chain->stages = base_.stages + 1;
    chain->hash = base_.hash;
    chain->score = gain - target_ * model_.capacity[pool_];
    for (const std::uint32_t item : items) {
      chain->waits[item] = kTaken;
      chain->hash ^= itemHash(item);
      for (const std::uint32_t next : model_.after[item]) --chain->waits[next];
      for (const std::uint32_t net : model_.item_nets[item]) ++chain->placed[net];
    }
    chain->items = std::move(items);
    return chain;
  }
};

class Beam {
 public:
  Beam(const LineModel& model, const Budget& budget) : model_(model), budget_(budget) {}

  // A chain with all loads within the target, or a plan without stages.
  LinePlan run(double target, std::uint64_t seed) const {
    auto root = std::make_shared<Chain>();
    root->used.assign(model_.poolCount(), 0);
    root->placed.assign(model_.netCount(), 0);
    for (std::uint32_t i = 0; i < model_.item_count; ++i)
      root->waits.push_back(static_cast<std::uint32_t>(model_.before[i].size()));
    std::vector<std::shared_ptr<const Chain>> level{root};
    const std::uint32_t limit = model_.problem->modes.max_stages;
    while (!level.empty() && !budget_.stopped()) {
      if (limit > 0 && level.front()->stages >= limit) return {};
      struct Task {
        const Chain* base;
        std::size_t from;
        std::uint32_t pool;
        std::size_t variant;
      };
      std::vector<Task> tasks;
      for (std::size_t c = 0; c < level.size(); ++c) {
        for (std::uint32_t pool = 0; pool < model_.poolCount(); ++pool) {
          if (level[c]->used[pool] == model_.pools[pool].devices.size()) continue;
          for (std::size_t v = 0; v < kVariants; ++v) tasks.push_back({level[c].get(), c, pool, v});
        }
      }
      std::vector<std::shared_ptr<Chain>> grown(tasks.size());
      parallelFor(tasks.size(), budget_.threads, [&](std::size_t t) {
        if (budget_.stopped()) return;
        const Task& task = tasks[t];
        grown[t] = Growth(model_, *task.base, task.pool, target, seed + 31 * t, task.variant).run();
        if (grown[t]) grown[t]->before = level[task.from];
      });
      std::erase_if(grown, [](const auto& chain) { return chain == nullptr; });
      for (auto& chain : grown) {
        // Work placed so far, against what the devices used could have done.
        for (const Chain* c = chain->before.get(); c->before != nullptr; c = c->before.get())
          chain->score += placedWork(*c) - target * model_.capacity[c->pool];
        if (chain->count == model_.item_count) return planOf(*chain);
      }
      level = choose(grown);
    }
    return {};
  }

 private:
  const LineModel& model_;
  const Budget& budget_;

  double placedWork(const Chain& chain) const {
    double work = 0;
    for (const std::uint32_t item : chain.items) work += model_.work[item];
    return work;
  }

  static std::vector<std::shared_ptr<const Chain>> choose(std::vector<std::shared_ptr<Chain>>& grown) {
    std::stable_sort(grown.begin(), grown.end(),
                     [](const auto& a, const auto& b) { return a->score > b->score; });
    std::vector<std::shared_ptr<const Chain>> kept;
    for (const auto& chain : grown) {
      const bool known = std::any_of(kept.begin(), kept.end(), [&](const auto& other) {
        return other->hash == chain->hash && other->used == chain->used;
      });
      if (!known) kept.push_back(chain);
      if (kept.size() == kWidth) break;
    }
    return kept;
  }

  LinePlan planOf(const Chain& last) const {
    LinePlan plan;
    plan.stage_of.assign(model_.item_count, 0);
    plan.stages.resize(last.stages);
    auto s = static_cast<std::uint32_t>(last.stages);
    for (const Chain* chain = &last; chain->before != nullptr; chain = chain->before.get()) {
      plan.stages[--s] = {chain->pool, 1};
      for (const std::uint32_t item : chain->items) plan.stage_of[item] = s;
    }
    return plan;
  }
};

}  // namespace

SolveResult solveBeam(const Problem& problem, const Budget& budget, Progress& progress) {
  if (problem.modes.in_flight || problem.opCount() > 4 * kMostItems ||
      lineModelBytes(problem) > static_cast<double>(budget.memory_bytes))
    return {SolveEnd::kNotSuitable, ""};
  const LineModel model(problem);
  const double chain_bytes = 8.0 * static_cast<double>(model.item_count + model.netCount());
  if (model.item_count > kMostItems ||
      chain_bytes * static_cast<double>(kWidth * kVariants * (model.poolCount() + problem.deviceCount())) >
          static_cast<double>(budget.memory_bytes))
    return {SolveEnd::kNotSuitable, ""};
  const Beam beam(model, budget);
  double low = std::max(model.total_work, progress.bestBound());
  double high = progress.bestValue();
  if (high == std::numeric_limits<double>::infinity()) high = 2 * low;
  for (int i = 0; i < kTargets && low < high * (1 - 1e-4) && !progress.done(); ++i) {
    if (budget.stopped()) return {SolveEnd::kStopped, ""};
    // Near the best value at first: most targets far below it cannot be met.
    const double target = i == 0 ? high * (1 - 1e-6) : (low + high) / 2;
    const LinePlan plan = beam.run(target, budget.seed * 7919 + static_cast<std::uint64_t>(i));
    if (plan.found()) {
      progress.plan(model.toPlan(plan), "beam");
      high = std::min(target, progress.bestValue());
    } else {
      low = std::max(low, i == 0 ? low : target);
      if (i == 0 && progress.bestPlan() != nullptr) break;
    }
  }
  return {budget.stopped() ? SolveEnd::kStopped : SolveEnd::kFinished, ""};
}

}  // namespace allot
