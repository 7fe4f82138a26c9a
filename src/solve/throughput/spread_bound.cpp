#include "solve/throughput/spread_bound.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "solve/throughput/packing_bound.h"
#include "solve/throughput/pipeline_model.h"
#include "solve/throughput/price_start.h"
#include "solve/throughput/spread_flow.h"

namespace allot {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::size_t kLeastItems = 200, kMostItems = 40'000;
constexpr int kMostRounds = 8;
constexpr double kWorthwhile = 2e-4;  // a round that raises the bound by less is the last
constexpr double kRounding = 1e-9;    // of sums of work and of flows, as a share of them
constexpr int kTightenings = 4;       // of the weight of sets, at each value
constexpr int kBisections = 30;

class SpreadBound {
 public:
  explicit SpreadBound(const PipelineModel& model) : model_(model) {
    const std::size_t n = model.itemCount(), pools = model.poolCount();
    for (const Pool& pool : model.pools) counts_.push_back(static_cast<double>(pool.devices.size()));
    pool_weight_ = splitPrices(model, counts_).device;
    pays_.assign(pools, 0);
    for (std::size_t i = 0; i < model.send.size(); ++i) {
      if (model.send[i] > 0 || model.receive[i] > 0) pays_[i % pools] = 1;
    }
    weight.assign(n, kInfinity);
    capacity.assign(model.netCount(), kInfinity);
    for (std::size_t k = 0; k < pools; ++k) {
      if (pays_[k] == 0) continue;
      for (std::size_t v = 0; v < n; ++v) weight[v] = std::min(weight[v], model.time(v, k));
      for (std::size_t e = 0; e < capacity.size(); ++e)
        capacity[e] = std::min({capacity[e], model.cost(e, k, true), model.cost(e, k, false)});
    }
    // What no paying device may run is in none of their sets.
    for (double& w : weight) w = w < kCannotRun ? w : 0;
  }

  // Least time of an item, and least cost of a net, on devices that pay for transfers.
  std::vector<double> weight, capacity;

  bool pays() const { return std::find(pays_.begin(), pays_.end(), 1) != pays_.end(); }

  void setFlow(const SpreadFlow& flow) {
    ends_ = flow.ends();
    density_ = flow.density();
  }

  // Up to this value no plan exists.
  double refuted(double upper, const Budget& budget) const {
    double low = 0, high = upper;
    for (int i = 0; i < kBisections && !budget.stopped(); ++i) {
      const double middle = (low + high) / 2;
      (leastLoad(middle) > middle ? low : high) = middle;
    }
    return low;
  }

 private:
  const PipelineModel& model_;
  std::vector<double> counts_, pool_weight_;
  std::vector<std::uint8_t> pays_;
  std::vector<double> ends_, density_;

  // What an item adds to the load of a device that pays, when sets there weigh at most `size`.
  double timeIn(std::size_t v, std::size_t k, double size) const {
    return model_.time(v, k) + ends_[v] * (1 - kRounding) - 2 * density_[v] * size * (1 + kRounding);
  }

  // The largest weight of a set of load at most `target` on the pool.
  double mostWeight(std::size_t k, double target) const {
    double size = kInfinity;
    std::vector<std::pair<double, double>> items;  // time for a unit of weight, weight
    for (int round = 0; round <= kTightenings; ++round) {
      items.clear();
      double taken = 0, weight_taken = 0;
      for (std::size_t v = 0; v < weight.size(); ++v) {
        if (weight[v] <= 0 || !model_.runs(v, k)) continue;
        const double time = round == 0 ? model_.time(v, k) : timeIn(v, k, size);
        if (time <= 0) {
          taken += time;
          weight_taken += weight[v];
        } else {
          items.emplace_back(time / weight[v], weight[v]);
        }
      }
      std::sort(items.begin(), items.end());
      for (const auto& [time, w] : items) {
        const double part = std::clamp((target - taken) / (time * w), 0.0, 1.0);
        weight_taken += part * w;
        taken += part * time * w;
        if (part < 1) break;
      }
      size = std::min(size, weight_taken * (1 + kRounding));
    }
    return size;
  }

  // What the largest load is at least, if it is at most `target`.
  double leastLoad(double target) const {
    const std::size_t n = model_.itemCount(), pools = model_.poolCount();
    std::vector<double> size(pools, 0);
    for (std::size_t k = 0; k < pools; ++k) size[k] = pays_[k] != 0 ? mostWeight(k, target) : 0;
    double sum = 0;
    for (std::size_t v = 0; v < n; ++v) {
      double least = kInfinity;
      for (std::size_t k = 0; k < pools; ++k) {
        if (!model_.runs(v, k)) continue;
        const double time = pays_[k] != 0 ? timeIn(v, k, size[k]) : model_.time(v, k);
        least = std::min(least, pool_weight_[k] * time);
      }
      if (least < kInfinity) sum += least;
    }
    return sum * (1 - kRounding);
  }
};

}  // namespace

SpreadBoundReport spreadBound(const PipelineModel& model, double lower, double upper, const Budget& budget,
                              const std::function<bool(double)>& on_better) {
  SpreadBoundReport report;
  SpreadBound bound(model);
  if (!bound.pays()) return report;
  SpreadFlow flow(model, bound.weight, bound.capacity, lower, budget);
  while (report.rounds < kMostRounds && flow.round()) {
    ++report.rounds;
    report.visited = flow.visited();
    bound.setFlow(flow);
    const double before = report.bound;
    report.bound = std::max(before, bound.refuted(upper, budget));
    if (report.bound < before * (1 + kWorthwhile) || !on_better(report.bound)) break;
  }
  return report;
}

bool spreadBoundAccepts(const Problem& problem) {
  return packingBoundAccepts(problem) && problem.deviceCount() > 1 && problem.unitCount() >= kLeastItems &&
         problem.unitCount() <= kMostItems;
}

SolveResult solveSpreadBound(const Problem& problem, const Budget& budget, Progress& progress) {
  if (progress.bestPlan() == nullptr) return {SolveEnd::kNotSuitable, ""};
  const bool chain = problem.modes.contiguity == Contiguity::kChain;
  PipelineModel model(problem, chain ? PipelineModel::Items::kBlocks : PipelineModel::Items::kUnits);
  model.joinFreeItems(chain);
  const SpreadBoundReport report =
      spreadBound(model, progress.bestBound(), progress.bestValue(), budget, [&](double bound) {
        progress.bound(bound, "spread-bound");
        return !progress.done();
      });
  if (budget.stopped()) return {SolveEnd::kStopped, ""};
  return {SolveEnd::kFinished, fmt::format("smaller values refuted by flows in {} rounds over {} items",
                                           report.rounds, report.visited)};
}

}  // namespace allot
