// Latency by subgraph calls: cpu ops on unlimited cores, accelerators that run listed subgraphs as calls.
//
// A node is a cpu op or a call. Finishing times follow by one sweep over the nodes in topological order of
// what waits for what: a call waits for every producer outside it and for the accelerator's call before it.
#include "check/parts.h"
#include "graph/contraction.h"

namespace allot {
namespace {

constexpr std::uint32_t kNoNode = std::numeric_limits<std::uint32_t>::max();

struct CallGraph {
  std::vector<std::uint32_t> node_of_op;
  std::vector<OpId> first_op;  // by node; names the node in messages
  std::vector<double> seconds;
  std::vector<PartEdge> edges;
};

// Calls are nodes 0 .. calls - 1 in the order listed. False when ops are missing, doubled or on another
// device.
bool readCalls(const CheckContext& context, CallGraph& calls) {
  const Plan& plan = context.plan;
  const Cluster& cluster = context.problem.cluster;
  Findings& findings = context.findings;
  calls.node_of_op.assign(context.problem.opCount(), kNoNode);
  std::vector<std::uint32_t> previous(cluster.deviceCount(), kNoNode), count(cluster.deviceCount(), 0);
  bool sound = true;
  for (std::uint32_t c = 0; c < plan.stages.size(); ++c) {
    const PlanStage& call = plan.stages[c];
    calls.first_op.push_back(OpId(0));
    if (call.devices.size() != 1 || !context.isDevice(call.devices[0]) ||
        !cluster.isAccelerator(call.devices[0])) {
      findings.add("call {} is not on one accelerator", c);
      sound = false;
      continue;
    }
    const DeviceId device = call.devices[0];
    if (call.ops.empty()) findings.add("call {} of device \"{}\" has no ops", c, context.deviceName(device));
    if (previous[device.index()] != kNoNode) calls.edges.push_back({previous[device.index()], c});
    previous[device.index()] = c;
    ++count[device.index()];
    for (const OpId op : call.ops) {
      if (!context.isOp(op)) {
        findings.add("call {} names op number {} of {}", c, op.value, context.problem.opCount());
        sound = false;
      } else if (calls.node_of_op[op.index()] != kNoNode) {
        findings.add("op \"{}\" is in call {} and again in call {}", context.opName(op),
                     calls.node_of_op[op.index()], c);
        sound = false;
      } else if (context.deviceOf(op) != device) {
        findings.add("op \"{}\" is assigned to device \"{}\" but its call {} runs on \"{}\"",
                     context.opName(op), context.deviceName(context.deviceOf(op)), c,
                     context.deviceName(device));
        sound = false;
      } else {
        calls.node_of_op[op.index()] = c;
        calls.first_op[c] = op;
      }
    }
  }
  for (std::size_t d = 0; d < count.size(); ++d) {
    if (count[d] <= context.modes().calls) continue;
    findings.add("device \"{}\" runs {} calls but may run {}", context.deviceName(DeviceId(d)), count[d],
                 context.modes().calls);
  }
  if (!sound) return false;
  for (std::size_t i = 0; i < calls.node_of_op.size(); ++i) {
    if (calls.node_of_op[i] != kNoNode) continue;
    if (cluster.isAccelerator(plan.assignment[i])) {
      findings.add("op \"{}\" on accelerator \"{}\" is in no call", context.opName(OpId(i)),
                   context.deviceName(plan.assignment[i]));
      sound = false;
    }
    calls.node_of_op[i] = static_cast<std::uint32_t>(calls.first_op.size());
    calls.first_op.push_back(OpId(i));
  }
  return sound;
}

// Durations of nodes and what waits for what; each device's compute and communication.
void addWork(const CheckContext& context, CallGraph& calls, std::vector<DeviceUse>& devices) {
  const Problem& problem = context.problem;
  const std::size_t call_count = context.plan.stages.size();
  calls.seconds.assign(calls.first_op.size(), 0);
  for (std::size_t i = 0; i < problem.opCount(); ++i) {
    const DeviceId device = context.plan.assignment[i];
    const double seconds = context.clock.opSeconds(OpId(i), device);
    calls.seconds[calls.node_of_op[i]] += seconds;
    devices[device.index()].compute_seconds += seconds;
  }
  const auto pay = [&](std::uint32_t call, DeviceId device, double seconds) {
    calls.seconds[call] += seconds;
    devices[device.index()].communication_seconds += seconds;
  };
  std::vector<std::uint32_t> came_in(call_count, kNoNode);  // the last tensor that each call was charged for
  for (std::uint32_t t = 0; t < problem.graph.tensorCount(); ++t) {
    const TensorId tensor(t);
    const bool costs = !problem.isOrder(tensor);
    const OpId producer = problem.graph.producer(tensor);
    const std::uint32_t from = calls.node_of_op[producer.index()];
    bool leaves = false;
    for (const OpId consumer : problem.graph.consumers(tensor)) {
      const std::uint32_t to = calls.node_of_op[consumer.index()];
      if (to == from) continue;
      leaves = true;
      if (to < call_count) {
        if (came_in[to] == t) continue;
        came_in[to] = t;
        if (costs)
          pay(to, context.deviceOf(consumer),
              context.clock.fromHostSeconds(tensor, context.deviceOf(consumer)));
      }
      calls.edges.push_back({from, to});
    }
    if (leaves && costs && from < call_count) {
      pay(from, context.deviceOf(producer), context.clock.toHostSeconds(tensor, context.deviceOf(producer)));
    }
  }
}

void reportDeadlock(const CheckContext& context, const CallGraph& calls,
                    const std::vector<std::uint32_t>& cycle) {
  std::string path;
  const std::size_t call_count = context.plan.stages.size();
  const auto node = [&](std::uint32_t n) {
    if (n >= call_count) return fmt::format("op \"{}\"", context.opName(calls.first_op[n]));
    return fmt::format("call {} of device \"{}\"", n, context.deviceName(context.plan.stages[n].devices[0]));
  };
  for (const std::uint32_t n : cycle) path += node(n) + " -> ";
  context.findings.add("the calls wait for each other: {}{}", path, node(cycle[0]));
}

void checkGivenTimes(const CheckContext& context, const CallGraph& calls, const std::vector<double>& start,
                     const std::vector<double>& finish, double tolerance) {
  const auto compare = [&](const char* what, const std::vector<double>& claimed,
                           const std::vector<double>& found) {
    if (claimed.empty()) return;
    if (claimed.size() != context.problem.opCount()) {
      context.findings.add("the plan gives {} {} times for {} ops", claimed.size(), what,
                           context.problem.opCount());
      return;
    }
    for (std::size_t i = 0; i < claimed.size(); ++i) {
      const double expected = found[calls.node_of_op[i]];
      if (std::fabs(claimed[i] - expected) <= tolerance) continue;
      context.findings.add("op \"{}\": the plan says {} {} but it is {}", context.opName(OpId(i)), what,
                           claimed[i], expected);
    }
  };
  compare("start", context.plan.start, start);
  compare("end", context.plan.end, finish);
}

}  // namespace

Figures checkCalls(const CheckContext& context) {
  Figures figures;
  CallGraph calls;
  if (!readCalls(context, calls)) return figures;
  std::vector<DeviceUse> devices(context.problem.deviceCount());
  addWork(context, calls, devices);
  figures.held = residentOf(context, devices.size(), deviceParts(context));
  checkMemoryLimits(context, figures.held);
  const Contraction order = contract(calls.first_op.size(), std::move(calls.edges));
  if (!order.acyclic()) {
    reportDeadlock(context, calls, order.cycle);
    return figures;
  }
  std::vector<double> start(calls.first_op.size(), 0), finish(calls.first_op.size(), 0);
  double latest = 0;
  for (const std::uint32_t node : order.order) {
    finish[node] = start[node] + calls.seconds[node];
    latest = std::max(latest, finish[node]);
    for (const std::uint32_t next : order.successors[node]) start[next] = std::max(start[next], finish[node]);
    if (std::isfinite(finish[node])) continue;
    context.findings.add("op \"{}\" has no finite end: a link between its device and the host is missing",
                         context.opName(calls.first_op[node]));
    return figures;
  }
  checkGivenTimes(context, calls, start, finish, kRelative * latest);
  for (DeviceUse& use : devices) use.load_seconds = use.compute_seconds;
  figures.devices = std::move(devices);
  figures.value = latest;
  figures.tolerance_seconds = kRelative * latest;
  return figures;
}

}  // namespace allot
