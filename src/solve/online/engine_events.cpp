// What events change, and which of them are refused.
#include <fmt/format.h>

#include <algorithm>
#include <cassert>
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
  const ModelPlan& model = world.plans.models[event.model.index()];
  if (model.units == 0 || !model.packing.empty()) return {};
  const Problem& problem = world.problem;
  std::vector<OpId> unit;
  for (const std::uint32_t i : model.unit_ops[model.unplaced]) unit.push_back(model.ops[i]);
  const double bytes = problem.residentBytes(unit);
  bool alone = false;
  for (std::size_t d = 0; d < problem.deviceCount(); ++d) {
    alone = alone || (problem.allowed(problem.unit(unit.front()), DeviceId(d)) &&
                      bytes <= problem.memoryLimit(DeviceId(d)));
  }
  return badInput(fmt::format("op \"{}\"", problem.graph.op_name[unit.front().index()]),
                  alone ? fmt::format("model \"{}\" finds no room even on empty devices",
                                      problem.graph.model_name[event.model.index()])
                        : fmt::format("needs {}, more than any device it may use has", bytesText(bytes)),
                  "give the devices more memory, or the model less");
}

Result<void> EngineState::checkEnd(const OnlineEvent& event) const {
  // What runs of a job that left ends too.
  const auto found = job_of.find(event.job);
  if (found == job_of.end() || !world.jobs[found->second].open() || !world.jobs[found->second].report.left)
    ALLOT_CHECK(openJob(event));
  const Job& job = world.jobs[job_of.at(event.job)];
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
  planned_now = false;
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
  assert(breach().empty());
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
  job.home.resize(model.units);
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
