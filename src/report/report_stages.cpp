#include "report/report_stages.h"

#include <algorithm>

#include "report/cut_tensors.h"

namespace allot {

std::vector<PlanStage> stagesOrDevices(const Problem& problem, const Plan& plan) {
  if (!plan.stages.empty()) return plan.stages;
  std::vector<PlanStage> made;
  std::vector<std::size_t> stage_of(problem.deviceCount(), SIZE_MAX);
  for (const OpId op : problem.graph.topologicalOrder()) {
    const DeviceId device = plan.assignment[op.index()];
    if (!device.valid()) continue;
    std::size_t& stage = stage_of[device.index()];
    if (stage == SIZE_MAX) {
      stage = made.size();
      made.push_back({{device}, {}});
    }
    made[stage].ops.push_back(op);
  }
  return made;
}

std::vector<StageWork> stageWork(const Problem& problem, const Plan& plan) {
  const auto partOf = [&](OpId op) {
    return problem.graph.op_phase[op.index()] == Phase::kForward ? std::size_t{0} : std::size_t{1};
  };
  std::vector<StageWork> all;
  std::vector<std::size_t> stage_of(problem.deviceCount(), SIZE_MAX);
  for (const PlanStage& stage : stagesOrDevices(problem, plan)) {
    StageWork work;
    work.devices = stage.devices;
    work.ops = stage.ops.size();
    if (stage.devices.empty()) continue;
    const DeviceId first = stage.devices.front();
    for (const OpId op : stage.ops) work.parts[partOf(op)].compute_seconds += problem.busySeconds(op, first);
    if (first.index() < plan.devices.size()) work.load_seconds = plan.devices[first.index()].load_seconds;
    stage_of[first.index()] = all.size();
    all.push_back(std::move(work));
  }
  for (const CutPayment& payment : cutPayments(problem, plan.assignment)) {
    const std::size_t stage = stage_of[payment.device.index()];
    if (stage == SIZE_MAX) continue;
    StagePart& part = all[stage].parts[partOf(problem.graph.producer(payment.tensor))];
    (payment.sends ? part.send_seconds : part.receive_seconds) += payment.seconds;
  }
  if (problem.modes.overlap == Overlap::kSum && problem.modes.training_load == TrainingLoad::kSum) {
    for (StageWork& work : all) {
      double seconds = 0;
      for (const StagePart& part : work.parts)
        seconds += part.receive_seconds + part.compute_seconds + part.send_seconds;
      const auto replicas = static_cast<double>(work.devices.size());
      if (replicas > 1 || !problem.graph.block_bytes.empty())
        work.sync_seconds = std::max(0.0, work.load_seconds - seconds / replicas);
    }
  }
  return all;
}

}  // namespace allot
