#include "allot/check.h"

#include "check/parts.h"

namespace allot {
namespace {

bool checkGoal(const CheckContext& context) {
  const auto& claimed = context.plan.modes.goal;
  const auto& wanted = context.problem.modes.goal;
  if (!claimed) {
    context.findings.add("the plan names no goal");
    return false;
  }
  if (wanted && *wanted == *claimed) return true;
  context.findings.add("the plan's goal is {} but the problem's is {}", name(*claimed),
                       wanted ? name(*wanted) : "not set");
  return false;
}

void checkDeviceClaims(const CheckContext& context, const Figures& figures) {
  const auto& claimed = context.plan.devices;
  if (claimed.empty()) return;
  if (claimed.size() != context.problem.deviceCount()) {
    context.findings.add("the plan describes {} devices but the problem has {}", claimed.size(),
                         context.problem.deviceCount());
    return;
  }
  const bool loads = *context.modes().goal == Goal::kThroughput;
  for (std::size_t d = 0; d < claimed.size(); ++d) {
    const auto compare = [&](const char* what, double claim, double found, double absolute) {
      if (std::isnan(claim) || std::isnan(found) || agree(claim, found, absolute)) return;
      context.findings.add("device \"{}\": the plan says {} {} but it is {}", context.deviceName(DeviceId(d)),
                           what, claim, found);
    };
    const DeviceUse& found = figures.devices[d];
    compare("compute", claimed[d].compute_seconds, found.compute_seconds, kAbsoluteSeconds);
    compare("communication", claimed[d].communication_seconds, found.communication_seconds, kAbsoluteSeconds);
    if (loads) compare("load", claimed[d].load_seconds, found.load_seconds, kAbsoluteSeconds);
    compare("memory", claimed[d].memory_bytes, found.memory_bytes, 0);
  }
}

void checkValueClaims(const CheckContext& context, double value) {
  const Plan& plan = context.plan;
  Findings& findings = context.findings;
  if (std::isnan(plan.value)) {
    findings.add("the plan claims no value");
    return;
  }
  if (!std::isnan(value) && !agree(plan.value, value, 0)) {
    findings.add("the plan claims value {} but is worth {}", plan.value, value);
  }
  const bool bounded = !std::isnan(plan.bound);
  if (bounded && !(plan.bound <= plan.value * (1 + kRelative))) {
    findings.add("the bound {} is above the value {}", plan.bound, plan.value);
  }
  if (plan.status != Status::kOptimal) return;
  if (!bounded)
    findings.add("the plan claims to be optimal without a bound");
  else if (!(plan.gap() <= kOptimalGap)) {
    findings.add("the plan claims to be optimal but its gap is {}, above {}", plan.gap(), kOptimalGap);
  }
}

Figures recompute(const CheckContext& context) {
  switch (*context.modes().goal) {
    case Goal::kThroughput:
      return checkThroughput(context);
    case Goal::kLatency:
      return context.modes().model == LatencyModel::kSubgraphCalls ? checkCalls(context)
                                                                   : checkEvents(context);
    case Goal::kCompletion:
      return checkEvents(context);
  }
  return {};
}

}  // namespace

CheckReport check(const Problem& problem, const Plan& plan) {
  Findings findings;
  const CheckContext context{problem, plan, findings};
  CheckReport report;
  report.value = std::numeric_limits<double>::quiet_NaN();
  const bool same_goal = checkGoal(context);
  if (!plan.hasPlan()) findings.add("status \"{}\" is not that of a plan", name(plan.status));
  if (same_goal && checkPlacement(context)) {
    const Figures figures = recompute(context);
    report.value = figures.value;
    if (!std::isnan(figures.value)) checkDeviceClaims(context, figures);
    checkValueClaims(context, figures.value);
  }
  report.violations = findings.take();
  return report;
}

}  // namespace allot
