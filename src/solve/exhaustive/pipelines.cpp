#include <algorithm>
#include <cmath>

#include "evaluate/forward_graph.h"
#include "evaluate/load_state.h"
#include "evaluate/stage_memory.h"
#include "evaluate/weight_sync.h"
#include "solve/exhaustive/exhaustive.h"

namespace allot {
namespace {

class PipelineSearch {
 public:
  PipelineSearch(const Problem& problem, Progress& progress, Steps& steps)
      : problem_(problem), progress_(progress), steps_(steps), forward_(problem) {
    for (std::size_t d = 0; d < problem.deviceCount(); ++d) {
      most_replicas_.push_back(1);
      for (std::size_t e = 0; problem.modes.replicate && e < problem.deviceCount(); ++e) {
        if (e != d && problem.cluster.devices[d].cls == problem.cluster.devices[e].cls) ++most_replicas_[d];
      }
    }
    for (std::size_t u = 0; u < problem.unitCount(); ++u) {
      for (std::size_t d = 0; d < problem.deviceCount(); ++d) {
        double seconds = 0;
        for (const OpId op : problem.unitOps(UnitId(u))) seconds += problem.busySeconds(op, DeviceId(d));
        seconds_.push_back(seconds / most_replicas_[d]);
      }
    }
  }

  bool run() {
    return forEachPlacement(
        problem_,
        [&](std::size_t depth, const std::vector<DeviceId>& choice) {
          const DeviceId last = choice[depth - 1];
          double load = 0;
          for (std::size_t u = 0; u < depth; ++u) {
            if (choice[u] == last) load += seconds_[u * problem_.deviceCount() + last.index()];
          }
          return load * (1 - 1e-12) < progress_.bestValue();
        },
        [&](const std::vector<DeviceId>& choice) { return leaf(choice); });
  }

 private:
  const Problem& problem_;
  Progress& progress_;
  Steps& steps_;
  ForwardGraph forward_;
  std::vector<double> most_replicas_;  // by device
  std::vector<double> seconds_;        // [unit * devices + device], shared by the most replicas there can be

  bool leaf(const std::vector<DeviceId>& choice) {
    if (!steps_.next()) return false;
    ++steps_.plans;
    Plan plan;
    plan.modes = problem_.modes;
    plan.assignment = assignmentOf(problem_, choice);
    const LoadState loads(problem_, plan.assignment);
    if (!problem_.modes.replicate && loads.value() >= progress_.bestValue()) return true;

    std::vector<std::int64_t> stage_of(problem_.deviceCount(), -1);
    for (std::size_t i = 0; i < problem_.opCount(); ++i) {
      const DeviceId on = plan.assignment[i];
      if (stage_of[on.index()] < 0) {
        stage_of[on.index()] = static_cast<std::int64_t>(plan.stages.size());
        plan.stages.push_back({{on}, {}});
      }
      plan.stages[static_cast<std::size_t>(stage_of[on.index()])].ops.emplace_back(i);
    }
    const std::size_t stages = plan.stages.size();
    if (problem_.modes.max_stages > 0 && stages > problem_.modes.max_stages) return true;
    std::vector<std::uint32_t> part(problem_.unitCount());
    for (std::size_t u = 0; u < part.size(); ++u)
      part[u] = static_cast<std::uint32_t>(stage_of[choice[u].index()]);
    if (problem_.modes.contiguity == Contiguity::kConvex && forward_.notConvex(part, stages) >= 0)
      return true;
    if (problem_.modes.contiguity == Contiguity::kChain) {
      const Contraction order = forward_.contractUnits(part, stages);
      if (!order.acyclic()) return true;
      std::vector<PlanStage> sorted;
      for (const std::uint32_t s : order.order) sorted.push_back(plan.stages[s]);
      plan.stages = std::move(sorted);
      for (std::uint32_t s = 0; s < stages; ++s) {
        for (const OpId op : plan.stages[s].ops) part[problem_.unit(op).index()] = s;
      }
    }
    chooseReplicas(plan, loads, part, stage_of, 0);
    return true;
  }

  // Every unused device joins no stage, or one of its class that it may serve.
  void chooseReplicas(Plan& plan, const LoadState& loads, const std::vector<std::uint32_t>& part,
                      const std::vector<std::int64_t>& stage_of, std::size_t device) {
    while (device < problem_.deviceCount() && stage_of[device] >= 0) ++device;
    if (device >= problem_.deviceCount() || !problem_.modes.replicate) {
      if (value(plan, loads) < progress_.bestValue()) orderStages(plan, part);
      return;
    }
    chooseReplicas(plan, loads, part, stage_of, device + 1);
    for (std::size_t s = 0; s < plan.stages.size(); ++s) {
      if (!mayServe(plan.stages[s], DeviceId(device), loads)) continue;
      plan.stages[s].devices.emplace_back(device);
      chooseReplicas(plan, loads, part, stage_of, device + 1);
      plan.stages[s].devices.pop_back();
    }
  }

  bool mayServe(const PlanStage& stage, DeviceId device, const LoadState& loads) const {
    const DeviceId first = stage.devices.front();
    if (problem_.cluster.devices[first.index()].cls != problem_.cluster.devices[device.index()].cls)
      return false;
    if (loads.resident(first) > problem_.memoryLimit(device)) return false;
    return std::all_of(stage.ops.begin(), stage.ops.end(),
                       [&](OpId op) { return problem_.allowed(problem_.unit(op), device); });
  }

  double value(const Plan& plan, const LoadState& loads) const {
    const bool by_parts = problem_.modes.training_load == TrainingLoad::kMaxParts;
    const std::vector<double> block_sync = blockSyncSeconds(problem_, plan.stages);
    double forward = 0, rest = 0;
    for (std::size_t s = 0; s < plan.stages.size(); ++s) {
      const PlanStage& stage = plan.stages[s];
      const double replicas = static_cast<double>(stage.devices.size());
      const double sync = syncSeconds(problem_, stage) + block_sync[s];
      const LoadState::Parts& parts = loads.parts(stage.devices.front());
      forward = std::max(forward, stageLoad(problem_, parts, replicas, 0) + (by_parts ? 0 : sync));
      if (by_parts) rest = std::max(rest, stageLoad(problem_, parts, replicas, 1) + sync);
    }
    return forward + rest;
  }

  // Only samples in flight can tell orders of a chain apart: try them until the memory fits.
  void orderStages(const Plan& plan, const std::vector<std::uint32_t>& part) {
    if (!problem_.modes.in_flight) {
      progress_.plan(plan, "exhaustive");
      return;
    }
    const Contraction quotient = forward_.contractUnits(part, plan.stages.size());
    std::vector<std::uint32_t> waiting(plan.stages.size(), 0);
    for (const std::uint32_t next : quotient.successors.items) ++waiting[next];
    std::vector<std::uint32_t> order;
    extendOrder(plan, quotient, waiting, order);
  }

  bool extendOrder(const Plan& plan, const Contraction& quotient, std::vector<std::uint32_t>& waiting,
                   std::vector<std::uint32_t>& order) {
    const std::size_t stages = plan.stages.size();
    if (order.size() == stages) {
      Plan sorted = plan;
      for (std::size_t i = 0; i < stages; ++i) sorted.stages[i] = plan.stages[order[i]];
      return progress_.plan(std::move(sorted), "exhaustive");
    }
    for (std::uint32_t s = 0; s < stages; ++s) {
      if (waiting[s] != 0 || !fitsAt(plan.stages[s], stages - order.size())) continue;
      waiting[s] = UINT32_MAX;
      order.push_back(s);
      for (const std::uint32_t next : quotient.successors[s]) --waiting[next];
      const bool found = extendOrder(plan, quotient, waiting, order);
      for (const std::uint32_t next : quotient.successors[s]) ++waiting[next];
      order.pop_back();
      waiting[s] = 0;
      if (found) return true;
    }
    return false;
  }

  bool fitsAt(const PlanStage& stage, std::size_t stages_left) const {
    const double samples =
        std::ceil(static_cast<double>(stages_left) / static_cast<double>(stage.devices.size()));
    // Under live memory at least this much: what lies there besides is known of complete plans only.
    const double bytes = problem_.residentBytes(std::span(stage.ops)) +
                         (problem_.liveMemory() ? samples - 1 : samples) * stashBytes(problem_, stage);
    return std::all_of(stage.devices.begin(), stage.devices.end(),
                       [&](DeviceId d) { return bytes <= problem_.memoryLimit(d); });
  }
};

}  // namespace

bool exhaustPipelines(const Problem& problem, Progress& progress, Steps& steps) {
  return PipelineSearch(problem, progress, steps).run();
}

}  // namespace allot
