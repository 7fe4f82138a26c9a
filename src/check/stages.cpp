// The stages of a throughput plan: a partition of the ops over disjoint sets of devices.
#include "check/parts.h"

namespace allot {
namespace {

constexpr std::uint32_t kNoStage = std::numeric_limits<std::uint32_t>::max();

StageView stagesByDevice(const CheckContext& context) {
  StageView view;
  std::vector<std::uint32_t> of_device(context.problem.deviceCount(), kNoStage);
  for (const DeviceId device : context.plan.assignment) of_device[device.index()] = 0;
  for (std::size_t d = 0; d < of_device.size(); ++d) {
    if (of_device[d] == kNoStage) continue;
    of_device[d] = static_cast<std::uint32_t>(view.count());
    view.devices.push_back({DeviceId(d)});
  }
  view.of_op.reserve(context.problem.opCount());
  for (const DeviceId device : context.plan.assignment) view.of_op.push_back(of_device[device.index()]);
  return view;
}

// The devices of one stage: known, in no other stage, of one class.
bool checkStageDevices(const CheckContext& context, std::size_t s,
                       std::vector<std::uint32_t>& stage_of_device) {
  Findings& findings = context.findings;
  const PlanStage& stage = context.plan.stages[s];
  if (stage.devices.empty()) {
    findings.add("stage {} has no device", s);
    return false;
  }
  for (const DeviceId device : stage.devices) {
    if (!context.isDevice(device)) {
      findings.add("stage {} names device number {} of {}", s, device.value, context.problem.deviceCount());
      return false;
    }
    std::uint32_t& owner = stage_of_device[device.index()];
    if (owner != kNoStage) {
      findings.add("device \"{}\" is in stage {} and in stage {}", context.deviceName(device), owner, s);
      return false;
    }
    owner = static_cast<std::uint32_t>(s);
  }
  if (stage.devices.size() > 1 && !context.modes().replicate) {
    findings.add("stage {} has {} devices but the plan was made without replication", s,
                 stage.devices.size());
  }
  const auto& devices = context.problem.cluster.devices;
  const ClassId cls = devices[stage.devices[0].index()].cls;
  for (const DeviceId device : stage.devices) {
    if (devices[device.index()].cls == cls) continue;
    findings.add("stage {} has replicas of two classes: device \"{}\" of \"{}\" and \"{}\" of \"{}\"", s,
                 context.deviceName(stage.devices[0]), context.problem.cluster.classOf(stage.devices[0]).name,
                 context.deviceName(device), context.problem.cluster.classOf(device).name);
    return false;
  }
  return true;
}

bool checkStageOps(const CheckContext& context, std::size_t s, std::vector<std::uint32_t>& of_op) {
  const PlanStage& stage = context.plan.stages[s];
  bool sound = true;
  if (stage.ops.empty())
    context.findings.add("stage {} on device \"{}\" has no ops", s, context.deviceName(stage.devices[0]));
  for (const OpId op : stage.ops) {
    if (!context.isOp(op)) {
      context.findings.add("stage {} names op number {} of {}", s, op.value, context.problem.opCount());
      sound = false;
      continue;
    }
    std::uint32_t& owner = of_op[op.index()];
    if (owner != kNoStage) {
      context.findings.add("op \"{}\" is in stage {} and again in stage {}", context.opName(op), owner, s);
      sound = false;
      continue;
    }
    owner = static_cast<std::uint32_t>(s);
    if (context.deviceOf(op) != stage.devices[0]) {
      context.findings.add("op \"{}\" is assigned to device \"{}\" but its stage {} runs on \"{}\"",
                           context.opName(op), context.deviceName(context.deviceOf(op)), s,
                           context.deviceName(stage.devices[0]));
      sound = false;
    }
    for (std::size_t r = 1; r < stage.devices.size(); ++r) {
      if (context.problem.allowed(context.problem.unit(op), stage.devices[r])) continue;
      context.findings.add("op \"{}\" may not run on device \"{}\", a replica of stage {}",
                           context.opName(op), context.deviceName(stage.devices[r]), s);
    }
  }
  return sound;
}

bool viewListedStages(const CheckContext& context, StageView& view) {
  const Plan& plan = context.plan;
  view.listed = true;
  view.of_op.assign(context.problem.opCount(), kNoStage);
  std::vector<std::uint32_t> stage_of_device(context.problem.deviceCount(), kNoStage);
  bool sound = true;
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    sound = checkStageDevices(context, s, stage_of_device) && checkStageOps(context, s, view.of_op) && sound;
    view.devices.push_back(plan.stages[s].devices);
  }
  for (std::size_t i = 0; i < view.of_op.size(); ++i) {
    // A faulty stage is skipped whole, so ops are known to be missing only when every stage was read.
    if (view.of_op[i] != kNoStage || !sound) continue;
    context.findings.add("op \"{}\" is in no stage", context.opName(OpId(i)));
    return false;
  }
  return sound;
}

}  // namespace

bool viewStages(const CheckContext& context, StageView& stages) {
  if (context.plan.stages.empty())
    stages = stagesByDevice(context);
  else if (!viewListedStages(context, stages))
    return false;
  const std::uint32_t most = context.modes().max_stages;
  if (most != 0 && stages.count() > most)
    context.findings.add("the plan has {} stages but may have {}", stages.count(), most);
  return true;
}

}  // namespace allot
