#include "support/brute_force.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>

#include "allot/check.h"

namespace allot {
namespace {

constexpr double kGrid = 0.25;

class BruteForce {
 public:
  explicit BruteForce(const Problem& problem) : problem_(problem), devices_(problem.deviceCount()) {}

  std::optional<double> run() {
    plan_.modes = problem_.modes;
    plan_.status = Status::kFeasible;
    plan_.bound = std::numeric_limits<double>::quiet_NaN();
    plan_.assignment.assign(problem_.opCount(), DeviceId(0));
    assign(0);
    return best_;
  }

 private:
  const Problem& problem_;
  std::size_t devices_;
  Plan plan_;
  std::optional<double> best_;

  // The checker recomputes the value; asked twice, first for the value, then whether the plan that claims it
  // is valid.
  void judge() {
    plan_.value = 0;
    const double value = check(problem_, plan_).value;
    if (best_ && !(value < *best_)) return;
    plan_.value = value;
    if (check(problem_, plan_).ok()) best_ = value;
  }

  void assign(std::size_t op) {
    if (op == problem_.opCount()) {
      if (problem_.goal() == Goal::kThroughput)
        pipelines();
      else if (problem_.goal() == Goal::kLatency && problem_.modes.model == LatencyModel::kSubgraphCalls)
        calls(0, {});
      else
        schedules();
      return;
    }
    for (std::size_t d = 0; d < devices_; ++d) {
      if (!problem_.allowed(problem_.unit(OpId(op)), DeviceId(d))) continue;
      const OpId first = problem_.unitOps(problem_.unit(OpId(op))).front();
      if (first.index() < op && plan_.assignment[first.index()] != DeviceId(d)) continue;
      plan_.assignment[op] = DeviceId(d);
      assign(op + 1);
    }
  }

  // Every order of the used devices, every way to hand out the others as replicas.
  void pipelines() {
    plan_.stages.clear();
    for (std::size_t d = 0; d < devices_; ++d) {
      PlanStage stage{{DeviceId(d)}, {}};
      for (std::size_t i = 0; i < problem_.opCount(); ++i) {
        if (plan_.assignment[i] == DeviceId(d)) stage.ops.emplace_back(i);
      }
      if (!stage.ops.empty()) plan_.stages.push_back(stage);
    }
    const std::vector<PlanStage> stages = plan_.stages;
    std::vector<std::size_t> order(stages.size());
    std::iota(order.begin(), order.end(), 0);
    const bool orders_matter = problem_.modes.contiguity == Contiguity::kChain;
    do {
      for (std::size_t s = 0; s < stages.size(); ++s) plan_.stages[s] = stages[order[s]];
      replicas(0);
    } while (orders_matter && std::next_permutation(order.begin(), order.end()));
  }

  void replicas(std::size_t device) {
    if (device == devices_ || !problem_.modes.replicate) return judge();
    replicas(device + 1);
    for (const PlanStage& stage : plan_.stages) {
      for (const DeviceId d : stage.devices) {
        if (d == DeviceId(device)) return;
      }
    }
    for (std::size_t s = 0; s < plan_.stages.size(); ++s) {
      plan_.stages[s].devices.emplace_back(device);
      replicas(device + 1);
      plan_.stages[s].devices.pop_back();
    }
  }

  void calls(std::size_t op, std::vector<std::uint32_t> label) {
    if (op < problem_.opCount()) {
      label.push_back(0);
      const bool accelerator = problem_.cluster.isAccelerator(plan_.assignment[op]);
      for (std::uint32_t c = 0; c < (accelerator ? problem_.modes.calls : 1); ++c) {
        label.back() = c;
        calls(op + 1, label);
      }
      return;
    }
    plan_.stages.clear();
    for (std::uint32_t c = 0; c < problem_.modes.calls; ++c) {
      for (std::size_t d = 0; d < devices_; ++d) {
        PlanStage call{{DeviceId(d)}, {}};
        for (std::size_t i = 0; i < label.size(); ++i) {
          if (problem_.cluster.isAccelerator(DeviceId(d)) && plan_.assignment[i] == DeviceId(d) &&
              label[i] == c)
            call.ops.emplace_back(i);
        }
        if (!call.ops.empty()) plan_.stages.push_back(call);
      }
    }
    judge();
  }

  // All permutations of ops and transfers that respect precedence, each item appended to what it holds.
  void schedules() {
    plan_.transfers.clear();
    const OpGraph& graph = problem_.graph;
    for (std::size_t t = 0; t < problem_.firstOrderTensor(); ++t) {
      const DeviceId from = plan_.assignment[graph.tensor_producer[t].index()];
      for (const OpId consumer : graph.tensor_consumers[t]) {
        const DeviceId to = plan_.assignment[consumer.index()];
        if (to == from) continue;
        PlanTransfer* known = nullptr;
        for (PlanTransfer& transfer : plan_.transfers) {
          if (transfer.tensor == TensorId(t) && transfer.to == to) known = &transfer;
        }
        if (known != nullptr && problem_.modes.send == Send::kOnce)
          known->consumers.push_back(consumer);
        else
          plan_.transfers.push_back({TensorId(t), {consumer}, from, to, 0, 0});
      }
    }
    plan_.start.assign(problem_.opCount(), 0);
    plan_.end.assign(problem_.opCount(), 0);
    items_done_.assign(problem_.opCount() + plan_.transfers.size(), false);
    horizon_ = *std::max_element(problem_.model_release.begin(), problem_.model_release.end());
    for (std::size_t i = 0; i < problem_.opCount(); ++i)
      horizon_ += problem_.busySeconds(OpId(i), plan_.assignment[i]);
    for (const PlanTransfer& t : plan_.transfers)
      horizon_ += problem_.transferSeconds(t.tensor, t.from, t.to);
    device_free_.assign(devices_, 0);
    port_free_.assign(2 * devices_, 0);
    permute(0);
  }

  std::vector<bool> items_done_;
  std::vector<double> device_free_, port_free_;
  double horizon_ = 0;

  bool opReady(std::size_t op, double& ready) const {
    const OpGraph& graph = problem_.graph;
    ready = problem_.goal() == Goal::kCompletion ? problem_.model_release[graph.op_model[op].index()] : 0;
    for (const TensorId tensor : graph.inputs(OpId(op))) {
      const std::size_t producer = graph.producer(tensor).index();
      if (!items_done_[producer]) return false;
      ready = std::max(ready, plan_.end[producer]);
    }
    for (std::size_t t = 0; t < plan_.transfers.size(); ++t) {
      const auto& consumers = plan_.transfers[t].consumers;
      if (std::find(consumers.begin(), consumers.end(), OpId(op)) == consumers.end()) continue;
      if (!items_done_[problem_.opCount() + t]) return false;
      ready = std::max(ready, plan_.transfers[t].end);
    }
    return true;
  }

  // Waiting can only pay under live memory; then every start on the grid until all could have run one after
  // another.
  std::vector<double> startsFrom(double earliest) const {
    std::vector<double> list{earliest};
    if (problem_.modes.memory != MemoryModel::kLive) return list;
    for (double start = earliest + kGrid; start <= horizon_; start += kGrid) list.push_back(start);
    return list;
  }

  void permute(std::size_t done) {
    if (done == items_done_.size()) return judge();
    for (std::size_t item = 0; item < items_done_.size(); ++item) {
      if (items_done_[item]) continue;
      const std::vector<double> device_before = device_free_, port_before = port_free_;
      double earliest = 0;
      if (!earliestStart(item, earliest)) continue;
      for (const double start : startsFrom(earliest)) {
        const double end = begin(item, start);
        items_done_[item] = true;
        if (!(best_ && problem_.goal() == Goal::kLatency && end >= *best_)) permute(done + 1);
        items_done_[item] = false;
        device_free_ = device_before;
        port_free_ = port_before;
      }
    }
  }

  std::size_t receivePort(const PlanTransfer& transfer) const {
    return transfer.to.index() + (problem_.modes.link_mode == LinkMode::kHalfDuplex ? 0 : devices_);
  }

  bool earliestStart(std::size_t item, double& start) const {
    const std::size_t n = problem_.opCount();
    if (item < n) {
      if (!opReady(item, start)) return false;
      const DeviceId on = plan_.assignment[item];
      if (problem_.opSeconds(OpId(item), on) > 0) start = std::max(start, device_free_[on.index()]);
      return true;
    }
    const PlanTransfer& transfer = plan_.transfers[item - n];
    const std::size_t producer = problem_.graph.producer(transfer.tensor).index();
    if (!items_done_[producer]) return false;
    start = plan_.end[producer];
    const bool ports = problem_.modes.link_mode != LinkMode::kFree;
    if (ports && problem_.transferSeconds(transfer.tensor, transfer.from, transfer.to) > 0) {
      start = std::max({start, port_free_[transfer.from.index()], port_free_[receivePort(transfer)]});
    }
    return true;
  }

  double begin(std::size_t item, double start) {
    const std::size_t n = problem_.opCount();
    if (item < n) {
      const DeviceId on = plan_.assignment[item];
      const double seconds = problem_.opSeconds(OpId(item), on);
      plan_.start[item] = start;
      plan_.end[item] = start + seconds;
      if (seconds > 0)
        device_free_[on.index()] = plan_.end[item] + problem_.cluster.classOf(on).launch_seconds;
      return plan_.end[item];
    }
    PlanTransfer& transfer = plan_.transfers[item - n];
    transfer.start = start;
    transfer.end = start + problem_.transferSeconds(transfer.tensor, transfer.from, transfer.to);
    if (problem_.modes.link_mode != LinkMode::kFree && transfer.end > start) {
      port_free_[transfer.from.index()] = port_free_[receivePort(transfer)] = transfer.end;
    }
    return transfer.end;
  }
};

}  // namespace

std::optional<double> bruteForce(const Problem& problem) {
  return BruteForce(problem).run();
}

}  // namespace allot
