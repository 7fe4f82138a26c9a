#include "summary.h"

#include <fmt/format.h>

#include <cmath>

#include "base/units.h"
#include "common.h"
#include "problem/idle.h"

namespace allot::cli {
namespace {

// What kept a search from its end; a proven plan lacks nothing.
std::string_view cutShortBy(const Plan& plan, bool stopped) {
  if (plan.status == Status::kOptimal) return "";
  if (stopped) return " (stopped by the user)";
  return plan.time_limited ? " (stopped at the limit)" : "";
}

DeviceId busiest(const Plan& plan) {
  std::size_t best = 0;
  for (std::size_t d = 1; d < plan.devices.size(); ++d) {
    if (plan.devices[d].load_seconds > plan.devices[best].load_seconds) best = d;
  }
  return DeviceId(best);
}

}  // namespace

std::string deviceTable(const Problem& problem, const Plan& plan) {
  std::vector<std::vector<std::string>> rows{
      {"device", "class", "ops", "compute", "communication", "load", "memory", "of"}};
  std::vector<std::size_t> ops(problem.deviceCount(), 0);
  for (const DeviceId device : plan.assignment) {
    if (device.valid()) ++ops[device.index()];
  }
  for (std::size_t d = 0; d < plan.devices.size(); ++d) {
    const DeviceUse& use = plan.devices[d];
    const double limit = problem.memoryLimit(DeviceId(d));
    rows.push_back({problem.cluster.devices[d].name, problem.cluster.classOf(DeviceId(d)).name,
                    fmt::format("{}", ops[d]), secondsText(use.compute_seconds),
                    secondsText(use.communication_seconds), secondsText(use.load_seconds),
                    bytesText(use.memory_bytes), std::isfinite(limit) ? bytesText(limit) : "unlimited"});
  }
  return tableText(rows);
}

std::string noiseText(const Plan& plan) {
  if (!plan.noise) return "";
  const NoiseReport& noise = *plan.noise;
  return fmt::format("noise       {} on op times, {} samples: mean {}, 95 of 100 within {}\n",
                     percentText(noise.share), noise.samples, secondsText(noise.mean),
                     secondsText(noise.p95));
}

std::string timesText(std::string_view costs) {
  return costs == "given" ? std::string() : fmt::format("times       {}\n", costs);
}

std::string planSummary(const Problem& problem, const Plan& plan, bool stopped) {
  const Goal goal = problem.goal();
  std::string text =
      fmt::format("{}  {}\n", heading(fmt::format("{:<10}", name(goal))), valueText(goal, plan.value));
  text += fmt::format("bound       {} (gap {})\n", secondsText(plan.bound), percentText(plan.gap()));
  text += fmt::format("status      {}, found by {} in {}{}\n", name(plan.status),
                      plan.solver.empty() ? "-" : plan.solver, secondsText(plan.seconds),
                      cutShortBy(plan, stopped));
  if (goal == Goal::kCompletion && !plan.end.empty())
    text += fmt::format("idle        {} on the devices used\n", secondsText(idleSeconds(problem, plan)));
  if (!plan.proof.empty()) text += fmt::format("proof       {}\n", plan.proof);
  text += timesText(problem.costs);
  text += noiseText(plan);
  if (!plan.devices.empty()) {
    const DeviceId device = busiest(plan);
    const DeviceUse& use = plan.devices[device.index()];
    text += fmt::format("bottleneck  {}: load {}, of it compute {} and communication {}\n",
                        problem.cluster.devices[device.index()].name, secondsText(use.load_seconds),
                        secondsText(use.compute_seconds), secondsText(use.communication_seconds));
    text += "\n" + deviceTable(problem, plan);
  }
  for (std::size_t m = 0; plan.completion.size() > 1 && m < plan.completion.size(); ++m) {
    text += fmt::format("{}  {} ends at {}\n", m == 0 ? "\n" : "", problem.graph.model_name[m],
                        secondsText(plan.completion[m]));
  }
  return text;
}

}  // namespace allot::cli
