#include "solve/throughput/boundary_bound.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "base/thread_pool.h"
#include "solve/throughput/chain_window.h"
#include "solve/throughput/max_flow.h"
#include "solve/throughput/pipeline_model.h"
#include "solve/throughput/position_bound.h"

namespace allot {
namespace {

constexpr std::size_t kMostItems = 12'000;
constexpr std::size_t kTiny = 300;  // items below which cuts take no longer than to start a thread
constexpr double kRounding = 1e-9;  // of sums of work and of flows, as a share of them
// Narrower windows give larger cuts, and those narrower windows.
constexpr int kRounds = 20;
constexpr double kWorthwhile = 1e-4;

class BoundaryBound {
 public:
  BoundaryBound(const PipelineModel& model, const Budget& budget) : model_(model), budget_(budget) {
    std::vector<std::uint32_t> counts;
    for (std::size_t k = 0; k < model.poolCount(); ++k) {
      counts.push_back(static_cast<std::uint32_t>(model.pools[k].devices.size()));
      if (model.pools[k].accelerator)
        accelerator_ = k;
      else
        has_cpu_ = true;
    }
    stages_ = counts[accelerator_];
    const CapacityWindow window(model, counts);
    // In units of an accelerator's time.
    const double unit = window.weight(0, accelerator_);
    for (std::size_t k = 0; k < model.poolCount(); ++k) {
      if (k != accelerator_) cpu_share_ = window.weight(0, k) / unit;
    }
    for (std::size_t v = 0; v < model.itemCount(); ++v) work_.push_back(window.work(v, 0) / unit);
    total_ = window.total(0) / unit;
    for (std::size_t e = 0; e < model.netCount(); ++e) {
      const double send = model.cost(e, accelerator_, true), receive = model.cost(e, accelerator_, false);
      cost_.push_back(std::min(send, receive) * (has_cpu_ ? 1 : 2));
    }
    before_work_ = reachWork(model.before, work_);
    after_work_ = reachWork(model.after, work_);
  }

  // True when no chain is below `target`.
  bool refutes(double target) {
    const double slack = kRounding * total_;
    const double cpu = has_cpu_ ? cpu_share_ * target : 0;
    // One accelerator less would do: then nothing is known of the boundaries.
    if ((stages_ - 1) * target + cpu + slack >= total_) return false;
    const double room = stages_ * target + cpu + slack - total_;
    cut_.assign(stages_ - 1, 0);
    double cuts = 0;
    for (int round = 0; round < kRounds; ++round) {
      if (!classify(target, cpu, slack)) return true;
      // Shares differ from round to round; each round's cuts are valid as a whole, not one by one.
      parallelFor(stages_ - 1, model_.itemCount() < kTiny ? 1 : budget_.threads, [&](std::size_t b) {
        if (!budget_.stopped()) fresh_[b] = leastCut(b) * (1 - kRounding);
      });
      if (budget_.stopped()) return false;
      const double sum = std::accumulate(fresh_.begin(), fresh_.end(), 0.0);
      if (sum > room) return true;
      if (sum <= cuts * (1 + kWorthwhile)) return false;
      cuts = sum;
      cut_ = fresh_;
    }
    return false;
  }

 private:
  enum Side : std::uint8_t { kOpen, kIn, kOut };

  const PipelineModel& model_;
  const Budget& budget_;
  std::size_t accelerator_ = 0, stages_ = 0;
  bool has_cpu_ = false;
  double cpu_share_ = 0, total_ = 0;
  std::vector<double> work_, cost_;               // by item, by net
  std::vector<double> before_work_, after_work_;  // of all that comes before (after) an item, itself included
  std::vector<std::vector<Side>> side_;           // [boundary][item]
  std::vector<double> share_;                     // by net
  std::vector<double> cut_, fresh_;               // by boundary: what crosses it at least

  // Which items are surely in, surely out of the ideal that ends with each accelerator's stage; false when
  // there is no such ideal. Of a net that crosses a boundary each side pays half, the first stages for all
  // that crosses before their end, the last ones for what crosses behind their start. A cpu may hold a side
  // for nothing.
  bool classify(double target, double cpu, double slack) {
    const std::size_t n = model_.itemCount();
    fresh_.assign(stages_ - 1, 0);
    side_.assign(stages_ - 1, std::vector<Side>(n, kOpen));
    std::vector<std::uint32_t> possible(model_.netCount(), 0);
    const double half = has_cpu_ ? 0 : 0.5;
    double paid_before = 0, paid_behind = half * std::accumulate(cut_.begin(), cut_.end(), 0.0);
    for (std::size_t b = 0; b + 1 < stages_; ++b) {
      paid_before += half * cut_[b];
      const double most = static_cast<double>(b + 1) * target + cpu + slack - paid_before;
      const double least = total_ - static_cast<double>(stages_ - b - 1) * target - cpu - slack + paid_behind;
      paid_behind -= half * cut_[b];
      if (least > most) return false;
      for (std::size_t v = 0; v < n; ++v) {
        // Without v the ideal has nothing that comes after it; with v it has all that comes before.
        if (total_ - after_work_[v] < least)
          side_[b][v] = kIn;
        else if (before_work_[v] > most)
          side_[b][v] = kOut;
      }
      for (std::size_t e = 0; e < model_.netCount(); ++e) possible[e] += crosses(b, e) ? 1 : 0;
    }
    share_.assign(model_.netCount(), 0);
    for (std::size_t e = 0; e < model_.netCount(); ++e) share_[e] = cost_[e] / std::max(1u, possible[e]);
    return true;
  }

  bool crosses(std::size_t b, std::size_t e) const {
    const auto ends = model_.net_items[e];
    const auto all = [&](Side side) {
      return std::all_of(ends.begin(), ends.end(), [&](std::uint32_t v) { return side_[b][v] == side; });
    };
    return !all(kIn) && !all(kOut);
  }

  double leastCut(std::size_t b) const {
    constexpr std::uint32_t kSource = 0, kSink = 1;
    constexpr double kInfinite = 1e30;
    const std::vector<Side>& side = side_[b];
    MaxFlow flow(2);
    std::vector<std::uint32_t> node(side.size());
    for (std::size_t v = 0; v < side.size(); ++v)
      node[v] = side[v] == kIn ? kSource : side[v] == kOut ? kSink : flow.addNode();
    for (std::uint32_t v = 0; v < side.size(); ++v) {
      if (side[v] != kOpen) continue;
      for (const std::uint32_t u : model_.before[v]) {
        if (side[u] == kOpen) flow.addArc(node[v], node[u], kInfinite);
      }
    }
    double sure = 0;
    for (std::size_t e = 0; e < model_.netCount(); ++e) {
      if (share_[e] <= 0 || !crosses(b, e)) continue;
      const auto ends = model_.net_items[e];
      const auto any = [&](Side wanted) {
        return std::any_of(ends.begin(), ends.end(), [&](std::uint32_t v) { return side[v] == wanted; });
      };
      if (any(kIn) && any(kOut)) {
        sure += share_[e];
        continue;
      }
      const std::uint32_t enter = flow.addNode(), leave = flow.addNode();
      flow.addArc(enter, leave, share_[e]);
      for (const std::uint32_t v : ends) {
        if (node[v] != kSink) flow.addArc(node[v], enter, kInfinite);
        if (node[v] != kSource) flow.addArc(leave, node[v], kInfinite);
      }
    }
    return sure + flow.run(kSource, kSink);
  }
};

}  // namespace

bool boundaryBoundAccepts(const Problem& problem) {
  const Modes& modes = problem.modes;
  if (problem.goal() != Goal::kThroughput || modes.contiguity != Contiguity::kChain ||
      modes.overlap != Overlap::kSum || modes.training_load != TrainingLoad::kSum || modes.replicate ||
      modes.max_stages > 0 || problem.unitCount() > kMostItems)
    return false;
  std::size_t cpus = 0;
  for (std::size_t d = 0; d < problem.deviceCount(); ++d)
    cpus += problem.cluster.isAccelerator(DeviceId(d)) ? 0 : 1;
  // By link a cpu pays too, but the argument above is about devices that do.
  return cpus <= (problem.transfers() == Transfers::kViaHost ? 1 : 0) && problem.deviceCount() >= cpus + 2;
}

SolveResult solveBoundaryBound(const Problem& problem, const Budget& budget, Progress& progress) {
  PipelineModel model(problem, PipelineModel::Items::kBlocks);
  model.joinFreeItems(true);
  const auto accelerators = std::count_if(model.pools.begin(), model.pools.end(),
                                          [](const Pool& pool) { return pool.accelerator; });
  if (accelerators != 1 || progress.bestPlan() == nullptr) return {SolveEnd::kNotSuitable, ""};
  BoundaryBound bound(model, budget);
  raiseBound(progress, "boundary-bound", [&](double target) { return bound.refutes(target); });
  if (budget.stopped()) return {SolveEnd::kStopped, ""};
  return {SolveEnd::kFinished, "smaller values refuted by minimum cuts between stages"};
}

}  // namespace allot
