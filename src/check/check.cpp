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
    const auto compare = [&](const char* what, double claim, double found) {
      if (std::isnan(claim) || std::isnan(found) || agree(claim, found, figures.tolerance_seconds)) return;
      context.findings.add("device \"{}\": the plan says {} {} but it is {}", context.deviceName(DeviceId(d)),
                           what, claim, found);
    };
    const DeviceUse& found = figures.devices[d];
    compare("compute", claimed[d].compute_seconds, found.compute_seconds);
    compare("communication", claimed[d].communication_seconds, found.communication_seconds);
    if (loads) compare("load", claimed[d].load_seconds, found.load_seconds);
    const double claim = claimed[d].memory_bytes;
    if (std::isnan(claim) || figures.held.empty() || sameBytes(claim, figures.held[d].bytes())) continue;
    context.findings.add("device \"{}\": the plan says memory {} bytes but it holds {}",
                         context.deviceName(DeviceId(d)), claim, heldText(context, figures.held[d], true));
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

// Whether transfers run between accelerators and their host under these modes.
bool runsViaHost(const Modes& modes, Transfers transfers) {
  if (modes.goal == Goal::kLatency) return modes.model == LatencyModel::kSubgraphCalls;
  return modes.goal == Goal::kThroughput && transfers == Transfers::kViaHost;
}

// Modes that mean nothing together; false when nothing can be computed under them.
bool checkModes(const CheckContext& context, bool via_host) {
  const Modes& modes = context.modes();
  const Problem& problem = context.problem;
  const std::size_t before = context.findings.count();
  if (via_host) {
    const auto begin = problem.tensor_matrix.begin();
    const auto matrix = std::find_if(begin, problem.tensor_matrix.end(), [](auto m) { return m >= 0; });
    if (matrix != problem.tensor_matrix.end())
      context.findings.add("{} has a matrix of transfer times, which means nothing via the host",
                           context.tensorName(TensorId(matrix - begin)));
  }
  if (via_host && modes.goal == Goal::kLatency && context.liveMemory())
    context.findings.add("the plan's memory is live, but subgraph-calls knows static memory only");
  if (modes.goal == Goal::kThroughput && modes.in_flight && modes.contiguity != Contiguity::kChain)
    context.findings.add("the plan counts samples in flight, which is defined for contiguity chain only");
  return context.findings.count() == before;
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
  const Transfers transfers = plan.modes.transfers.value_or(problem.transfers());
  const bool via_host = runsViaHost(plan.modes, transfers);
  const Clock clock(problem, via_host);
  const CheckContext context{problem, plan, clock, findings};
  CheckReport report;
  report.value = std::numeric_limits<double>::quiet_NaN();
  const bool same_goal = checkGoal(context);
  if (!plan.hasPlan()) findings.add("status \"{}\" is not that of a plan", name(plan.status));
  // Under other modes S is another, and so are the times that count as 0.
  if (via_host == runsViaHost(problem.modes, problem.transfers())) clock.compareTables(findings);
  if (same_goal && checkModes(context, via_host) && checkPlacement(context)) {
    const Figures figures = recompute(context);
    report.value = figures.value;
    if (!std::isnan(figures.value)) checkDeviceClaims(context, figures);
    checkValueClaims(context, figures.value);
  }
  report.violations = findings.take();
  return report;
}

}  // namespace allot
