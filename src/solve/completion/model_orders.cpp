#include "solve/completion/model_orders.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "allot/evaluate.h"
#include "base/random.h"
#include "base/thread_pool.h"
#include "solve/baselines/list_schedule.h"
#include "solve/baselines/ranks.h"

namespace allot {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::array<double, 4> kPriceShares{0, 0.5, 1, 1.5};
constexpr std::size_t kBatch = 8;  // orders tried at once, by any number of threads

using Order = std::vector<std::uint32_t>;

struct Found {
  double value = kInfinity;
  Plan plan;
};

class OrderSearch {
 public:
  OrderSearch(const Problem& problem, const PriceSearch& prices, const Budget& budget, Progress& progress)
      : problem_(problem), prices_(prices), budget_(budget), progress_(progress) {
    rank_ = baseline::upwardRank(problem, baseline::meanOpSeconds(problem),
                                 baseline::meanTransferSeconds(problem));
    longest_ = *std::max_element(rank_.begin(), rank_.end());
    const std::vector<double> least = baseline::leastOpSeconds(problem);
    work_.assign(problem.graph.modelCount(), 0);
    for (std::size_t i = 0; i < least.size(); ++i) work_[problem.graph.op_model[i].index()] += least[i];
  }

  bool run(std::uint64_t orders) {
    Order order(work_.size());
    std::iota(order.begin(), order.end(), 0);
    const auto key = [&](std::uint32_t m) {
      const double weight = problem_.model_weight[m];
      return problem_.model_release[m] + (weight > 0 ? work_[m] / weight : kInfinity);
    };
    std::stable_sort(order.begin(), order.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return key(a) < key(b); });
    std::vector<Order> batch{order};
    best_order_ = order;
    if (!tryAll(batch)) return false;
    std::uint64_t tried = 1;
    double all = 1;
    for (std::size_t k = 2; k <= order.size(); ++k) all *= static_cast<double>(k);
    if (all <= static_cast<double>(orders)) {
      std::sort(order.begin(), order.end());
      bool more = true;
      while (more && !progress_.done()) {
        batch.clear();
        for (; more && batch.size() < kBatch; more = std::next_permutation(order.begin(), order.end()))
          batch.push_back(order);
        if (!tryAll(batch)) return false;
      }
      return true;
    }
    Random random(budget_.seed, 71);
    const auto models = static_cast<std::uint32_t>(order.size());
    for (; tried < orders && !progress_.done(); tried += kBatch) {
      batch.clear();
      while (batch.size() < kBatch) {
        // Most moves are short: far neighbours are seldom wrong about each other.
        Order next = best_order_;
        const std::uint32_t from = random.below(models);
        const std::uint32_t reach = 1 + random.below(random.below(4) == 0 ? models : 3);
        const std::uint32_t to =
            random.below(2) == 0 ? std::min(models - 1, from + reach) : from - std::min(from, reach);
        const std::uint32_t moved = next[from];
        next.erase(next.begin() + from);
        next.insert(next.begin() + to, moved);
        batch.push_back(std::move(next));
      }
      if (!tryAll(batch)) return false;
    }
    return true;
  }

 private:
  const Problem& problem_;
  const PriceSearch& prices_;
  const Budget& budget_;
  Progress& progress_;
  std::vector<double> rank_, work_;
  double longest_ = 0;
  Order best_order_;
  double best_value_ = kInfinity;

  Found tryOne(const Order& order, double share, std::atomic<bool>& stopped) const {
    std::vector<double> place(order.size());
    for (std::size_t k = 0; k < order.size(); ++k) place[order[k]] = static_cast<double>(k);
    const auto key = [&](OpId op, double) {
      return place[problem_.graph.op_model[op.index()].index()] +
             0.99 * (1 - rank_[op.index()] / std::max(longest_, 1e-300));
    };
    const bool priced = share > 0 && !prices_.prices().level.empty();
    const auto cost = [&](OpId op, DeviceId device, double finish) {
      if (!priced) return finish;
      const std::size_t cls = problem_.cluster.devices[device.index()].cls.index();
      const double weight = problem_.model_weight[problem_.graph.op_model[op.index()].index()];
      const double start = std::max(0.0, finish - problem_.opSeconds(op, device));
      const Prices& prices = prices_.prices();
      const double price =
          prices.before(cls, start + problem_.busySeconds(op, device)) - prices.before(cls, start);
      return weight * finish + share * price;
    };
    baseline::ListOutcome outcome = baseline::scheduleList(problem_, budget_, key, cost);
    if (outcome.stopped) stopped = true;
    if (!outcome.plan) return {};
    Evaluation evaluated = evaluate(problem_, std::move(*outcome.plan));
    if (!evaluated.valid()) return {};
    return {evaluated.plan.value, std::move(evaluated.plan)};
  }

  bool tryAll(const std::vector<Order>& batch) {
    std::vector<Found> found(batch.size() * kPriceShares.size());
    std::atomic<bool> stopped{false};
    parallelFor(found.size(), budget_.threads, [&](std::size_t k) {
      if (!stopped)
        found[k] = tryOne(batch[k / kPriceShares.size()], kPriceShares[k % kPriceShares.size()], stopped);
    });
    for (std::size_t k = 0; k < found.size(); ++k) {
      if (!(found[k].value < best_value_)) continue;
      best_value_ = found[k].value;
      best_order_ = batch[k / kPriceShares.size()];
      if (best_value_ < progress_.bestValue()) progress_.plan(std::move(found[k].plan), "completion-search");
    }
    return !stopped;
  }
};

}  // namespace

bool searchModelOrders(const Problem& problem, const PriceSearch& prices, std::uint64_t orders,
                       const Budget& budget, Progress& progress) {
  return OrderSearch(problem, prices, budget, progress).run(orders);
}

}  // namespace allot
