// What events change, and which of them are refused.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/units.h"
#include "solve/online/engine_state.h"

namespace allot {
namespace online {

Result<std::uint32_t> EngineState::openJob(const OnlineEvent& event) const {
  const auto found = job_of.find(event.job);
  if (found == job_of.end())
    return badInput("job", fmt::format("unknown job \"{}\"", event.job), "name a job that has arrived");
  const Job& job = world.jobs[found->second];
  if (job.report.left)
    return badInput("job", fmt::format("job \"{}\" has left", event.job), "take the event out");
  if (!job.open())
    return badInput("job",
                    fmt::format("job \"{}\" ended at {}", event.job, secondsText(job.report.completion)),
                    "take the event out");
  return found->second;
}

// Every unit must fit some device, and all of them together the devices when they are empty.
Result<void> EngineState::checkArrival(const OnlineEvent& event) const {
  if (!event.model.valid() || event.model.index() >= world.plans.models.size())
    return badInput("model", "unknown model", "use a model of the problem");
  if (event.job.empty()) return badInput("job", "the job has no name", "give it one");
  if (const auto found = job_of.find(event.job); found != job_of.end() && world.jobs[found->second].open())
    return badInput("job", fmt::format("job \"{}\" is still here", event.job), "give each job its own name");
  if (!(event.weight <= 1e12)) return badInput("weight", "out of range", "use 0 to 1e12");
  const Problem& problem = world.problem;
  const ModelPlan& model = world.plans.models[event.model.index()];
  std::vector<double> bytes(model.units, 0);
  std::vector<OpId> op_of(model.units);
  for (std::size_t i = 0; i < model.ops.size(); ++i) {
    bytes[model.unit[i]] += problem.residentBytes(model.ops[i]);
    op_of[model.unit[i]] = model.ops[i];
  }
  std::vector<std::size_t> largest_first(model.units);
  for (std::size_t u = 0; u < model.units; ++u) largest_first[u] = u;
  std::stable_sort(largest_first.begin(), largest_first.end(),
                   [&](std::size_t a, std::size_t b) { return bytes[a] > bytes[b]; });
  std::vector<double> room;
  for (std::size_t d = 0; d < problem.deviceCount(); ++d) room.push_back(problem.memoryLimit(DeviceId(d)));
  for (const std::size_t u : largest_first) {
    std::size_t best = room.size();
    bool alone = false;
    for (std::size_t d = 0; d < room.size(); ++d) {
      if (!problem.allowed(problem.unit(op_of[u]), DeviceId(d))) continue;
      alone = alone || bytes[u] <= problem.memoryLimit(DeviceId(d));
      if (bytes[u] <= room[d] && (best == room.size() || room[d] > room[best])) best = d;
    }
    if (best < room.size()) {
      room[best] -= bytes[u];
      continue;
    }
    const std::string& op = problem.graph.op_name[op_of[u].index()];
    return badInput(fmt::format("op \"{}\"", op),
                    alone ? fmt::format("model \"{}\" finds no room even on empty devices",
                                        problem.graph.model_name[event.model.index()])
                          : fmt::format("needs {}, more than any device it may use has", bytesText(bytes[u])),
                    "give the devices more memory, or the model less");
  }
  return {};
}

Result<void> EngineState::checkEnd(const OnlineEvent& event) const {
  ALLOT_TRY(const std::uint32_t j, openJob(event));
  const Job& job = world.jobs[j];
  if (!event.op.valid() || event.op.index() >= world.problem.opCount() ||
      world.problem.graph.op_model[event.op.index()] != job.report.model)
    return badInput("op", fmt::format("job \"{}\" has no such op", event.job), "name an op of its model");
  const Run& run = job.runs[world.plans.place[event.op.index()]];
  const std::string& op = world.problem.graph.op_name[event.op.index()];
  const auto refuse = [&](std::string_view what) {
    return badInput("op", fmt::format("op \"{}\" of job \"{}\" {}", op, event.job, what),
                    "report the end of what runs, once");
  };
  if (run.state == RunState::kDone) return refuse("has ended before");
  if (run.state != RunState::kRunning) return refuse("has not started");
  return {};
}

Result<void> EngineState::checkTime(double time) const {
  if (!(time >= 0 && time <= kMaxSeconds)) return badInput("time", "not a time", "use seconds from 0 on");
  if (time < world.now)
    return badInput("time", fmt::format("{} is before {}, where the last event was", time, world.now),
                    "sort the events by time");
  return {};
}

// Of an event that happens now.
Result<void> EngineState::check(const OnlineEvent& event) const {
  const auto device_known = event.device.valid() && event.device.index() < world.devices.size();
  switch (event.kind) {
    case EventKind::kArrive:
      return checkArrival(event);
    case EventKind::kLeave: {
      ALLOT_TRY([[maybe_unused]] const std::uint32_t job, openJob(event));
      return {};
    }
    case EventKind::kFail:
    case EventKind::kReturn:
    case EventKind::kSlow: {
      if (!device_known) return badInput("device", "unknown device", "use a device of the problem");
      const std::string& device = world.problem.cluster.devices[event.device.index()].name;
      const bool up = world.devices[event.device.index()].up;
      if (event.kind == EventKind::kFail && !up)
        return badInput("device", fmt::format("\"{}\" is down already", device), "let it return first");
      if (event.kind == EventKind::kReturn && up)
        return badInput("device", fmt::format("\"{}\" is up", device), "let it fail first");
      if (event.kind == EventKind::kSlow && !(event.factor >= 1e-6 && event.factor <= 1e6))
        return badInput("factor", fmt::format("{} is out of range", event.factor), "use 0.000001 to 1000000");
      return {};
    }
    case EventKind::kTime: {
      const std::size_t classes = world.problem.cluster.classCount();
      if (!event.op.valid() || event.op.index() >= world.problem.opCount())
        return badInput("op", "unknown op", "use an op of the problem");
      if (!event.cls.valid() || event.cls.index() >= classes)
        return badInput("class", "unknown class", "use a class of the problem");
      if (!(event.seconds >= 0 && event.seconds <= kMaxSeconds))
        return badInput("seconds", "not a time of 0 or more", "give the seconds the op takes");
      if (world.op_seconds[event.op.index() * classes + event.cls.index()] == kCannotRun)
        return badInput("class", "the op cannot run there", "use a class that the problem gives a time for");
      return {};
    }
    case EventKind::kEnd:
      return checkEnd(event);
  }
  return badInput("event", "unknown event", "see docs/formats/events.md");
}

// Brings the world to the time of an event that makes sense then.
Result<void> EngineState::passTimeFor(const OnlineEvent& event) {
  ALLOT_CHECK(checkTime(event.time));
  if (!job_of.contains(event.job)) {
    // No job that is here takes part, so that time makes no difference.
    ALLOT_CHECK(check(event));
    advance(event.time);
    return {};
  }
  Before before = begin();
  before_ = &before;
  advance(event.time);
  before_ = nullptr;
  auto sensible = check(event);
  if (!sensible) takeBack(std::move(before));
  return sensible;
}

Result<void> EngineState::apply(const OnlineEvent& event) {
  ALLOT_CHECK(passTimeFor(event));
  switch (event.kind) {
    case EventKind::kArrive:
      arrive(event);
      break;
    case EventKind::kLeave:
      leave(job_of.at(event.job));
      break;
    case EventKind::kFail:
      fail(event.device);
      break;
    case EventKind::kReturn: {
      DeviceState& device = world.devices[event.device.index()];
      device.up = true;
      device.busy_until = device.sending_until = device.receiving_until = event.time;
      break;
    }
    case EventKind::kSlow:
      slow(event.device, event.factor);
      break;
    case EventKind::kTime:
      changeTime(event);
      break;
    case EventKind::kEnd: {
      const std::uint32_t j = job_of.at(event.job), op = world.plans.place[event.op.index()];
      const auto run =
          std::find_if(world.running.begin(), world.running.end(),
                       [&](const Activity& activity) { return activity.job == j && activity.item == op; });
      end(static_cast<std::size_t>(run - world.running.begin()), event.time);
      break;
    }
  }
  return {};
}

void EngineState::arrive(const OnlineEvent& event) {
  const auto index = static_cast<std::uint32_t>(world.jobs.size());
  Job& job = world.jobs.emplace_back();
  const ModelPlan& model = world.plans.models[event.model.index()];
  job.report.name = event.job;
  job.report.model = event.model;
  job.report.weight = event.weight >= 0 ? event.weight : world.problem.model_weight[event.model.index()];
  job.report.arrival = event.time;
  job.report.open_ops = job.waiting = static_cast<std::uint32_t>(model.ops.size());
  job.runs.resize(model.ops.size());
  job.there.assign(model.tensors.size() * world.devices.size(), kNever);
  job.source.resize(model.tensors.size());
  for (const OpId op : model.ops) job.work += world.leastSeconds(op);
  job_of[event.job] = index;
  world.open_jobs.push_back(index);
  if (model.ops.empty()) close(index, event.time);
}

void EngineState::leave(std::uint32_t index) {
  Job& job = world.jobs[index];
  job.report.left = true;
  note(DecisionKind::kDrop, index, {}, {}, fmt::format("{} ops had not started", job.waiting));
  for (Run& run : job.runs) {
    if (run.state != RunState::kWaiting) continue;
    run.state = RunState::kDropped;
    --job.report.open_ops;
  }
  job.waiting = 0;
  if (job.report.open_ops == 0) close(index, world.now);
}

void EngineState::repeat(std::uint32_t index, std::uint32_t op, std::string why) {
  Job& job = world.jobs[index];
  Run& run = job.runs[op];
  const OpId id = world.planOf(job).ops[op];
  if (run.state == RunState::kDone) ++job.report.open_ops;
  note(DecisionKind::kRepeat, index, id, run.device, std::move(why));
  run.state = RunState::kWaiting;
  ++job.waiting;
  job.work += world.leastSeconds(id);
}

// Ops whose results no device that is up holds, though ops that have not ended need them, run again; and so
// on for what these need.
void EngineState::repeatLost(std::uint32_t index, DeviceId device) {
  Job& job = world.jobs[index];
  if (job.report.open_ops == job.runs.size()) return;  // nothing has ended
  const ModelPlan& model = world.planOf(job);
  const std::size_t devices = world.devices.size();
  for (std::size_t t = 0; t < model.tensors.size(); ++t) {
    double* there = &job.there[t * devices];
    if (world.problem.isOrder(model.tensors[t])) continue;
    there[device.index()] = kNever;
    if (job.source[t] != device) continue;
    for (std::size_t d = 0; d < devices; ++d) {
      if (there[d] < kNever && (job.source[t] == device || there[d] < there[job.source[t].index()]))
        job.source[t] = DeviceId(d);
    }
  }
  for (std::size_t i = model.ops.size(); i-- > 0;) {
    if (job.runs[i].state != RunState::kDone) continue;
    bool needed = false;
    for (const std::uint32_t t : model.outputs[i]) {
      if (world.problem.isOrder(model.tensors[t])) continue;
      const double* there = &job.there[t * devices];
      if (std::any_of(there, there + devices, [](double time) { return time < kNever; })) continue;
      for (const std::uint32_t consumer : model.consumers[t])
        needed = needed || job.runs[consumer].state == RunState::kWaiting;
    }
    if (needed)
      repeat(index, static_cast<std::uint32_t>(i),
             fmt::format("its result was on {} only", world.problem.cluster.devices[device.index()].name));
  }
}

void EngineState::fail(DeviceId device) {
  DeviceState& state = world.devices[device.index()];
  const std::string& name = world.problem.cluster.devices[device.index()].name;
  state.up = false;
  const std::size_t devices = world.devices.size();
  // Sends from and to it break off, which frees the ports at their other ends.
  for (const Activity& send : world.sending) {
    if (send.end <= world.now || (send.from != device && send.to != device)) continue;
    Job& job = world.jobs[send.job];
    if (!job.runs.empty()) job.there[send.item * devices + send.to.index()] = kNever;
  }
  std::erase_if(world.sending, [&](const Activity& send) {
    return send.end <= world.now || send.from == device || send.to == device;
  });
  for (DeviceState& other : world.devices) other.sending_until = other.receiving_until = 0;
  for (const Activity& send : world.sending) {
    double& out = world.devices[send.from.index()].sending_until;
    double& in = world.devices[send.to.index()].receiving_until;
    out = std::max(out, send.end);
    in = std::max(in, send.end);
  }
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
      repeat(run.job, run.item, fmt::format("{} failed while it ran", name));
    }
  }
  for (const std::uint32_t job : dropped) close(job, world.now);
  for (const std::uint32_t job : world.open_jobs) {
    if (!world.jobs[job].report.left) repeatLost(job, device);
  }
}

void EngineState::slow(DeviceId device, double factor) {
  DeviceState& state = world.devices[device.index()];
  const double change = factor / state.factor;
  for (Activity& run : world.running) {
    if (run.to != device || run.end <= world.now) continue;
    run.end = world.now + (run.end - world.now) * change;
    world.jobs[run.job].runs[run.item].end = run.end;
    state.busy_until = run.end + world.launch(device);
  }
  state.factor = factor;
  for (const std::uint32_t j : world.open_jobs) {
    Job& job = world.jobs[j];
    job.work = 0;
    for (std::size_t i = 0; i < job.runs.size(); ++i) {
      if (job.runs[i].state == RunState::kWaiting) job.work += world.leastSeconds(world.planOf(job).ops[i]);
    }
  }
}

void EngineState::changeTime(const OnlineEvent& event) {
  const std::size_t classes = world.problem.cluster.classCount();
  const double before = world.leastSeconds(event.op);
  world.op_seconds[event.op.index() * classes + event.cls.index()] = event.seconds;
  const double change = world.leastSeconds(event.op) - before;
  const ModelId model = world.problem.graph.op_model[event.op.index()];
  const std::uint32_t op = world.plans.place[event.op.index()];
  updateRest(world.problem, world.op_seconds, world.plans.models[model.index()]);
  for (const std::uint32_t j : world.open_jobs) {
    Job& job = world.jobs[j];
    if (job.report.model == model && job.runs[op].state == RunState::kWaiting) job.work += change;
  }
}

}  // namespace online

Result<void> OnlineEngine::apply(const OnlineEvent& event) {
  return state_->apply(event);
}

}  // namespace allot
