// Where ops may be: classes, pins, forbids, groups, `together` sets, what a runtime fuses.
#include "check/parts.h"
#include "graph/fusion.h"

namespace allot {
namespace {

bool checkComplete(const CheckContext& context) {
  const Problem& problem = context.problem;
  const auto& assignment = context.plan.assignment;
  if (assignment.size() != problem.opCount()) {
    context.findings.add("the plan assigns {} ops but the problem has {}", assignment.size(),
                         problem.opCount());
    return false;
  }
  bool sound = true;
  for (std::size_t i = 0; i < assignment.size(); ++i) {
    const OpId op(i);
    if (!assignment[i].valid()) {
      context.findings.add("op \"{}\" is on no device", context.opName(op));
      sound = false;
    } else if (!context.isDevice(assignment[i])) {
      context.findings.add("op \"{}\" is on device number {} of {}", context.opName(op),
                           assignment[i].index(), problem.deviceCount());
      sound = false;
    } else if (context.clock.opSeconds(op, assignment[i]) == kCannotRun) {
      context.findings.add("op \"{}\" cannot run on device \"{}\" of class \"{}\"", context.opName(op),
                           context.deviceName(assignment[i]), problem.cluster.classOf(assignment[i]).name);
      sound = false;
    }
  }
  return sound;
}

void checkShared(const CheckContext& context, OpId first, OpId other) {
  if (context.deviceOf(first) == context.deviceOf(other)) return;
  context.findings.add(
      "op \"{}\" is on device \"{}\" but op \"{}\", which must share its device, is on \"{}\"",
      context.opName(other), context.deviceName(context.deviceOf(other)), context.opName(first),
      context.deviceName(context.deviceOf(first)));
}

void checkConstraints(const CheckContext& context) {
  const Problem& problem = context.problem;
  for (const auto& [op, device] : problem.constraints.pin) {
    if (context.deviceOf(op) == device) continue;
    context.findings.add("op \"{}\" is pinned to device \"{}\" but is on \"{}\"", context.opName(op),
                         context.deviceName(device), context.deviceName(context.deviceOf(op)));
  }
  for (const auto& [op, device] : problem.constraints.forbid) {
    if (context.deviceOf(op) != device) continue;
    context.findings.add("op \"{}\" is forbidden on device \"{}\" but is there", context.opName(op),
                         context.deviceName(device));
  }
  std::vector<OpId> first_of_group(problem.graph.group_name.size());
  for (std::size_t i = 0; i < problem.opCount(); ++i) {
    const GroupId group = problem.graph.op_group[i];
    if (!group.valid()) continue;
    OpId& first = first_of_group[group.index()];
    if (first.valid())
      checkShared(context, first, OpId(i));
    else
      first = OpId(i);
  }
  for (const auto& set : problem.constraints.together) {
    for (const OpId op : set) checkShared(context, set.front(), op);
  }
  for (const FusedGroup& group : findFusedGroups(problem.graph, fusionRules(context.modes().fuse))) {
    for (const OpId op : group.ops) checkShared(context, group.ops.front(), op);
  }
}

}  // namespace

bool checkPlacement(const CheckContext& context) {
  if (!checkComplete(context)) return false;
  checkConstraints(context);
  return true;
}

}  // namespace allot
