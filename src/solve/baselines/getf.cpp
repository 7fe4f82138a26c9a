#include "solve/baselines/getf.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "solve/baselines/port_schedule.h"
#include "solve/baselines/ranks.h"

namespace allot::baseline {
namespace {

// Total seconds of the ops that may run there, scaled up where some may not; infinite where none may.
double secondsOfAll(const Problem& problem, const std::vector<double>& least, DeviceId device) {
  double work = 0, seconds = 0;
  for (std::size_t i = 0; i < problem.opCount(); ++i) {
    if (!problem.allowed(problem.unit(OpId(i)), device) || std::isinf(least[i])) continue;
    work += least[i];
    seconds += problem.opSeconds(OpId(i), device);
  }
  return work > 0 ? seconds / work : std::numeric_limits<double>::infinity();
}

}  // namespace

SolveResult getf(const Problem& problem, const Budget& budget, Progress& progress) {
  if (budget.stopped()) return {SolveEnd::kStopped, {}};
  const std::vector<double> least = leastOpSeconds(problem);
  const std::size_t devices = problem.deviceCount();
  std::vector<double> slowness(devices);
  double fastest = std::numeric_limits<double>::infinity();
  for (std::size_t d = 0; d < devices; ++d) {
    slowness[d] = secondsOfAll(problem, least, DeviceId(d));
    fastest = std::min(fastest, slowness[d]);
  }
  std::map<int, double> group_speed;  // by group, 0 the fastest
  std::vector<int> group(devices, 1 << 20);
  for (std::size_t d = 0; d < devices; ++d) {
    if (std::isinf(slowness[d])) continue;
    group[d] = static_cast<int>(std::floor(std::log2(slowness[d] / fastest) + 1e-12));
    group_speed[group[d]] += 1 / slowness[d];
  }
  // Work that the fastest groups do within the longest path, or within the time that all need together.
  double work = 0, speed = 0;
  for (const double seconds : least) work += std::isinf(seconds) ? 0 : seconds;
  const std::vector<double> rank = upwardRank(problem, least, {});
  const double path = rank.empty() ? 0 : *std::max_element(rank.begin(), rank.end());
  for (const auto& [g, s] : group_speed) speed += s;
  const double time = std::max(path, speed > 0 ? work / speed : 0);
  double reached = 0, best_speed = 0;
  int chosen = 1 << 20;
  for (const auto& [g, s] : group_speed) {
    if (s > best_speed) {
      best_speed = s;
      chosen = g;
    }
    reached += s * time;
    if (reached >= work / 2) break;
  }
  PortSchedule schedule(problem);
  EarliestStart rules;
  rules.admits = [&](OpId op, DeviceId device, double) {
    if (group[device.index()] == chosen) return true;
    for (std::size_t d = 0; d < devices; ++d) {
      if (group[d] == chosen && schedule.canPlace(op, DeviceId(d))) return false;
    }
    return true;
  };
  bool stopped = false;
  auto plan = scheduleEarliestStart(problem, budget, schedule, rules, stopped);
  if (plan) progress.plan(std::move(*plan), "getf");
  return {stopped ? SolveEnd::kStopped : SolveEnd::kFinished, {}};
}

}  // namespace allot::baseline
