#include "evaluate/pipeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "evaluate/forward_graph.h"
#include "evaluate/load_state.h"
#include "evaluate/stage_memory.h"
#include "evaluate/weight_sync.h"

namespace allot {
namespace {

// Whether the stages hold every op once, each on its stage's first device, with devices in one stage only.
bool stagesFit(const Problem& problem, const Plan& plan) {
  std::vector<std::uint8_t> seen(problem.opCount(), 0), used(problem.deviceCount(), 0);
  std::size_t ops = 0;
  for (const PlanStage& stage : plan.stages) {
    if (stage.devices.empty() || stage.ops.empty()) return false;
    for (const DeviceId d : stage.devices) {
      if (used[d.index()]++) return false;
    }
    for (const OpId op : stage.ops) {
      if (seen[op.index()]++ || plan.assignment[op.index()] != stage.devices.front()) return false;
    }
    ops += stage.ops.size();
  }
  return ops == problem.opCount();
}

// One stage per used device, by the earliest op on it; `orderStages` then follows the forward graph.
std::vector<PlanStage> stagesOf(const Problem& problem, const Plan& plan) {
  std::vector<std::int64_t> stage_of(problem.deviceCount(), -1);
  std::vector<PlanStage> stages;
  for (const OpId op : problem.graph.topologicalOrder()) {
    const DeviceId on = plan.assignment[op.index()];
    if (stage_of[on.index()] < 0) {
      stage_of[on.index()] = static_cast<std::int64_t>(stages.size());
      stages.push_back({{on}, {}});
    }
    stages[static_cast<std::size_t>(stage_of[on.index()])].ops.push_back(op);
  }
  return stages;
}

class Pipeline {
 public:
  Pipeline(const Problem& problem, Plan& plan, std::vector<std::string>& violations)
      : problem_(problem), plan_(plan), violations_(violations) {}

  void run() {
    const bool given = stagesFit(problem_, plan_);
    if (!given) plan_.stages = stagesOf(problem_, plan_);
    checkReplicas();
    checkContiguity(given);
    if (problem_.modes.max_stages > 0 && plan_.stages.size() > problem_.modes.max_stages) {
      violations_.push_back(
          fmt::format("{} stages, at most {} allowed", plan_.stages.size(), problem_.modes.max_stages));
    }
    fillUse();
  }

 private:
  const Problem& problem_;
  Plan& plan_;
  std::vector<std::string>& violations_;

  const std::string& deviceName(DeviceId d) const { return problem_.cluster.devices[d.index()].name; }

  void checkReplicas() {
    for (const PlanStage& stage : plan_.stages) {
      if (stage.devices.size() == 1) continue;
      if (!problem_.modes.replicate) violations_.push_back("a stage has replicas, but replicate is off");
      for (const DeviceId d : stage.devices) {
        if (problem_.cluster.devices[d.index()].cls !=
            problem_.cluster.devices[stage.devices[0].index()].cls) {
          violations_.push_back(fmt::format("replica {} is of another class than {}", deviceName(d),
                                            deviceName(stage.devices[0])));
        }
        for (const OpId op : stage.ops) {
          if (problem_.allowed(problem_.unit(op), d)) continue;
          violations_.push_back(
              fmt::format("op \"{}\" may not run on {}", problem_.graph.op_name[op.index()], deviceName(d)));
          break;
        }
      }
    }
  }

  void checkContiguity(bool keep_order) {
    if (problem_.modes.contiguity == Contiguity::kNone) return;
    const ForwardGraph forward(problem_);
    std::vector<std::uint32_t> part(problem_.unitCount());
    for (std::uint32_t s = 0; s < plan_.stages.size(); ++s) {
      for (const OpId op : plan_.stages[s].ops) part[problem_.unit(op).index()] = s;
    }
    if (problem_.modes.contiguity == Contiguity::kConvex) {
      const std::int64_t bad = forward.notConvex(part, plan_.stages.size());
      if (bad >= 0) {
        violations_.push_back(
            fmt::format("the forward ops on {} are not convex",
                        deviceName(plan_.stages[static_cast<std::size_t>(bad)].devices[0])));
      }
      return;
    }
    bool in_order = true;
    for (const PartEdge& edge : forward.unitEdges()) in_order = in_order && part[edge.from] <= part[edge.to];
    if (in_order) return;
    const Contraction order = forward.contractUnits(part, plan_.stages.size());
    if (!order.acyclic()) {
      const DeviceId a = plan_.stages[order.cycle[0]].devices[0];
      const DeviceId b = plan_.stages[order.cycle[1]].devices[0];
      violations_.push_back(
          fmt::format("{} and {} depend on each other: no chain of stages", deviceName(a), deviceName(b)));
      return;
    }
    if (keep_order) violations_.push_back("the stages are not listed in the order of the pipeline");
    std::vector<PlanStage> sorted;
    for (const std::uint32_t s : order.order) sorted.push_back(std::move(plan_.stages[s]));
    plan_.stages = std::move(sorted);
  }

  void fillUse() {
    const LoadState loads(problem_, plan_.assignment);
    plan_.devices.assign(problem_.deviceCount(), {});
    plan_.start.clear();
    plan_.end.clear();
    plan_.transfers.clear();
    const bool by_parts = problem_.modes.training_load == TrainingLoad::kMaxParts;
    const std::vector<double> block_sync = blockSyncSeconds(problem_, plan_.stages);
    const std::vector<double> memory = stageMemory(problem_, plan_.stages);
    double forward = 0, rest = 0;
    for (std::size_t s = 0; s < plan_.stages.size(); ++s) {
      const PlanStage& stage = plan_.stages[s];
      const LoadState::Parts& parts = loads.parts(stage.devices[0]);
      const double replicas = static_cast<double>(stage.devices.size());
      const double sync = syncSeconds(problem_, stage) + block_sync[s];
      const double first = stageLoad(problem_, parts, replicas, 0) + (by_parts ? 0 : sync);
      const double second = by_parts ? stageLoad(problem_, parts, replicas, 1) + sync : 0;
      forward = std::max(forward, first);
      rest = std::max(rest, second);
      for (const DeviceId d : stage.devices) {
        plan_.devices[d.index()] = {(parts.compute[0] + parts.compute[1]) / replicas,
                                    (parts.communication[0] + parts.communication[1]) / replicas,
                                    first + second, memory[s]};
      }
    }
    plan_.value = forward + rest;
  }
};

}  // namespace

void evaluatePipeline(const Problem& problem, Plan& plan, std::vector<std::string>& violations) {
  Pipeline(problem, plan, violations).run();
}

}  // namespace allot
