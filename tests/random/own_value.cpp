#include "random/own_value.h"

#include <algorithm>
#include <cmath>

namespace allot::tiny {
namespace {

std::size_t at(int index) {
  return static_cast<std::size_t>(index);
}

std::vector<int> devicesOf(const Plan& plan) {
  std::vector<int> list;
  for (const DeviceId device : plan.assignment) list.push_back(static_cast<int>(device.value));
  return list;
}

std::vector<Stage> stagesOf(const Rules& rules, const Plan& plan) {
  std::vector<Stage> stages;
  for (const PlanStage& listed : plan.stages) {
    Stage& stage = stages.emplace_back();
    for (const DeviceId device : listed.devices) stage.devices.push_back(static_cast<int>(device.value));
    for (const OpId op : listed.ops) stage.ops |= Ops{1} << op.value;
  }
  return plan.stages.empty() ? stagesOf(rules, devicesOf(plan)) : stages;
}

Schedule scheduleOf(const Rules& rules, const Plan& plan) {
  Schedule schedule{devicesOf(plan), plan.start, plan.end, {}};
  schedule.transfers = transfersOf(rules, schedule.device);
  for (Transfer& transfer : schedule.transfers) {
    transfer.start = plan.end[at(rules.tiny.tensors[at(transfer.tensor)].from)];
    transfer.end = transfer.start + rules.transfer(transfer.tensor, transfer.from, transfer.to);
    for (const PlanTransfer& listed : plan.transfers) {
      Ops consumers = 0;
      for (const OpId op : listed.consumers) consumers |= Ops{1} << op.value;
      if (static_cast<int>(listed.tensor.value) != transfer.tensor || consumers != transfer.consumers)
        continue;
      transfer.start = listed.start;
      transfer.end = listed.end;
    }
  }
  return schedule;
}

}  // namespace

Own ownValue(const Rules& rules, const Plan& plan) {
  Own own;
  if (*rules.modes().goal == Goal::kThroughput) {
    const PipelineRules pipelines(rules);
    const std::vector<Stage> stages = stagesOf(rules, plan);
    PipelineFigures figures = pipelines.value(stages);
    own.wrong = pipelines.wrong(stages, figures);
    own.value = figures.value;
    for (const DeviceFigures& device : figures.devices) {
      own.memory.push_back(device.memory);
      own.load.push_back(device.load);
    }
    return own;
  }
  own.memory.assign(at(rules.devices), 0);
  const std::vector<int> device = devicesOf(plan);
  if (rules.modes().model == LatencyModel::kSubgraphCalls && *rules.modes().goal == Goal::kLatency) {
    std::vector<Stage> calls;
    if (!plan.stages.empty()) calls = stagesOf(rules, plan);
    own.wrong = wrongCalls(rules, device, calls);
    own.value = callsValue(rules, device, calls).value_or(kNone);
    for (const Stage& stage : stagesOf(rules, device))
      own.memory[at(stage.devices.front())] = rules.resident(stage.ops);
    return own;
  }
  const Schedule schedule = scheduleOf(rules, plan);
  own.wrong = wrongSchedule(rules, schedule);
  own.value = valueOf(rules, schedule.end);
  for (int d = 0; d < rules.devices; ++d) own.memory[at(d)] = memoryOf(rules, schedule, d);
  return own;
}

Plan planOf(const Rules& rules, const std::vector<Stage>& stages) {
  std::vector<int> device(at(rules.ops), 0);
  for (const Stage& stage : stages) {
    for (int i = 0; i < rules.ops; ++i)
      device[at(i)] = in(stage.ops, i) ? stage.devices.front() : device[at(i)];
  }
  return planOf(rules, stages, device);
}

Plan planOf(const Rules& rules, const std::vector<Stage>& calls, const std::vector<int>& device) {
  Plan plan;
  for (const int d : device) plan.assignment.emplace_back(at(d));
  for (const Stage& call : calls) {
    PlanStage& listed = plan.stages.emplace_back();
    for (const int d : call.devices) listed.devices.emplace_back(at(d));
    for (int i = 0; i < rules.ops; ++i) {
      if (in(call.ops, i)) listed.ops.emplace_back(at(i));
    }
  }
  return plan;
}

Plan planOf(const Schedule& schedule) {
  Plan plan;
  for (const int d : schedule.device) plan.assignment.emplace_back(at(d));
  plan.start = schedule.start;
  plan.end = schedule.end;
  for (const Transfer& transfer : schedule.transfers) {
    PlanTransfer& listed = plan.transfers.emplace_back();
    listed.tensor = TensorId(at(transfer.tensor));
    for (int i = 0; i < static_cast<int>(schedule.device.size()); ++i) {
      if (in(transfer.consumers, i)) listed.consumers.emplace_back(at(i));
    }
    listed.from = DeviceId(at(transfer.from));
    listed.to = DeviceId(at(transfer.to));
    listed.start = transfer.start;
    listed.end = transfer.end;
  }
  return plan;
}

std::optional<Plan> changed(const Rules& rules, const Plan& plan, Random& random) {
  const auto below = [&](std::size_t n) {
    return static_cast<std::size_t>(random.below(static_cast<std::uint32_t>(n)));
  };
  if (!plan.start.empty()) {
    Schedule schedule = scheduleOf(rules, plan);
    const double length = *std::max_element(schedule.end.begin(), schedule.end.end());
    const double shift = length * std::vector<double>{-0.5, -0.25, -0.125, 0.125, 0.25}[below(5)];
    const std::size_t item = below(schedule.start.size() + schedule.transfers.size());
    const bool op = item < schedule.start.size();
    Transfer* transfer = op ? nullptr : &schedule.transfers[item - schedule.start.size()];
    double& start = op ? schedule.start[item] : transfer->start;
    double& end = op ? schedule.end[item] : transfer->end;
    if (start + shift < 0) return std::nullopt;
    start += shift;
    end += shift;
    return planOf(schedule);
  }
  std::vector<Stage> stages = stagesOf(rules, plan);
  std::vector<int> device = devicesOf(plan);
  const bool calls = *rules.modes().goal == Goal::kLatency;
  if (below(2) == 0 && stages.size() > 1) {
    std::swap(stages[below(stages.size())], stages[below(stages.size())]);
  } else if (below(2) == 0 && !stages.empty()) {
    // An op into another stage, with its unit or without.
    const std::size_t op = below(device.size());
    const Ops moved = below(2) == 0 ? rules.units[at(rules.unit_of[op])] : Ops{1} << op;
    Stage& to = stages[below(stages.size())];
    for (Stage& stage : stages) stage.ops &= ~moved;
    to.ops |= moved;
    for (std::size_t i = 0; i < device.size(); ++i)
      device[i] = in(moved, static_cast<int>(i)) ? to.devices.front() : device[i];
    std::erase_if(stages, [](const Stage& stage) { return stage.ops == 0; });
  } else if (!calls) {
    const int replica = static_cast<int>(below(at(rules.devices)));
    for (const Stage& stage : stages) {
      if (std::find(stage.devices.begin(), stage.devices.end(), replica) != stage.devices.end())
        return std::nullopt;
    }
    stages[below(stages.size())].devices.push_back(replica);
  }
  for (std::size_t i = 0; i < device.size(); ++i) {
    if (rules.seconds(static_cast<int>(i), device[i]) == kNone) return std::nullopt;
  }
  return planOf(rules, stages, device);
}

}  // namespace allot::tiny
