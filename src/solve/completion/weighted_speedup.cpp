#include "solve/completion/weighted_speedup.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <queue>
#include <tuple>

#include "flow/min_cost_flow.h"
#include "solve/baselines/list_schedule.h"
#include "solve/baselines/ranks.h"

namespace allot {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::size_t kMostOps = 20'000;
constexpr std::array<double, 6> kShares{1, 0.8, 0.6, 0.4, 0.2, 0};
constexpr std::size_t kWindow = 192;                  // ready ops that a flow decides about
constexpr std::int64_t kTop = std::int64_t{1} << 36;  // the largest cost in the flow's whole numbers

class Scheduler {
 public:
  Scheduler(const Problem& problem, double share, const Budget& budget)
      : problem_(problem),
        budget_(budget),
        share_(share),
        devices_(problem.deviceCount()),
        schedule_(problem, false),
        readiness_(problem),
        end_(problem.model_release),
        work_(problem.graph.modelCount() * devices_, 0),
        least_(baseline::leastOpSeconds(problem)) {
    left_.assign(problem.graph.modelCount(), 0);
    double all = 0;
    for (std::size_t i = 0; i < problem.opCount(); ++i) {
      left_[modelOf(OpId(i))] += least_[i];
      all += least_[i];
      work_[modelOf(OpId(i)) * devices_ + fastest(OpId(i)).index()] += least_[i];
    }
    double most = 1e-300;
    for (const double weight : problem.model_weight) most = std::max(most, weight);
    for (const double release : problem.model_release) all = std::max(all, release);
    scale_ = static_cast<double>(kTop) / std::max(1e-300, 64 * (all + 1e-12) * most);
  }

  WeightedSpeedup run() {
    auto rest = baseline::optimisticCosts(problem_, budget_);
    if (!rest) return {{}, 0, true};
    rest_ = std::move(*rest);
    if (!makeNetwork()) return {};
    readiness_.begin([&](OpId op) { coming_.emplace(readyTime(op), problem_.graph.position(op), op); });
    double now = 0;
    std::size_t placed = 0;
    while (placed < problem_.opCount()) {
      if (budget_.stopped()) return {{}, 0, true};
      while (!coming_.empty() && std::get<0>(coming_.top()) <= now) {
        ready_.push_back(std::get<2>(coming_.top()));
        coming_.pop();
      }
      const std::size_t started = step(now);
      placed += started;
      if (failed_) return {};
      if (started > 0) continue;
      const double next = nextInstant(now);
      if (next == kInfinity) return {};
      now = next;
    }
    return {schedule_.takePlan(), arc_cost_, false};
  }

 private:
  struct Node {
    OpId op;
    flow::NodeId node;
    flow::ArcId from_model;
    std::vector<flow::ArcId> to_device;  // by device; no arc = no value
    double key = 0;                      // priority of its model
  };
  using Coming = std::tuple<double, std::uint32_t, OpId>;

  const Problem& problem_;
  const Budget& budget_;
  double share_;
  std::size_t devices_;
  baseline::ListSchedule schedule_;
  baseline::Readiness readiness_;
  std::vector<double> end_;    // by model: latest end so far
  std::vector<double> work_;   // [model * devices + device]: of ops not placed, on their fastest devices
  std::vector<double> left_;   // by model: least seconds of ops not placed
  std::vector<double> least_;  // by op
  std::vector<double> rest_;   // [op * devices + device]
  std::priority_queue<Coming, std::vector<Coming>, std::greater<>> coming_;
  std::vector<OpId> ready_;
  double scale_ = 1, arc_cost_ = 0;
  std::size_t slots_ = 0;  // priced, by device
  bool failed_ = false;

  flow::MinCostFlow flow_;
  flow::NodeId source_, sink_;
  std::vector<flow::NodeId> model_node_, device_node_;
  std::vector<flow::ArcId> source_arc_;         // by model
  std::vector<std::vector<flow::ArcId>> slot_;  // by device
  std::vector<Node> nodes_;                     // in the network

  std::size_t modelOf(OpId op) const { return problem_.graph.op_model[op.index()].index(); }
  double weightOf(OpId op) const { return problem_.model_weight[modelOf(op)]; }

  DeviceId fastest(OpId op) const {
    DeviceId best(0);
    double least = kInfinity;
    for (std::size_t d = 0; d < devices_; ++d) {
      if (!problem_.allowed(problem_.unit(op), DeviceId(d))) continue;
      if (problem_.opSeconds(op, DeviceId(d)) >= least) continue;
      least = problem_.opSeconds(op, DeviceId(d));
      best = DeviceId(d);
    }
    return best;
  }

  double readyTime(OpId op) const {
    double time = schedule_.release(op);
    for (const TensorId tensor : problem_.graph.inputs(op))
      time = std::max(time, schedule_.end(problem_.graph.producer(tensor)));
    return time;
  }

  bool makeNetwork() {
    const auto node = [&](flow::NodeId& id) {
      const auto made = flow_.addNode();
      if (made) id = *made;
      return made.has_value();
    };
    if (!node(source_) || !node(sink_)) return false;
    model_node_.resize(problem_.graph.modelCount());
    device_node_.resize(devices_);
    slot_.resize(devices_);
    for (flow::NodeId& id : model_node_) {
      if (!node(id)) return false;
      const auto arc = flow_.addArc(source_, id, static_cast<std::int64_t>(kWindow), 0);
      if (!arc) return false;
      source_arc_.push_back(*arc);
    }
    for (std::size_t d = 0; d < devices_; ++d) {
      if (!node(device_node_[d])) return false;
      for (std::size_t k = 0; k < kWindow; ++k) {
        const auto arc = flow_.addArc(device_node_[d], sink_, 1, kTop);
        if (!arc) return false;
        slot_[d].push_back(*arc);
      }
    }
    return true;
  }

  std::int64_t whole(double seconds) const {
    return static_cast<std::int64_t>(std::min(seconds * scale_, static_cast<double>(kTop)));
  }

  // Priority: work left by weight, the shortest first.
  double keyOf(std::size_t model) const {
    const double weight = problem_.model_weight[model];
    return weight > 0 ? left_[model] / weight : kInfinity;
  }

  double finishOf(OpId op, DeviceId device) const {
    return schedule_.earliestStart(op, device, schedule_.arrival(op, device)) +
           problem_.opSeconds(op, device);
  }

  // Brings the network up to date; false on an error of the flow engine.
  bool update() {
    std::stable_sort(ready_.begin(), ready_.end(), [&](OpId a, OpId b) {
      const double x = keyOf(modelOf(a)), y = keyOf(modelOf(b));
      return x != y ? x < y : problem_.graph.position(a) < problem_.graph.position(b);
    });
    const std::size_t count = std::min(kWindow, ready_.size());
    // Ops that left the window, or have started, go.
    std::vector<std::uint8_t> wanted(problem_.opCount(), 0);
    for (std::size_t i = 0; i < count; ++i) wanted[ready_[i].index()] = 1;
    for (std::size_t k = nodes_.size(); k-- > 0;) {
      if (wanted[nodes_[k].op.index()]) {
        wanted[nodes_[k].op.index()] = 2;
        continue;
      }
      if (!flow_.removeNode(nodes_[k].node)) return false;
      nodes_.erase(nodes_.begin() + static_cast<std::ptrdiff_t>(k));
    }
    for (std::size_t i = 0; i < count; ++i) {
      if (wanted[ready_[i].index()] == 2) continue;
      const auto node = flow_.addNode();
      if (!node) return false;
      const auto arc = flow_.addArc(model_node_[modelOf(ready_[i])], *node, 1, 0);
      if (!arc) return false;
      nodes_.push_back({ready_[i], *node, *arc, std::vector<flow::ArcId>(devices_), 0});
    }
    return priceArcs();
  }

  bool priceArcs() {
    // Time that models of higher priority still want of each device, by model.
    std::vector<std::size_t> order(left_.size());
    for (std::size_t m = 0; m < order.size(); ++m) order[m] = m;
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return keyOf(a) < keyOf(b); });
    std::vector<double> ahead(left_.size() * devices_, 0), sum(devices_, 0);
    for (const std::size_t m : order) {
      for (std::size_t d = 0; d < devices_; ++d) {
        ahead[m * devices_ + d] = share_ * sum[d];
        sum[d] += work_[m * devices_ + d];
      }
    }
    std::vector<double> mean(devices_, 0), count(devices_, 0);
    std::int64_t supply = 0;
    for (Node& node : nodes_) {
      node.key = keyOf(modelOf(node.op));
      double least_rest = kInfinity;
      for (std::size_t d = 0; d < devices_; ++d) {
        if (schedule_.canPlace(node.op, DeviceId(d)))
          least_rest = std::min(least_rest, rest_[node.op.index() * devices_ + d]);
      }
      if (least_rest == kInfinity) return false;  // nowhere has room
      const std::size_t model = modelOf(node.op);
      for (std::size_t d = 0; d < devices_; ++d) {
        flow::ArcId& arc = node.to_device[d];
        if (!schedule_.canPlace(node.op, DeviceId(d))) {
          if (arc.value != flow::kNone && !flow_.removeArc(arc)) return false;
          arc = {};
          continue;
        }
        const double finish = finishOf(node.op, DeviceId(d)) + ahead[model * devices_ + d];
        const double grows = std::max(0.0, finish - end_[model]);
        const double later = rest_[node.op.index() * devices_ + d] - least_rest;
        // Between hidden places the one that ends first.
        const std::int64_t cost = whole(std::max(weightOf(node.op), 1e-3) * (grows + later + 1e-3 * finish));
        if (arc.value == flow::kNone) {
          const auto made = flow_.addArc(node.node, device_node_[d], 1, cost);
          if (!made) return false;
          arc = *made;
        } else if (!flow_.setCost(arc, cost)) {
          return false;
        }
        mean[d] += problem_.opSeconds(node.op, DeviceId(d)) * weightOf(node.op);
        ++count[d];
      }
      ++supply;
    }
    for (std::size_t d = 0; d < devices_; ++d) {
      const double each = count[d] > 0 ? mean[d] / count[d] : 0;
      // Slots that nobody can need cost more than any other.
      for (std::size_t k = 0; k < std::max(slots_, nodes_.size()); ++k) {
        const std::int64_t cost = k < nodes_.size() ? whole(each * static_cast<double>(k)) : kTop;
        if (!flow_.setCost(slot_[d][k], cost)) return false;
      }
    }
    slots_ = nodes_.size();
    return flow_.setSupply(source_, supply) && flow_.setSupply(sink_, -supply);
  }

  // Ops started at this instant.
  std::size_t step(double now) {
    std::size_t started = startInstant(now);
    if (started > 0 || ready_.empty()) return started;
    bool idle = false;
    for (std::size_t d = 0; d < devices_; ++d) idle = idle || schedule_.freeFrom(DeviceId(d)) <= now;
    if (!idle) return 0;
    if (!update() || !flow_.solve()) {
      failed_ = true;
      return 0;
    }
    for (std::size_t d = 0; d < devices_; ++d) {
      if (schedule_.freeFrom(DeviceId(d)) > now) continue;
      const Node* first = nullptr;
      for (const Node& node : nodes_) {
        if (node.to_device[d].value == flow::kNone || flow_.flow(node.to_device[d]) == 0) continue;
        if (first == nullptr || node.key < first->key ||
            (node.key == first->key && problem_.graph.position(node.op) < problem_.graph.position(first->op)))
          first = &node;
      }
      // An op of the same unit may just have gone elsewhere.
      if (first == nullptr || !schedule_.canPlace(first->op, DeviceId(d))) continue;
      start(first->op, DeviceId(d));
      ++started;
    }
    return started;
  }

  // Ops of no time hold no device.
  std::size_t startInstant(double) {
    for (const OpId op : ready_) {
      for (std::size_t d = 0; d < devices_; ++d) {
        if (!schedule_.canPlace(op, DeviceId(d)) || problem_.busySeconds(op, DeviceId(d)) > 0) continue;
        start(op, DeviceId(d));
        return 1;
      }
    }
    return 0;
  }

  void start(OpId op, DeviceId device) {
    const double begin = schedule_.earliestStart(op, device, schedule_.arrival(op, device));
    const double end = begin + problem_.opSeconds(op, device);
    const std::size_t model = modelOf(op);
    arc_cost_ += std::max(0.0, end - end_[model]);
    end_[model] = std::max(end_[model], end);
    left_[model] = std::max(0.0, left_[model] - least_[op.index()]);
    double& work = work_[model * devices_ + fastest(op).index()];
    work = std::max(0.0, work - least_[op.index()]);
    schedule_.place(op, device, begin);
    std::erase(ready_, op);
    readiness_.finish(
        op, [&](OpId next) { coming_.emplace(readyTime(next), problem_.graph.position(next), next); });
  }

  double nextInstant(double now) const {
    double next = coming_.empty() ? kInfinity : std::max(now, std::get<0>(coming_.top()));
    if (ready_.empty()) return next;
    for (std::size_t d = 0; d < devices_; ++d) {
      const double free = schedule_.freeFrom(DeviceId(d));
      if (free > now) next = std::min(next, free);
    }
    return next;
  }
};

}  // namespace

WeightedSpeedup scheduleByWeightedSpeedup(const Problem& problem, double share, const Budget& budget) {
  return Scheduler(problem, share, budget).run();
}

bool weightedSpeedupAccepts(const Problem& problem) {
  return problem.goal() == Goal::kCompletion && problem.opCount() <= kMostOps;
}

SolveResult solveWeightedSpeedup(const Problem& problem, const Budget& budget, Progress& progress) {
  for (const double share : kShares) {
    if (progress.done()) break;
    WeightedSpeedup found = scheduleByWeightedSpeedup(problem, share, budget);
    if (found.stopped) return {SolveEnd::kStopped, ""};
    if (!found.plan.assignment.empty()) progress.plan(std::move(found.plan), "weighted-speedup");
  }
  return {SolveEnd::kFinished, ""};
}

}  // namespace allot
