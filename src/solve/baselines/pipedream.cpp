#include "solve/baselines/pipedream.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "solve/baselines/rule_devices.h"
#include "solve/module_order.h"

namespace allot::baseline {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

class PipeDream {
 public:
  PipeDream(const Problem& problem, const Budget& budget, const ModuleOrder& order,
            std::vector<DeviceId> machines)
      : problem_(problem), budget_(budget), blocks_(order.blocks), machines_(std::move(machines)) {
    const std::size_t n = blocks_.size();
    const DeviceId model = machines_.front();
    memory_ = problem.memoryLimit(model);
    compute_.assign(n + 1, 0);
    bytes_.assign(n + 1, 0);
    weights_.assign(n + 1, 0);
    runs_until_.assign(n + 1, static_cast<std::uint32_t>(n));
    for (std::size_t b = 0; b < n; ++b) {
      double seconds = 0;
      for (const UnitId unit : blocks_[b].units) {
        for (const OpId op : problem.unitOps(unit)) seconds += problem.busySeconds(op, model);
      }
      compute_[b + 1] = compute_[b] + seconds;
      bytes_[b + 1] = bytes_[b] + blocks_[b].resident_bytes;
      weights_[b + 1] = weights_[b] + static_cast<double>(blocks_[b].weight_bytes);
    }
    for (std::size_t b = n; b-- > 0;) {
      runs_until_[b] =
          allowed(problem, blocks_[b], model) ? runs_until_[b + 1] : static_cast<std::uint32_t>(b);
    }
    if (machines_.size() > 1) {
      const Link* link = problem.pairLink(machines_[0], machines_[1]);
      if (link != nullptr) bandwidth_ = link->bandwidth_bytes_per_second;
    }
  }

  bool fitsInMemory() const {
    return (blocks_.size() + 1) * (machines_.size() + 1) * sizeof(Entry) <= budget_.memory_bytes;
  }

  // False when stopped.
  bool solve(bool samples_in_flight) {
    in_flight_ = samples_in_flight;
    const std::size_t n = blocks_.size();
    const std::size_t row = machines_.size() + 1;
    table_.assign((n + 1) * row, {});
    cross_.assign(row * row, n);
    for (std::size_t m = 0; m < row; ++m) table_[n * row + m].value = 0;
    for (std::size_t from = n; from-- > 0;) {
      if (from % 64 == 0 && budget_.stopped()) return false;
      for (std::size_t left = 1; left < row; ++left) {
        Entry& entry = table_[from * row + left];
        entry = table_[from * row + left - 1];  // a machine may stay idle
        if (entry.value < kInfinity) entry.skip = true;
        const std::size_t most = problem_.modes.replicate ? left : 1;
        for (std::size_t r = 1; r <= most; ++r) extend(entry, from, left, r);
      }
    }
    return true;
  }

  bool found() const { return table_[machines_.size()].value < kInfinity; }

  Plan plan() const {
    Plan plan;
    plan.modes = problem_.modes;
    plan.assignment.resize(problem_.opCount());
    std::size_t left = machines_.size(), next = 0;
    for (std::size_t from = 0; from < blocks_.size();) {
      const Entry& entry = table_[from * (machines_.size() + 1) + left];
      if (entry.skip) {
        --left;
        continue;
      }
      PlanStage& stage = plan.stages.emplace_back();
      for (std::uint32_t r = 0; r < entry.replicas; ++r) stage.devices.push_back(machines_[next++]);
      for (; from < entry.to; ++from) {
        for (const UnitId unit : blocks_[from].units) {
          for (const OpId op : problem_.unitOps(unit)) {
            stage.ops.push_back(op);
            plan.assignment[op.index()] = stage.devices.front();
          }
        }
      }
      left -= entry.replicas;
    }
    return plan;
  }

 private:
  struct Entry {
    double value = kInfinity;
    std::uint32_t to = 0;
    std::uint16_t replicas = 0;
    bool skip = false;  // same as with one machine less
  };

  const Problem& problem_;
  const Budget& budget_;
  const std::vector<Block>& blocks_;
  std::vector<DeviceId> machines_;
  double memory_ = 0, bandwidth_ = kInfinity;
  bool in_flight_ = false;
  std::vector<double> compute_, bytes_, weights_;  // of all blocks before
  std::vector<std::uint32_t> runs_until_;          // first block from here on that the machine cannot run
  std::vector<std::size_t> cross_;                 // [machines left * (machines + 1) + replicas], see extend
  std::vector<Entry> table_;                       // [first block * (machines + 1) + machines left]

  double stageSeconds(std::size_t from, std::size_t to, std::size_t left, std::size_t replicas) const {
    if (to > runs_until_[from]) return kInfinity;
    const double r = static_cast<double>(replicas);
    const double samples = in_flight_ ? std::ceil(static_cast<double>(left) / r) : 1;
    if (samples * (bytes_[to] - bytes_[from]) > memory_) return kInfinity;
    const double sync = 4 * (r - 1) / r * (weights_[to] - weights_[from]) / bandwidth_;
    return (compute_[to] - compute_[from] + sync) / r;
  }

  void extend(Entry& best, std::size_t from, std::size_t left, std::size_t replicas) {
    const std::size_t row = machines_.size() + 1;
    const auto rest = [&](std::size_t to) { return table_[to * row + left - replicas].value; };
    // The first end at which the stage is no faster than the rest; the best end is there or just before. It
    // never moves to the right when the stage begins further left.
    std::size_t& low = cross_[left * row + replicas];
    while (low > from + 1 && stageSeconds(from, low - 1, left, replicas) >= rest(low - 1)) --low;
    for (const std::size_t to : {low, low - 1}) {
      if (to == from) continue;
      const double value = std::max(stageSeconds(from, to, left, replicas), rest(to));
      if (value >= best.value) continue;
      best = {value, static_cast<std::uint32_t>(to), static_cast<std::uint16_t>(replicas), false};
    }
  }
};

}  // namespace

SolveResult pipedream(const Problem& problem, const Budget& budget, Progress& progress) {
  if (budget.stopped()) return {SolveEnd::kStopped, {}};
  const ModuleOrder order = moduleOrder(problem);
  std::vector<DeviceId> tried;
  for (const bool with_cpus : {false, true}) {
    std::vector<DeviceId> machines = ruleDevices(problem, with_cpus);
    if (machines.empty() || machines == tried) continue;
    tried = machines;
    PipeDream planner(problem, budget, order, std::move(machines));
    if (!planner.fitsInMemory()) return {SolveEnd::kNotSuitable, {}};
    for (const bool samples_in_flight : {true, false}) {
      if (samples_in_flight && !problem.modes.in_flight) continue;
      if (!planner.solve(samples_in_flight)) return {SolveEnd::kStopped, {}};
      if (!planner.found()) continue;
      // It takes all machines to be like the first one; where they are not, its split may not fit.
      Plan plan = planner.plan();
      if (!fitsDevices(problem, plan.assignment)) continue;
      progress.plan(std::move(plan), "pipedream");
      return {};
    }
  }
  return {};
}

}  // namespace allot::baseline
