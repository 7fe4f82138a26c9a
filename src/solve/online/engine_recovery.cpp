// What a failed device takes with it, and what must be done again for that.
#include <fmt/format.h>

#include <algorithm>

#include "solve/online/engine_state.h"

namespace allot::online {

void EngineState::repeat(std::uint32_t index, std::uint32_t op, std::string why) {
  Job& job = world.jobs[index];
  const ModelPlan& model = world.planOf(job);
  Run& run = job.runs[op];
  const OpId id = model.ops[op];
  if (run.state == RunState::kDone) ++job.report.open_ops;
  note(DecisionKind::kRepeat, index, id, run.device, std::move(why));
  run.state = RunState::kWaiting;
  ++job.waiting;
  job.work += world.leastSeconds(id);
  // What must come behind it waits for it again.
  for (const std::uint32_t t : model.outputs[op]) {
    if (!world.problem.isOrder(model.tensors[t])) continue;
    double* there = &job.there[t * world.devices.size()];
    std::fill(there, there + world.devices.size(), kNever);
    job.source[t] = DeviceId();
  }
}

// Sends from and to the device break off, which frees the ports at their other ends.
void EngineState::breakSends(DeviceId device) {
  std::erase_if(world.sending, [&](const Activity& send) {
    if (send.end <= world.now) return true;
    if (send.from != device && send.to != device) return false;
    Job& job = world.jobs[send.job];
    if (job.runs.empty()) return true;
    // An op that ran again may have left a copy there meanwhile.
    double& there = job.there[send.item * world.devices.size() + send.to.index()];
    if (there == send.end) there = kNever;
    return true;
  });
  for (DeviceState& other : world.devices) other.sending_until = other.receiving_until = 0;
  for (const Activity& send : world.sending) {
    double& out = world.devices[send.from.index()].sending_until;
    double& in = world.devices[send.to.index()].receiving_until;
    out = std::max(out, send.end);
    in = std::max(in, send.end);
  }
}

// Takes the device's copies away. A tensor is sent on from its oldest copy that is left; where sends are per
// edge and an edge has no copy left, from what was sent for another consumer of the tensor: the bytes are the
// same.
void EngineState::loseCopies(std::uint32_t index, DeviceId device) {
  Job& job = world.jobs[index];
  const ModelPlan& model = world.planOf(job);
  const std::size_t devices = world.devices.size();
  for (DeviceId& home : job.home) {
    if (home == device) home = DeviceId();
  }
  for (std::size_t t = 0; t < model.tensors.size(); ++t) {
    if (world.problem.isOrder(model.tensors[t])) continue;
    double* there = &job.there[t * devices];
    there[device.index()] = kNever;
    if (job.source[t] != device) continue;
    double* const oldest = std::min_element(there, there + devices);
    job.source[t] = *oldest < kNever ? DeviceId(static_cast<std::size_t>(oldest - there)) : DeviceId();
  }
  for (std::size_t first = 0, last = 0; first < model.tensors.size(); first = last) {
    std::size_t kept = model.tensors.size();  // the edge of this tensor with the oldest copy
    const auto age = [&](std::size_t t) { return job.there[t * devices + job.source[t].index()]; };
    for (last = first; last < model.tensors.size() && model.tensors[last] == model.tensors[first]; ++last) {
      if (job.source[last].valid() && (kept == model.tensors.size() || age(last) < age(kept))) kept = last;
    }
    for (std::size_t t = first; t < last && kept < model.tensors.size(); ++t) {
      if (job.source[t].valid()) continue;
      job.source[t] = job.source[kept];
      job.there[t * devices + job.source[t].index()] = age(kept);
    }
  }
}

// Ops whose results no device holds, though ops that have not started need them, run again; and so on for
// what these need.
void EngineState::repeatLost(std::uint32_t index) {
  Job& job = world.jobs[index];
  const ModelPlan& model = world.planOf(job);
  for (std::size_t i = model.ops.size(); i-- > 0;) {
    if (job.runs[i].state != RunState::kDone) continue;
    bool needed = false;
    for (const std::uint32_t t : model.outputs[i]) {
      if (job.source[t].valid()) continue;
      for (const std::uint32_t consumer : model.consumers[t])
        needed = needed || job.runs[consumer].state == RunState::kWaiting;
    }
    if (needed) repeat(index, static_cast<std::uint32_t>(i), "no device that is up holds its result");
  }
}

void EngineState::fail(DeviceId device) {
  world.devices[device.index()].up = false;
  breakSends(device);
  std::vector<std::uint32_t> dropped;
  for (std::size_t k = world.running.size(); k-- > 0;) {
    const Activity run = world.running[k];
    if (run.to != device) continue;
    world.running.erase(world.running.begin() + static_cast<std::ptrdiff_t>(k));
    Job& job = world.jobs[run.job];
    if (job.report.left) {
      job.runs[run.item].state = RunState::kDropped;
      if (--job.report.open_ops == 0) dropped.push_back(run.job);
    } else {
      repeat(run.job, run.item, fmt::format("{} failed while it ran", deviceName(device)));
    }
  }
  for (const std::uint32_t job : dropped) close(job, world.now);
  for (const std::uint32_t job : world.open_jobs) {
    if (world.jobs[job].report.left) continue;
    loseCopies(job, device);
    repeatLost(job);
  }
}

}  // namespace allot::online
