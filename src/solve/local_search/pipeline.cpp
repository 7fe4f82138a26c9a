// Annealing of pipelines: blocks of units move between devices.
//
// Under chain and convex each device has a rank, and an edge of the forward graph never goes to a device of
// smaller rank, so every state is a chain; without contiguity any move is allowed. The search goes down a
// smooth maximum of the loads, so that a move that relieves the second largest load is seen. Memory above the
// limits is let in at a price, never kept.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>

#include "allot/evaluate.h"
#include "evaluate/forward_graph.h"
#include "evaluate/load_state.h"
#include "evaluate/stage_memory.h"
#include "solve/local_search/local_search.h"
#include "solve/module_order.h"

namespace allot {
namespace {

constexpr double kSmooth = 8;               // exponent of the smooth maximum
constexpr double kOverflow = 4;             // price of memory above the limit, in values
constexpr std::uint64_t kRefresh = 20'000;  // accepted moves between two fresh sums

class PipelineChain {
 public:
  PipelineChain(const Problem& problem, const Plan& start)
      : problem_(problem),
        adds_up_(problem.relaxedIsExact()),
        state_(std::in_place, problem, start.assignment) {
    chain_ = problem.modes.contiguity != Contiguity::kNone;
    if (chain_) {
      const ModuleOrder order = moduleOrder(problem);
      for (const Block& block : order.blocks) items_.emplace_back(block.units.begin(), block.units.end());
    } else {
      for (std::size_t u = 0; u < problem.unitCount(); ++u) items_.push_back({UnitId(u)});
    }
    std::vector<std::uint32_t> item_of(problem.unitCount());
    for (std::uint32_t i = 0; i < items_.size(); ++i) {
      for (const UnitId unit : items_[i]) item_of[unit.index()] = i;
    }
    linkItems(item_of);
    rankDevices(start);
  }

  ChainResult run(Annealing& annealing) {
    if (chain_ && !isChain()) return {std::numeric_limits<double>::infinity(), {}};
    double best = bestOf();
    double energy = energyOf();
    std::vector<DeviceId> best_devices;
    std::uint64_t accepted = 0;
    while (annealing.next()) {
      Random& random = annealing.random();
      if (chain_ && random.below(16) == 0) moveEmptyDevice(random);
      const std::uint32_t item = pickItem(random);
      const DeviceId from = deviceOf(item);
      const DeviceId to = pickTarget(item, random);
      if (to == from || !fits(item, to)) continue;
      moveItem(item, to);
      const double candidate = energyOf();
      if (!annealing.accept(candidate - energy)) {
        moveItem(item, from);
        continue;
      }
      energy = candidate;
      const double value = bestOf();
      if (value < best * (1 - 1e-10)) {
        best = value;
        best_devices = devices();
      }
      if (++accepted % kRefresh == 0) refresh();
    }
    if (best_devices.empty()) return {std::numeric_limits<double>::infinity(), {}};
    Plan plan;
    plan.modes = problem_.modes;
    plan.assignment = std::move(best_devices);
    return {best, std::move(plan)};
  }

  std::size_t items() const { return items_.size(); }
  double value() const { return state_->value(); }

 private:
  const Problem& problem_;
  bool adds_up_;  // memory is a sum over ops
  std::optional<LoadState> state_;
  bool chain_ = false;
  std::vector<std::vector<UnitId>> items_;
  Csr<std::uint32_t> before_, after_, near_;  // by item: forward edges, and items that share a tensor
  std::vector<double> rank_;                  // by device

  void linkItems(const std::vector<std::uint32_t>& item_of) {
    const std::size_t n = items_.size();
    std::vector<PartEdge> forward, backward, near;
    if (chain_) {
      const ForwardGraph graph(problem_);
      for (const PartEdge& edge : graph.unitEdges()) {
        forward.push_back({item_of[edge.from], item_of[edge.to]});
        backward.push_back({item_of[edge.to], item_of[edge.from]});
      }
    }
    for (std::size_t t = 0; t < problem_.graph.tensorCount(); ++t) {
      const std::uint32_t from = item_of[problem_.unit(problem_.graph.tensor_producer[t]).index()];
      for (const OpId consumer : problem_.graph.tensor_consumers[t]) {
        const std::uint32_t to = item_of[problem_.unit(consumer).index()];
        near.push_back({from, to});
        near.push_back({to, from});
      }
    }
    after_ = contract(n, std::move(forward)).successors;
    before_ = contract(n, std::move(backward)).successors;
    near_ = contract(n, std::move(near)).successors;
  }

  // Ranks in the order of the start's stages; unused devices behind them.
  void rankDevices(const Plan& start) {
    rank_.assign(problem_.deviceCount(), -1);
    double next = 0;
    const Evaluation evaluated = evaluate(problem_, start);
    for (const PlanStage& stage : evaluated.plan.stages) rank_[stage.devices.front().index()] = next++;
    for (double& rank : rank_) {
      if (rank < 0) rank = next++;
    }
  }

  bool isChain() const {
    for (std::uint32_t i = 0; i < items_.size(); ++i) {
      for (const std::uint32_t j : after_[i]) {
        if (rank_[deviceOf(i).index()] > rank_[deviceOf(j).index()]) return false;
      }
    }
    return true;
  }

  DeviceId deviceOf(std::uint32_t item) const { return state_->device(items_[item].front()); }

  std::vector<DeviceId> devices() const {
    std::vector<DeviceId> by_op(problem_.opCount());
    for (std::size_t i = 0; i < by_op.size(); ++i) by_op[i] = state_->device(problem_.unit(OpId(i)));
    return by_op;
  }

  void refresh() { state_.emplace(problem_, devices()); }

  void moveItem(std::uint32_t item, DeviceId to) {
    for (const UnitId unit : items_[item]) state_->move(unit, to);
  }

  // Half of the time an item next to a cut, where moves do something; else any.
  std::uint32_t pickItem(Random& random) const {
    const std::uint32_t item = random.below(static_cast<std::uint32_t>(items_.size()));
    if (random.below(2) == 0) return item;
    for (const std::uint32_t other : near_[item]) {
      if (deviceOf(other) != deviceOf(item)) return item;
    }
    const auto row = near_[item];
    return row.empty() ? item : row[random.below(static_cast<std::uint32_t>(row.size()))];
  }

  DeviceId pickTarget(std::uint32_t item, Random& random) const {
    const auto row = near_[item];
    if (!row.empty() && random.below(2) == 0)
      return deviceOf(row[random.below(static_cast<std::uint32_t>(row.size()))]);
    return DeviceId(random.below(static_cast<std::uint32_t>(problem_.deviceCount())));
  }

  bool fits(std::uint32_t item, DeviceId to) const {
    for (const UnitId unit : items_[item]) {
      if (!problem_.allowed(unit, to)) return false;
    }
    if (problem_.modes.max_stages > 0 && state_->unitsOn(to) == 0) {
      std::uint32_t used = 0;
      for (std::size_t d = 0; d < problem_.deviceCount(); ++d)
        used += state_->unitsOn(DeviceId(d)) > 0 ? 1 : 0;
      const bool leaves_empty = state_->unitsOn(deviceOf(item)) == items_[item].size();
      if (used + 1 - (leaves_empty ? 1 : 0) > problem_.modes.max_stages) return false;
    }
    if (!chain_) return true;
    const double rank = rank_[to.index()];
    for (const std::uint32_t other : before_[item]) {
      if (rank_[deviceOf(other).index()] > rank) return false;
    }
    for (const std::uint32_t other : after_[item]) {
      if (rank_[deviceOf(other).index()] < rank) return false;
    }
    return true;
  }

  // An empty device may stand anywhere in the chain.
  void moveEmptyDevice(Random& random) {
    const std::size_t d = random.below(static_cast<std::uint32_t>(problem_.deviceCount()));
    if (state_->unitsOn(DeviceId(d)) > 0) return;
    const double below = rank_[random.below(static_cast<std::uint32_t>(rank_.size()))];
    double above = below + 1;
    for (const double rank : rank_) {
      if (rank > below) above = std::min(above, rank);
    }
    rank_[d] = (below + above) / 2;
    if (rank_[d] == below || rank_[d] == above) spreadRanks();
  }

  // Halving ran out of digits: number the devices anew.
  void spreadRanks() {
    const std::vector<std::size_t> order = byRank();
    for (std::size_t i = 0; i < order.size(); ++i) rank_[order[i]] = static_cast<double>(i);
  }

  double overflow() const {
    if (!adds_up_) return trueOverflow();
    double share = 0;
    for (std::size_t d = 0; d < problem_.deviceCount(); ++d)
      share += overflowOf(DeviceId(d), state_->resident(DeviceId(d)));
    return share;
  }

  double overflowOf(DeviceId device, double bytes) const {
    const double limit = problem_.memoryLimit(device);
    return bytes > limit ? (bytes - limit) / (limit + 1) : 0;
  }

  // Where memory is no sum over ops: valued afresh, in O(ops + tensors).
  double trueOverflow() const {
    std::vector<PlanStage> by_device(problem_.deviceCount());
    for (std::size_t u = 0; u < problem_.unitCount(); ++u) {
      PlanStage& stage = by_device[state_->device(UnitId(u)).index()];
      const auto ops = problem_.unitOps(UnitId(u));
      stage.ops.insert(stage.ops.end(), ops.begin(), ops.end());
    }
    std::vector<PlanStage> stages;
    for (const std::size_t d : byRank()) {
      if (by_device[d].ops.empty()) continue;
      by_device[d].devices = {DeviceId(d)};
      stages.push_back(std::move(by_device[d]));
    }
    const std::vector<double> bytes = stageMemory(problem_, stages);
    double share = 0;
    for (std::size_t s = 0; s < stages.size(); ++s) share += overflowOf(stages[s].devices[0], bytes[s]);
    return share;
  }

  std::vector<std::size_t> byRank() const {
    std::vector<std::size_t> order(problem_.deviceCount());
    std::iota(order.begin(), order.end(), 0);
    if (chain_)
      std::stable_sort(order.begin(), order.end(),
                       [&](std::size_t a, std::size_t b) { return rank_[a] < rank_[b]; });
    return order;
  }

  // The objective, or infinity while memory is exceeded.
  double bestOf() const { return overflow() > 0 ? std::numeric_limits<double>::infinity() : state_->value(); }

  double energyOf() const {
    double most = 0;
    for (std::size_t d = 0; d < problem_.deviceCount(); ++d) most = std::max(most, state_->load(DeviceId(d)));
    if (most <= 0) return 0;
    double sum = 0;
    for (std::size_t d = 0; d < problem_.deviceCount(); ++d)
      sum += std::pow(state_->load(DeviceId(d)) / most, kSmooth);
    double energy = most * std::pow(sum, 1 / kSmooth);
    if (problem_.modes.training_load == TrainingLoad::kMaxParts)
      energy = 0.5 * energy + 0.5 * state_->value();
    return energy + overflow() * kOverflow * most;
  }
};

}  // namespace

ChainResult annealPipeline(const Problem& problem, const Budget& budget, const Plan& start,
                           std::uint64_t chain) {
  PipelineChain search(problem, start);
  const std::uint64_t moves = std::clamp<std::uint64_t>(400 * search.items(), 20'000, 500'000);
  Annealing annealing(budget, chain, moves, search.value(), static_cast<double>(problem.deviceCount()) * 20);
  return search.run(annealing);
}

Plan addReplicas(const Problem& problem, Plan plan) {
  plan = evaluate(problem, std::move(plan)).plan;
  std::vector<std::uint8_t> used(problem.deviceCount(), 0);
  for (const PlanStage& stage : plan.stages) {
    for (const DeviceId d : stage.devices) used[d.index()] = 1;
  }
  for (bool better = true; better;) {
    better = false;
    std::vector<std::size_t> order(plan.stages.size());
    std::iota(order.begin(), order.end(), 0);
    const auto load = [&](std::size_t s) {
      return plan.devices[plan.stages[s].devices.front().index()].load_seconds;
    };
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return load(a) > load(b); });
    if (order.empty()) return plan;
    const std::size_t heaviest = order.front();
    for (std::size_t d = 0; d < problem.deviceCount() && !better; ++d) {
      const DeviceId first = plan.stages[heaviest].devices.front();
      if (used[d] || problem.cluster.devices[d].cls != problem.cluster.devices[first.index()].cls) continue;
      Plan candidate = plan;
      candidate.stages[heaviest].devices.emplace_back(d);
      Evaluation evaluated = evaluate(problem, std::move(candidate));
      if (!evaluated.valid() || evaluated.plan.value >= plan.value * (1 + 1e-12)) continue;
      used[d] = 1;
      better = true;
      plan = std::move(evaluated.plan);
    }
  }
  return plan;
}

}  // namespace allot
