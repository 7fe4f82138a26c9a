// The invariant of recovery (engine_state.h), checked from the state alone.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "solve/online/engine_state.h"

namespace allot::online {

std::string EngineState::opText(std::uint32_t j, std::uint32_t op) const {
  const Job& job = world.jobs[j];
  return fmt::format("job \"{}\": op \"{}\"", job.report.name,
                     world.problem.graph.op_name[world.planOf(job).ops[op].index()]);
}

std::string EngineState::breach() const {
  for (const Activity& run : world.running) {
    const Job& job = world.jobs[run.job];
    if (!world.devices[run.to.index()].up || job.runs[run.item].state != RunState::kRunning ||
        job.runs[run.item].device != run.to)
      return fmt::format("{} runs on {} unknown to it", opText(run.job, run.item), deviceName(run.to));
  }
  for (const std::uint32_t j : world.open_jobs) {
    if (std::string wrong = brokenJob(j); !wrong.empty()) return wrong;
    if (world.jobs[j].report.left) continue;
    if (std::string wrong = brokenCopies(j); !wrong.empty()) return wrong;
  }
  if (!planned_now) return "";
  if (std::string wrong = brokenPlan(); !wrong.empty()) return wrong;
  return brokenRoom();
}

std::string EngineState::brokenJob(std::uint32_t j) const {
  const Job& job = world.jobs[j];
  std::size_t waiting = 0, running = 0;
  for (std::uint32_t i = 0; i < job.runs.size(); ++i) {
    waiting += job.runs[i].state == RunState::kWaiting;
    running += job.runs[i].state == RunState::kRunning;
  }
  const auto known = std::count_if(world.running.begin(), world.running.end(),
                                   [&](const Activity& run) { return run.job == j; });
  if (static_cast<std::size_t>(known) != running || waiting != job.waiting ||
      waiting + running != job.report.open_ops || job.report.open_ops == 0)
    return fmt::format("job \"{}\": counts {} ops that have not ended; {} wait, {} of {} run",
                       job.report.name, job.report.open_ops, waiting, known, running);
  return "";
}

std::string EngineState::brokenCopies(std::uint32_t j) const {
  const Job& job = world.jobs[j];
  const ModelPlan& model = world.planOf(job);
  const std::size_t devices = world.devices.size();
  for (std::uint32_t t = 0; t < model.tensors.size(); ++t) {
    const double* there = &job.there[t * devices];
    const std::string whose = opText(j, model.producer[t]);
    const DeviceId source = job.source[t];
    if (source.valid() && !(there[source.index()] <= world.now))
      return fmt::format("{}: its output is to be sent from {}, which has none", whose, deviceName(source));
    for (std::size_t d = 0; d < devices && !world.problem.isOrder(model.tensors[t]); ++d) {
      if (there[d] == kNever) continue;
      if (!world.devices[d].up)
        return fmt::format("{}: its output is on {}, which is down", whose, deviceName(DeviceId(d)));
      if (!source.valid())
        return fmt::format("{}: its output is on {}, but not to be sent", whose, deviceName(DeviceId(d)));
      const auto comes = [&](const Activity& send) {
        return send.job == j && send.item == t && send.to.index() == d && send.end == there[d] &&
               there[send.from.index()] <= world.now;
      };
      if (there[d] > world.now && std::none_of(world.sending.begin(), world.sending.end(), comes))
        return fmt::format("{}: its output never comes to {}", whose, deviceName(DeviceId(d)));
    }
    if (source.valid() || job.runs[model.producer[t]].state != RunState::kDone) continue;
    for (const std::uint32_t consumer : model.consumers[t]) {
      if (job.runs[consumer].state == RunState::kWaiting)
        return fmt::format("{} waits for an output that no device holds and nothing makes",
                           opText(j, consumer));
    }
  }
  return "";
}

std::string EngineState::brokenPlan() const {
  const bool reported = world.options.ends_reported;
  // What is late, where ends are reported, is seen to by the next plan; so is what ran late before it.
  if (reported && (refused || world.now > planned_at)) return "";
  if (refused) return "what was planned could not start";
  const std::size_t devices = world.devices.size();
  std::map<std::uint32_t, std::vector<double>> copies;  // by job, as they will be
  std::map<std::uint32_t, std::size_t> ahead;           // ops, by job
  bool more = !world.running.empty() || next_activity < activities.size();
  for (const std::uint32_t j : world.open_jobs) {
    const Job& job = world.jobs[j];
    if (job.planned && job.waiting > 0) {
      ahead[j] = 0;
      copies[j] = job.there;
    } else if (job.waiting > 0 && !more) {
      const bool all_up = std::all_of(world.devices.begin(), world.devices.end(),
                                      [](const DeviceState& device) { return device.up; });
      if (all_up || !std::binary_search(last_held.begin(), last_held.end(), j))
        return fmt::format("job \"{}\": {}, and nothing will change that", job.report.name, waitsFor(j));
    }
  }
  const auto make = [&](std::uint32_t j, std::uint32_t op, DeviceId device, double time) {
    const ModelPlan& model = world.planOf(world.jobs[j]);
    for (const std::uint32_t t : model.outputs[op]) {
      const bool anywhere = world.problem.isOrder(model.tensors[t]);
      for (std::size_t d = 0; d < devices; ++d) {
        if (anywhere || d == device.index())
          copies[j][t * devices + d] = std::min(copies[j][t * devices + d], time);
      }
    }
  };
  for (const Activity& run : world.running) {
    if (ahead.contains(run.job)) make(run.job, run.item, run.to, std::max(run.end, world.now));
  }
  for (std::size_t k = next_activity; k < activities.size(); ++k) {
    const Activity& next = activities[k];
    const Job& job = world.jobs[next.job];
    if (job.report.left || !job.open()) continue;
    if (!ahead.contains(next.job)) return fmt::format("job \"{}\" is in the plan", job.report.name);
    const ModelPlan& model = world.planOf(job);
    std::vector<double>& there = copies[next.job];
    if (!world.devices[next.to.index()].up) return fmt::format("{} is down", deviceName(next.to));
    if (next.send) {
      if (!(there[next.item * devices + next.from.index()] <= next.start))
        return fmt::format("{}: its output is to be sent from {}, which has none by then",
                           opText(next.job, model.producer[next.item]), deviceName(next.from));
      double& copy = there[next.item * devices + next.to.index()];
      copy = std::min(copy, next.end);
      continue;
    }
    if (job.runs[next.item].state != RunState::kWaiting)
      return fmt::format("{} is planned, but does not wait", opText(next.job, next.item));
    for (const std::uint32_t t : model.inputs[next.item]) {
      if (!(there[t * devices + next.to.index()] <= next.start))
        return fmt::format("{} is planned on {}, where the output of op \"{}\" will not be",
                           opText(next.job, next.item), deviceName(next.to),
                           world.problem.graph.op_name[model.ops[model.producer[t]].index()]);
    }
    ++ahead[next.job];
    make(next.job, next.item, next.to, next.end);
  }
  for (const auto& [j, ops] : ahead) {
    if (ops != world.jobs[j].waiting)
      return fmt::format("job \"{}\": {} of {} ops that wait are planned; {}", world.jobs[j].report.name, ops,
                         world.jobs[j].waiting, waitsFor(j));
  }
  return "";
}

std::string EngineState::brokenRoom() const {
  std::map<std::pair<std::size_t, std::uint32_t>, std::vector<OpId>> ops;  // by device and job
  const auto put = [&](const Activity& activity) {
    const Job& job = world.jobs[activity.job];
    if (!activity.send && job.open())
      ops[{activity.to.index(), activity.job}].push_back(world.planOf(job).ops[activity.item]);
  };
  for (const Activity& run : world.running) put(run);
  for (std::size_t k = next_activity; k < activities.size(); ++k) put(activities[k]);
  std::vector<double> bytes(world.devices.size(), 0);
  for (const auto& [where, list] : ops) bytes[where.first] += world.problem.residentBytes(list);
  for (std::size_t d = 0; d < bytes.size(); ++d) {
    // Sums over jobs may round.
    if (bytes[d] > world.problem.memoryLimit(DeviceId(d)) * (1 + 1e-12))
      return fmt::format("{} is to hold more than it can", deviceName(DeviceId(d)));
  }
  return "";
}

// Producers come before consumers, so what the first op that waits lacks is not in the making.
std::string EngineState::waitsFor(std::uint32_t j) const {
  const Job& job = world.jobs[j];
  if (job.waiting == 0 || job.report.left) return "";
  for (const Activity& run : world.running) {
    if (run.job == j) return "";
  }
  for (std::size_t k = next_activity; k < activities.size(); ++k) {
    if (activities[k].job == j) return "";
  }
  const ModelPlan& model = world.planOf(job);
  std::uint32_t op = 0;
  while (job.runs[op].state != RunState::kWaiting) ++op;
  const OpId id = model.ops[op];
  const std::string& op_name = world.problem.graph.op_name[id.index()];
  if (std::binary_search(last_held.begin(), last_held.end(), j)) {
    for (std::size_t i = op; i < model.ops.size(); ++i) {
      bool up = job.runs[i].state != RunState::kWaiting;
      for (std::size_t d = 0; d < world.devices.size(); ++d)
        up = up || world.mayRun(model.ops[i], DeviceId(d));
      if (!up)
        return fmt::format("op \"{}\" waits for a device: all that it may use are down",
                           world.problem.graph.op_name[model.ops[i].index()]);
    }
    return fmt::format("op \"{}\" waits for room on a device for the rest of the job", op_name);
  }
  const DeviceId device = job.runs[op].device;
  for (const std::uint32_t t : model.inputs[op]) {
    const std::string& from = world.problem.graph.op_name[model.ops[model.producer[t]].index()];
    if (!job.source[t].valid())
      return fmt::format("op \"{}\" waits for the output of op \"{}\", which no device holds", op_name, from);
    if (device.valid() && job.there[t * world.devices.size() + device.index()] == kNever)
      return fmt::format("op \"{}\" waits for the output of op \"{}\" to be sent from {} to {}", op_name,
                         from, deviceName(job.source[t]), deviceName(device));
  }
  return fmt::format("op \"{}\" waits for a plan", op_name);
}

}  // namespace allot::online
