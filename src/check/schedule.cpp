// Latency and completion by events: times of ops, exclusive devices, inputs that are there, completions.
#include "check/intervals.h"
#include "check/parts.h"

namespace allot {
namespace {

// False when a time is missing and nothing can be compared.
bool checkTimesGiven(const CheckContext& context) {
  const Plan& plan = context.plan;
  const std::size_t n = context.problem.opCount();
  if (plan.start.empty() && plan.end.empty()) {
    context.findings.add("the plan has no schedule");
    return false;
  }
  if (plan.start.size() != n || plan.end.size() != n) {
    context.findings.add("the schedule gives {} starts and {} ends for {} ops", plan.start.size(),
                         plan.end.size(), n);
    return false;
  }
  bool sound = true;
  for (std::size_t i = 0; i < n; ++i) {
    if (std::isfinite(plan.start[i]) && std::isfinite(plan.end[i])) continue;
    context.findings.add("op \"{}\" is not in the schedule", context.opName(OpId(i)));
    sound = false;
  }
  return sound;
}

void checkOpTimes(const CheckContext& context, double tolerance) {
  const Plan& plan = context.plan;
  const Problem& problem = context.problem;
  const bool releases = *context.modes().goal == Goal::kCompletion;
  for (std::size_t i = 0; i < problem.opCount(); ++i) {
    const OpId op(i);
    const double earliest = releases ? problem.model_release[problem.graph.op_model[i].index()] : 0;
    if (plan.start[i] < earliest - tolerance) {
      context.findings.add("op \"{}\" starts at {}, before {} {}", context.opName(op), plan.start[i],
                           earliest > 0 ? "its model's release" : "time", earliest);
    }
    const double seconds = context.clock.opSeconds(op, plan.assignment[i]);
    if (std::fabs(plan.end[i] - plan.start[i] - seconds) <= tolerance) continue;
    context.findings.add("op \"{}\" takes {} s in the schedule but {} s on device \"{}\"", context.opName(op),
                         plan.end[i] - plan.start[i], seconds, context.deviceName(plan.assignment[i]));
  }
}

void checkDevicesExclusive(const CheckContext& context, double tolerance) {
  const Plan& plan = context.plan;
  const Problem& problem = context.problem;
  std::vector<std::vector<Busy>> busy(problem.deviceCount());
  for (std::size_t i = 0; i < problem.opCount(); ++i) {
    if (context.clock.opSeconds(OpId(i), plan.assignment[i]) == 0) continue;
    busy[plan.assignment[i].index()].push_back({plan.start[i], plan.end[i], static_cast<std::uint32_t>(i)});
  }
  for (std::size_t d = 0; d < busy.size(); ++d) {
    const double launch = problem.cluster.classOf(DeviceId(d)).launch_seconds;
    findConflicts(busy[d], launch, tolerance, [&](const Busy& first, const Busy& next) {
      context.findings.add("device \"{}\" runs op \"{}\" until {} but starts op \"{}\" at {}",
                           context.deviceName(DeviceId(d)), context.opName(OpId(first.id)),
                           first.end + launch, context.opName(OpId(next.id)), next.start);
    });
  }
}

void checkInputs(const CheckContext& context, const Deliveries& deliveries, double tolerance) {
  const Plan& plan = context.plan;
  const Problem& problem = context.problem;
  const OpGraph& graph = problem.graph;
  for (std::size_t t = 0; t < graph.tensorCount(); ++t) {
    const TensorId tensor(t);
    const OpId producer = graph.producer(tensor);
    const double ready = plan.end[producer.index()];
    const DeviceId from = context.deviceOf(producer);
    for (std::uint32_t slot = graph.tensor_consumers.begin[t]; slot < graph.tensor_consumers.begin[t + 1];
         ++slot) {
      const OpId consumer = graph.tensor_consumers.items[slot];
      const double start = plan.start[consumer.index()];
      const DeviceId to = context.deviceOf(consumer);
      if (from == to || problem.isOrder(tensor)) {
        if (start >= ready - tolerance) continue;
        context.findings.add("op \"{}\" starts at {} but op \"{}\", which it waits for, ends at {}",
                             context.opName(consumer), start, context.opName(producer), ready);
        continue;
      }
      if (deliveries.cover[slot] != Deliveries::kNone) {
        const double arrival = plan.transfers[deliveries.cover[slot]].end;
        if (start >= arrival - tolerance) continue;
        context.findings.add("op \"{}\" starts at {} but {} arrives on device \"{}\" at {}",
                             context.opName(consumer), start, context.tensorName(tensor),
                             context.deviceName(to), arrival);
        continue;
      }
      const double seconds = context.clock.transferSeconds(tensor, from, to);
      if (seconds != 0 && context.modes().link_mode != LinkMode::kFree) {
        context.findings.add("{} is not sent from device \"{}\" to op \"{}\" on \"{}\"",
                             context.tensorName(tensor), context.deviceName(from), context.opName(consumer),
                             context.deviceName(to));
      } else if (!(start >= ready + seconds - tolerance)) {
        context.findings.add("op \"{}\" starts at {} but {} cannot be on device \"{}\" before {}",
                             context.opName(consumer), start, context.tensorName(tensor),
                             context.deviceName(to), ready + seconds);
      }
    }
  }
}

double checkCompletions(const CheckContext& context, double makespan, double tolerance) {
  const Plan& plan = context.plan;
  const Problem& problem = context.problem;
  std::vector<double> completion(problem.graph.modelCount(), 0);
  for (std::size_t i = 0; i < problem.opCount(); ++i) {
    double& latest = completion[problem.graph.op_model[i].index()];
    latest = std::max(latest, plan.end[i]);
  }
  if (!plan.completion.empty() && plan.completion.size() != completion.size()) {
    context.findings.add("the plan gives {} completions for {} models", plan.completion.size(),
                         completion.size());
  }
  double sum = 0;
  for (std::size_t m = 0; m < completion.size(); ++m) {
    sum += problem.model_weight[m] * completion[m];
    if (plan.completion.size() != completion.size() || std::isnan(plan.completion[m])) continue;
    if (std::fabs(plan.completion[m] - completion[m]) <= tolerance) continue;
    context.findings.add("model \"{}\": the plan says completion {} but it is {}",
                         problem.graph.model_name[m], plan.completion[m], completion[m]);
  }
  return *context.modes().goal == Goal::kCompletion ? sum : makespan;
}

void addDeviceTimes(const CheckContext& context, std::vector<DeviceUse>& devices) {
  for (std::size_t i = 0; i < context.problem.opCount(); ++i) {
    const DeviceId device = context.plan.assignment[i];
    devices[device.index()].compute_seconds += context.clock.opSeconds(OpId(i), device);
  }
  for (const PlanTransfer& transfer : context.plan.transfers) {
    if (!context.isDevice(transfer.from) || !context.isDevice(transfer.to)) continue;
    devices[transfer.from.index()].communication_seconds += transfer.end - transfer.start;
    devices[transfer.to.index()].communication_seconds += transfer.end - transfer.start;
  }
}

}  // namespace

Figures checkEvents(const CheckContext& context) {
  Figures figures;
  if (!checkTimesGiven(context)) return figures;
  const double makespan = std::max(0.0, *std::max_element(context.plan.end.begin(), context.plan.end.end()));
  const double tolerance = kRelative * makespan;
  checkOpTimes(context, tolerance);
  checkDevicesExclusive(context, tolerance);
  const std::size_t before = context.findings.count();
  const Deliveries deliveries = checkTransfers(context, tolerance);
  checkInputs(context, deliveries, tolerance);
  const bool transfers_sound = context.findings.count() == before;
  figures.devices.resize(context.problem.deviceCount());
  addDeviceTimes(context, figures.devices);
  std::vector<Held> held = residentOf(context, figures.devices.size(), deviceParts(context));
  // Without sound transfers nobody knows where tensors are; the fault is reported already.
  const bool known = transfers_sound || !context.liveMemory();
  if (known && context.liveMemory()) addLiveMemory(context, deliveries, held);
  checkMemoryLimits(context, held);
  if (known) figures.held = std::move(held);
  figures.tolerance_seconds = tolerance;
  figures.value = checkCompletions(context, makespan, tolerance);
  return figures;
}

}  // namespace allot
