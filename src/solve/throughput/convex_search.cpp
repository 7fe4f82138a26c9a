#include "solve/throughput/convex_search.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>

#include "solve/throughput/chain_proof.h"

namespace allot {
namespace {

constexpr std::string_view kName = "convex";
constexpr std::size_t kMostUnits = 1500, kMostOps = 3000, kMostDevices = 64;
constexpr double kRounding = 1e-9;
// Nodes of the first try, with the best plan as cut-off.
constexpr std::uint64_t kFirstNodes = 200'000;
// The first cut-off above a bound, as a share of it; later steps double.
constexpr double kFirstStep = 0.01;

std::vector<std::uint32_t> countsOf(const PipelineModel& model) {
  std::vector<std::uint32_t> counts;
  for (const Pool& pool : model.pools) counts.push_back(static_cast<std::uint32_t>(pool.devices.size()));
  return counts;
}

}  // namespace

ConvexSearch::ConvexSearch(const Problem& problem, const PipelineModel& model, const Budget& budget)
    : problem_(problem),
      model_(model),
      budget_(budget),
      forward_(problem),
      window_(model, countsOf(model)),
      overlap_sum_(problem.modes.overlap == Overlap::kSum),
      most_stages_(problem.modes.max_stages > 0 ? problem.modes.max_stages : SIZE_MAX) {
  for (std::uint32_t k = 0; k < model.poolCount(); ++k) {
    for (const DeviceId device : model.pools[k].devices) {
      devices_.push_back(device);
      pool_.push_back(k);
    }
  }
  listNodes();
}

// Artificial edges are left out: what remains is a necessary condition, and plans are judged by the whole
// graph.
void ConvexSearch::listNodes() {
  const OpGraph& graph = problem_.graph;
  const auto forward = [&](OpId op) { return graph.op_phase[op.index()] == Phase::kForward; };
  std::vector<std::uint32_t> node_of_op(problem_.opCount(), kFree);
  std::vector<std::vector<std::uint32_t>> of_item(model_.itemCount());
  for (const OpId op : graph.topologicalOrder()) {
    if (!forward(op)) continue;
    const auto node = static_cast<std::uint32_t>(node_item_.size());
    node_of_op[op.index()] = node;
    node_item_.push_back(model_.item_of_unit[problem_.unit(op).index()]);
    of_item[node_item_.back()].push_back(node);
  }
  for (const auto& nodes : of_item) {
    item_nodes_.items.insert(item_nodes_.items.end(), nodes.begin(), nodes.end());
    item_nodes_.closeRow();
  }
  const std::size_t n = node_item_.size();
  words_ = (n + 63) / 64;
  reach_.assign(n * words_, 0);
  reached_by_.assign(n * words_, 0);
  std::vector<std::vector<std::uint32_t>> next(n);
  for (std::size_t t = 0; t < graph.tensorCount(); ++t) {
    const OpId from = graph.tensor_producer[t];
    if (!forward(from)) continue;
    for (const OpId to : graph.tensor_consumers[t]) {
      if (forward(to)) next[node_of_op[from.index()]].push_back(node_of_op[to.index()]);
    }
  }
  // Nodes are in topological order.
  for (std::size_t v = n; v-- > 0;) {
    for (const std::uint32_t u : next[v]) {
      reach_[v * words_ + u / 64] |= std::uint64_t{1} << (u % 64);
      for (std::size_t w = 0; w < words_; ++w) reach_[v * words_ + w] |= reach_[u * words_ + w];
    }
  }
  for (std::size_t v = 0; v < n; ++v) {
    for (std::size_t u = 0; u < n; ++u) {
      if ((reach_[v * words_ + u / 64] >> (u % 64)) & 1)
        reached_by_[u * words_ + v / 64] |= std::uint64_t{1} << (v % 64);
    }
  }
}

void ConvexSearch::clear() {
  const std::size_t devices = devices_.size();
  on_.assign(model_.itemCount(), kFree);
  net_on_.assign(model_.netCount() * devices, 0);
  net_placed_.assign(model_.netCount(), 0);
  trail_.clear();
  state_ = {};
  state_.compute.assign(devices, 0);
  state_.transfer = state_.resident = state_.compute;
  state_.items.assign(devices, 0);
  state_.held.assign(devices * words_, 0);
  state_.ahead = state_.behind = state_.held;
  state_.free.assign(words_, 0);
  for (std::size_t v = 0; v < node_item_.size(); ++v) state_.free[v / 64] |= std::uint64_t{1} << (v % 64);
  for (std::size_t y = 0; y < window_.size(); ++y) state_.work_left[y] = window_.total(y);
}

double ConvexSearch::load(std::size_t device) const {
  const double compute = state_.compute[device], transfer = state_.transfer[device];
  return overlap_sum_ ? compute + transfer : std::max(compute, transfer);
}

// What the device pays for the net however the rest is placed.
double ConvexSearch::transferOf(std::size_t net, std::size_t device) const {
  const std::uint32_t here = net_on_[net * devices_.size() + device];
  if (here == 0 || here == net_placed_[net]) return 0;
  const std::uint32_t producer = on_[model_.net_producer[net]];
  const std::size_t k = pool_[device];
  if (producer != kFree) return model_.cost(net, k, producer == device);
  return std::min(model_.cost(net, k, true), model_.cost(net, k, false));
}

void ConvexSearch::put(std::uint32_t item, std::uint32_t device) {
  const std::size_t devices = devices_.size();
  trail_.push_back(item);
  for (const std::uint32_t e : model_.item_nets[item]) {
    for (std::size_t d = 0; d < devices; ++d) {
      if (net_on_[e * devices + d] > 0) state_.transfer[d] -= transferOf(e, d);
    }
  }
  on_[item] = device;
  for (const std::uint32_t e : model_.item_nets[item]) {
    ++net_on_[e * devices + device];
    ++net_placed_[e];
    for (std::size_t d = 0; d < devices; ++d) {
      if (net_on_[e * devices + d] > 0) state_.transfer[d] += transferOf(e, d);
    }
  }
  state_.compute[device] += model_.time(item, pool_[device]);
  state_.resident[device] += model_.resident[item];
  ++state_.items[device];
  for (std::size_t y = 0; y < window_.size(); ++y) state_.work_left[y] -= window_.work(item, y);
  for (const std::uint32_t v : item_nodes_[item]) {
    const std::uint64_t bit = std::uint64_t{1} << (v % 64);
    state_.held[device * words_ + v / 64] |= bit;
    state_.free[v / 64] &= ~bit;
    for (std::size_t w = 0; w < words_; ++w) {
      state_.ahead[device * words_ + w] |= reach_[v * words_ + w];
      state_.behind[device * words_ + w] |= reached_by_[v * words_ + w];
    }
  }
}

void ConvexSearch::takeBack(std::size_t mark) {
  for (; trail_.size() > mark; trail_.pop_back()) {
    const std::uint32_t item = trail_.back();
    for (const std::uint32_t e : model_.item_nets[item]) {
      --net_on_[e * devices_.size() + on_[item]];
      --net_placed_[e];
    }
    on_[item] = kFree;
  }
}

// Of the empty devices of a pool the first stands for all.
bool ConvexSearch::opens(std::uint32_t device) const {
  if (state_.items[device] > 0) return true;
  for (std::uint32_t d = device; d-- > 0 && pool_[d] == pool_[device];) {
    if (state_.items[d] == 0) return false;
  }
  const auto used = std::count_if(state_.items.begin(), state_.items.end(), [](auto n) { return n > 0; });
  return static_cast<std::size_t>(used) < most_stages_;
}

bool ConvexSearch::mayHold(std::uint32_t item, std::uint32_t device) const {
  const std::size_t k = pool_[device];
  if (!model_.runs(item, k) || state_.resident[device] + model_.resident[item] > model_.pools[k].memory)
    return false;
  const double compute = state_.compute[device] + model_.time(item, k);
  const double transfer = state_.transfer[device];
  if (!((overlap_sum_ ? compute + transfer : std::max(compute, transfer)) < cutoff_)) return false;
  const auto nodes = item_nodes_[item];
  for (std::size_t w = 0; w < words_; ++w) {
    std::uint64_t ahead = state_.ahead[device * words_ + w], behind = state_.behind[device * words_ + w];
    std::uint64_t own = state_.held[device * words_ + w] | state_.free[w];
    for (const std::uint32_t v : nodes) {
      ahead |= reach_[v * words_ + w];
      behind |= reached_by_[v * words_ + w];
    }
    if ((ahead & behind & ~own) != 0) return false;
  }
  return true;
}

// Puts the item and all that is between it and the rest of the device. False when that cannot be.
bool ConvexSearch::place(std::uint32_t item, std::uint32_t device) {
  put(item, device);
  for (std::size_t w = 0; w < words_; ++w) {
    const std::uint64_t hull = state_.ahead[device * words_ + w] & state_.behind[device * words_ + w];
    if ((hull & ~state_.held[device * words_ + w] & ~state_.free[w]) != 0) return false;
    if (const std::uint64_t inside = hull & state_.free[w]; inside != 0) {
      const std::uint32_t next = node_item_[w * 64 + static_cast<std::size_t>(std::countr_zero(inside))];
      if (!mayHold(next, device)) return false;
      put(next, device);
      // The hull may have grown anywhere.
      w = SIZE_MAX;
    }
  }
  for (std::size_t d = 0; d < devices_.size(); ++d) {
    if (state_.items[d] > 0 && !(load(d) < cutoff_)) return false;
  }
  return workFits();
}

bool ConvexSearch::workFits() const {
  for (std::size_t y = 0; y < window_.size(); ++y) {
    double room = kRounding * window_.total(y);
    for (std::size_t d = 0; d < devices_.size(); ++d)
      room += window_.weight(y, pool_[d]) * (cutoff_ - (overlap_sum_ ? load(d) : state_.compute[d]));
    if (state_.work_left[y] > room) return false;
  }
  return true;
}

void ConvexSearch::leaf() {
  double value = 0;
  std::vector<DeviceId> device_of_item(on_.size());
  for (std::size_t v = 0; v < on_.size(); ++v) device_of_item[v] = devices_[on_[v]];
  for (std::size_t d = 0; d < devices_.size(); ++d) value = std::max(value, load(d));
  std::vector<std::uint32_t> part(problem_.unitCount());
  for (std::size_t u = 0; u < part.size(); ++u) part[u] = on_[model_.item_of_unit[u]];
  if (forward_.notConvex(part, devices_.size()) >= 0) return;
  (*on_plan_)(device_of_item);
  cutoff_ = std::min(cutoff_, value);
}

void ConvexSearch::search() {
  if (++nodes_ > max_nodes_ || ((nodes_ & 63) == 0 && budget_.stopped())) cut_ = true;
  if (cut_) return;
  if (trail_.size() == on_.size()) {
    leaf();
    return;
  }
  std::uint32_t item = kFree;
  std::size_t fewest = SIZE_MAX;
  std::vector<std::uint32_t> open, choices, best;
  for (std::uint32_t d = 0; d < devices_.size(); ++d) {
    if (opens(d)) open.push_back(d);
  }
  for (std::uint32_t v = 0; v < on_.size() && fewest > 1; ++v) {
    if (on_[v] != kFree) continue;
    choices.clear();
    for (const std::uint32_t d : open) {
      if (mayHold(v, d)) choices.push_back(d);
    }
    if (choices.size() >= fewest) continue;
    fewest = choices.size();
    item = v;
    best.swap(choices);
  }
  const std::size_t mark = trail_.size();
  const State before = state_;
  for (const std::uint32_t d : best) {
    if (place(item, d)) search();
    takeBack(mark);
    state_ = before;
    if (cut_) return;
  }
}

bool ConvexSearch::pass(double cutoff, std::uint64_t max_nodes, const OnPlan& on_plan) {
  clear();
  cutoff_ = cutoff;
  max_nodes_ = max_nodes > UINT64_MAX - nodes_ ? UINT64_MAX : nodes_ + max_nodes;
  cut_ = false;
  on_plan_ = &on_plan;
  search();
  return !cut_;
}

bool convexSearchAccepts(const Problem& problem) {
  const Modes& modes = problem.modes;
  return problem.goal() == Goal::kThroughput && modes.contiguity == Contiguity::kConvex &&
         modes.training_load == TrainingLoad::kSum && !modes.replicate && !modes.in_flight &&
         problem.unitCount() <= kMostUnits && problem.opCount() <= kMostOps &&
         problem.deviceCount() <= kMostDevices;
}

SolveResult solveConvex(const Problem& problem, const Budget& budget, Progress& progress) {
  const PipelineModel model(problem, PipelineModel::Items::kUnits);
  ConvexSearch search(problem, model, budget);
  bool complete = false, none = false;
  double worst = 1 + std::accumulate(model.send.begin(), model.send.end(), 0.0) +
                 std::accumulate(model.receive.begin(), model.receive.end(), 0.0);
  for (const double seconds : model.seconds) worst += seconds < kCannotRun ? seconds : 0;
  worst *= 2;  // above every load by more than rounding and the margin of equal values, however long they are
  const auto on_plan = [&](std::span<const DeviceId> device_of_item) {
    Plan plan;
    plan.modes = problem.modes;
    plan.assignment = model.assignment(device_of_item);
    progress.plan(std::move(plan), kName);
  };
  const std::uint64_t most = budget.work_limit > 0 ? budget.work_limit * 1000 : UINT64_MAX;
  const double upper = std::min(progress.bestValue(), worst) * (1 - kChainEqual);
  const auto settle = [&] {
    complete = true;
    none = search.cutoff() >= worst * (1 - kChainEqual);
    if (!none) progress.bound(search.cutoff() * (1 - kChainEqual), kName);
  };
  if (search.pass(upper, std::min(kFirstNodes, most), on_plan)) {
    settle();
  } else {
    double lower = std::max(progress.bestBound(), search.workBound() * (1 - kRounding));
    for (double step = kFirstStep * lower; !budget.stopped(); step *= 2) {
      const double cutoff = lower > 0 ? std::min({lower + step, upper, progress.bestValue()}) : upper;
      const bool whole = search.pass(cutoff, most, on_plan);
      if (!whole) break;
      if (search.cutoff() < cutoff || cutoff >= upper) {
        settle();
        break;
      }
      lower = cutoff;
      progress.bound(cutoff * (1 - kChainEqual), kName);
      if (progress.done()) {
        complete = true;
        break;
      }
    }
  }
  const std::string proof =
      fmt::format("every choice of convex sets below the value ruled out: {} partial plans", search.nodes());
  if (none && progress.bestPlan() == nullptr) return {SolveEnd::kExhausted, proof};
  return {!complete && budget.stopped() ? SolveEnd::kStopped : SolveEnd::kFinished, proof};
}

}  // namespace allot
