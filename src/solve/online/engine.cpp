// The clock of the online engine: what starts and ends as time passes, and re-plans.
#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <ctime>

#include "base/units.h"
#include "solve/online/engine_state.h"

namespace allot {
namespace online {

double EngineState::cpuSeconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

void EngineState::note(DecisionKind kind, std::uint32_t job, OpId op, DeviceId device, std::string why) {
  decisions.push_back({kind, world.now, JobId(job), op, {}, {}, device, 0, 0, std::move(why)});
}

// The device is free, every input is there, and the op has not run.
bool EngineState::canStart(const Activity& activity) const {
  const Job& job = world.jobs[activity.job];
  if (job.runs.empty() || job.runs[activity.item].state != RunState::kWaiting) return false;
  const DeviceState& device = world.devices[activity.to.index()];
  if (!device.up) return false;
  const ModelPlan& model = world.planOf(job);
  // Late on the clock a short op may take no time.
  if (activity.end > activity.start) {
    for (const Activity& run : world.running) {
      if (run.to == activity.to && run.end > run.start) return false;
    }
  }
  for (const std::uint32_t t : model.inputs[activity.item]) {
    if (!(job.there[t * world.devices.size() + activity.to.index()] <= activity.start)) return false;
  }
  return true;
}

void EngineState::start(const Activity& activity) {
  if (!canStart(activity)) {
    refused = true;  // where ends are reported, what it waits for is late; the next plan sees to it
    return;
  }
  keepJob(activity.job);
  Job& job = world.jobs[activity.job];
  const ModelPlan& model = world.planOf(job);
  const OpId op = model.ops[activity.item];
  Run& run = job.runs[activity.item];
  run = {RunState::kRunning, activity.to, activity.start, activity.end};
  const std::uint32_t unit = model.unit[activity.item];
  if (model.shared[unit]) job.home[unit] = activity.to;
  job.work -= world.leastSeconds(op);
  --job.waiting;
  if (activity.end > activity.start)
    world.devices[activity.to.index()].busy_until = activity.end + world.launch(activity.to);
  world.running.push_back(activity);
  decisions.push_back({DecisionKind::kStart,
                       activity.start,
                       JobId(activity.job),
                       op,
                       {},
                       {},
                       activity.to,
                       activity.start,
                       activity.end,
                       ""});
}

void EngineState::startSend(const Activity& activity) {
  Job& job = world.jobs[activity.job];
  if (job.runs.empty() || job.report.left) return;
  const double* copies = &job.there[activity.item * world.devices.size()];
  const bool can = world.devices[activity.to.index()].up && copies[activity.from.index()] <= activity.start &&
                   copies[activity.to.index()] == kNever;
  if (!can) {
    refused = true;
    return;
  }
  const ModelPlan& model = world.planOf(job);
  keepJob(activity.job);
  job.there[activity.item * world.devices.size() + activity.to.index()] = activity.end;
  if (activity.end > activity.start) {
    double& send = world.devices[activity.from.index()].sending_until;
    double& receive = world.devices[activity.to.index()].receiving_until;
    send = std::max(send, activity.end);
    receive = std::max(receive, activity.end);
    std::erase_if(world.sending, [&](const Activity& old) { return old.end <= activity.start; });
    world.sending.push_back(activity);
  }
  const bool per_edge = world.problem.modes.send == Send::kPerEdge;
  decisions.push_back({DecisionKind::kSend, activity.start, JobId(activity.job),
                       model.ops[model.producer[activity.item]], model.tensors[activity.item], activity.from,
                       activity.to, activity.start, activity.end, "",
                       per_edge ? model.ops[model.consumers[activity.item].front()] : OpId()});
}

void EngineState::end(std::size_t index, double time) {
  const Activity run = world.running[index];
  keepJob(run.job);
  world.running.erase(world.running.begin() + static_cast<std::ptrdiff_t>(index));
  Job& job = world.jobs[run.job];
  const ModelPlan& model = world.planOf(job);
  Run& state = job.runs[run.item];
  state.state = RunState::kDone;
  state.end = time;
  if (run.end > run.start) world.devices[run.to.index()].busy_until = time + world.launch(run.to);
  for (const std::uint32_t t : model.outputs[run.item]) {
    double* there = &job.there[t * world.devices.size()];
    // An op that runs again has copies elsewhere of what was not lost.
    there[run.to.index()] = std::min(there[run.to.index()], time);
    if (!job.source[t].valid()) job.source[t] = run.to;
    // An order needs no sending.
    if (world.problem.isOrder(model.tensors[t])) std::fill(there, there + world.devices.size(), time);
  }
  decisions.push_back(
      {DecisionKind::kEnd, time, JobId(run.job), model.ops[run.item], {}, {}, run.to, state.start, time, ""});
  if (--job.report.open_ops == 0) close(run.job, time);
}

void EngineState::close(std::uint32_t index, double time) {
  Job& job = world.jobs[index];
  std::erase(world.open_jobs, index);
  if (!job.report.left) {
    job.report.completion = time;
    value += job.report.weight * time;
    decisions.push_back(
        {DecisionKind::kFinish, time, JobId(index), {}, {}, {}, {}, job.report.arrival, time, ""});
  }
  job.planned = false;
  std::vector<Run>().swap(job.runs);
  std::vector<double>().swap(job.there);
  std::vector<DeviceId>().swap(job.source);
  std::vector<DeviceId>().swap(job.home);
  closed = true;
}

void EngineState::advance(double time) {
  const bool reported = world.options.ends_reported;
  for (;;) {
    const double next_start = next_activity < activities.size() ? activities[next_activity].start : kNever;
    std::size_t first = world.running.size();
    for (std::size_t k = 0; !reported && k < world.running.size(); ++k) {
      if (first == world.running.size() || world.running[k].end < world.running[first].end) first = k;
    }
    const double next_end = first < world.running.size() ? world.running[first].end : kNever;
    if (next_end <= next_start && next_end <= time && next_end < kNever) {
      world.now = std::max(world.now, next_end);
      closed = false;
      const std::uint32_t j = world.running[first].job;
      end(first, next_end);
      // A job outside the plan may have waited for the room of its own op.
      if (closed ? wantsMore() : !world.jobs[j].planned && world.jobs[j].waiting > 0) replan();
      continue;
    }
    if (!(next_start < time)) break;
    const Activity activity = activities[next_activity++];
    world.now = std::max(world.now, activity.start);
    if (activity.send)
      startSend(activity);
    else
      start(activity);
  }
  if (time < kNever) world.now = std::max(world.now, time);
}

Before EngineState::begin() const {
  return {world.now,
          value,
          world.devices,
          world.open_jobs,
          world.running,
          world.sending,
          {},
          next_activity,
          decisions.size(),
          replans.size(),
          closed,
          planned_now,
          refused,
          {}};
}

void EngineState::keepJob(std::uint32_t job) {
  if (before_ != nullptr) before_->jobs.try_emplace(job, world.jobs[job]);
}

void EngineState::keepPlan() {
  if (before_ == nullptr || before_->planned) return;
  before_->planned = {activities, order, last_held, unplanned, priced, holding, planned_at};
  for (const std::uint32_t job : world.open_jobs) keepJob(job);
}

void EngineState::takeBack(Before before) {
  world.now = before.now;
  value = before.value;
  world.devices = std::move(before.devices);
  world.open_jobs = std::move(before.open_jobs);
  world.running = std::move(before.running);
  world.sending = std::move(before.sending);
  for (auto& [number, job] : before.jobs) world.jobs[number] = std::move(job);
  next_activity = before.next_activity;
  decisions.erase(decisions.begin() + static_cast<std::ptrdiff_t>(before.decisions), decisions.end());
  replans.erase(replans.begin() + static_cast<std::ptrdiff_t>(before.replans), replans.end());
  closed = before.closed;
  planned_now = before.planned_now;
  refused = before.refused;
  if (!before.planned) return;
  activities = std::move(before.planned->activities);
  order = std::move(before.planned->order);
  last_held = std::move(before.planned->last_held);
  unplanned = before.planned->unplanned;
  priced = before.planned->priced;
  holding = before.planned->holding;
  planned_at = before.planned->planned_at;
}

// Jobs wait outside the plan, and it has room for them.
bool EngineState::wantsMore() const {
  if (unplanned == 0) return false;
  return holding || 2 * (activities.size() - next_activity) <= planner.mostOps();
}

ReplanReport EngineState::replan() {
  const double begin = cpuSeconds();
  ReplanReport report;
  keepPlan();
  FuturePlan plan = planner.plan(order, report.kept_value);
  priced += plan.priced;
  for (const std::uint32_t j : order) world.jobs[j].planned = false;
  unplanned = 0;
  for (const std::uint32_t j : world.open_jobs) {
    if (world.jobs[j].waiting > 0) ++unplanned;
  }
  order = std::move(plan.order);
  std::vector<std::uint32_t> held = std::move(plan.held);
  std::sort(held.begin(), held.end());
  holding = !held.empty();
  for (const std::uint32_t j : order) {
    if (std::binary_search(held.begin(), held.end(), j)) {
      if (!std::binary_search(last_held.begin(), last_held.end(), j))
        note(DecisionKind::kHold, j, {}, {}, "no device that is up has room for an op of it");
      continue;
    }
    world.jobs[j].planned = true;
    --unplanned;
  }
  last_held = std::move(held);
  for (const Move& move : plan.moves) {
    const OpId op = world.planOf(world.jobs[move.job]).ops[move.op];
    ++(move.forced ? report.forced_moves : report.moves);
    const std::string& from = world.problem.cluster.devices[move.from.index()].name;
    note(DecisionKind::kMove, move.job, op, move.to,
         !world.devices[move.from.index()].up ? fmt::format("{} is down", from)
         : move.forced   ? fmt::format("{} has no room, or its group went elsewhere", from)
         : move.gain > 0 ? fmt::format("ends {} earlier than on {}", secondsText(move.gain), from)
         : plan.priced   ? fmt::format("leaves {} to jobs that gain more there", from)
                         : "the job as a whole ends earlier");
    decisions.back().from = move.from;
  }
  activities = std::move(plan.activities);
  next_activity = 0;
  for (const Activity& activity : activities) {
    if (activity.send) continue;
    Run& run = world.jobs[activity.job].runs[activity.item];
    run.device = activity.to;
    run.start = activity.start;
    run.end = activity.end;
    ++report.planned_ops;
  }
  report.moved_bytes = plan.moved_bytes;
  report.value = plan.value;
  planned_now = true;
  refused = false;
  planned_at = world.now;
  report.seconds = cpuSeconds() - begin;
  replans.push_back(report);
  assert(breach().empty());
  return report;
}

}  // namespace online

OnlineEngine::OnlineEngine(std::unique_ptr<State> state) : state_(std::move(state)) {}
OnlineEngine::OnlineEngine(OnlineEngine&&) noexcept = default;
OnlineEngine& OnlineEngine::operator=(OnlineEngine&&) noexcept = default;
OnlineEngine::~OnlineEngine() = default;

Result<OnlineEngine> OnlineEngine::create(const Problem& problem, const OnlineOptions& options) {
  const auto refuse = [](std::string where, std::string message, std::string remedy) {
    return badInput(std::move(where), std::move(message), std::move(remedy));
  };
  if (!problem.modes.goal || problem.goal() != Goal::kCompletion)
    return refuse("goal", "online planning is for the goal completion", "use --goal completion");
  if (problem.modes.memory != MemoryModel::kStatic)
    return refuse("memory", "online planning counts resident bytes only", "use --memory static");
  if (!(options.move_cost >= 0 && options.move_cost <= kMaxSeconds))
    return refuse("move_cost", "out of range", "use 0 or more seconds per byte");
  ALLOT_TRY(online::ModelPlans plans, online::modelPlansOf(problem));
  auto state = std::make_unique<State>(problem, options, std::move(plans));
  return OnlineEngine(std::move(state));
}

ReplanReport OnlineEngine::replan() {
  return state_->replan();
}
void OnlineEngine::advance(double time) {
  if (time > state_->world.now && std::isfinite(time)) state_->advance(time);
}
void OnlineEngine::finish() {
  if (!state_->world.options.ends_reported) state_->advance(online::kNever);
}
Result<void> OnlineEngine::verify() const {
  std::string breach = state_->breach();
  if (breach.empty()) return {};
  return fail({ErrorCode::kInternal, "", "", std::move(breach), "please report this with the events"});
}
std::string OnlineEngine::waitsFor(JobId job) const {
  return state_->waitsFor(static_cast<std::uint32_t>(job.index()));
}
double OnlineEngine::now() const {
  return state_->world.now;
}
std::size_t OnlineEngine::jobCount() const {
  return state_->world.jobs.size();
}
JobReport OnlineEngine::job(JobId job) const {
  return state_->world.jobs[job.index()].report;
}
double OnlineEngine::value() const {
  return state_->value;
}
std::vector<Decision> OnlineEngine::takeDecisions() {
  return std::exchange(state_->decisions, {});
}
std::span<const ReplanReport> OnlineEngine::replans() const {
  return state_->replans;
}

Decision OnlineEngine::planned(JobId id, OpId op) const {
  const online::Job& job = state_->world.jobs[id.index()];
  Decision decision{DecisionKind::kStart, state_->world.now, id, op, {}, {}, {}, 0, 0, ""};
  if (job.runs.empty()) return decision;
  const online::Run& run = job.runs[state_->world.plans.place[op.index()]];
  decision.device = run.device;
  decision.start = run.start;
  decision.end = run.end;
  return decision;
}

}  // namespace allot
