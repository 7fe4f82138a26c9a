#include "problem/idle.h"

#include <algorithm>

namespace allot {

double idleSeconds(const Problem& problem, const Plan& plan) {
  if (plan.end.size() != problem.opCount() || plan.assignment.size() != problem.opCount()) return 0;
  double latest = 0, busy = 0;
  std::vector<std::uint8_t> used(problem.deviceCount(), 0);
  for (std::size_t i = 0; i < plan.end.size(); ++i) {
    const DeviceId device = plan.assignment[i];
    if (!device.valid()) continue;
    const double seconds = problem.busySeconds(OpId(i), device);
    latest = std::max(latest, plan.end[i]);
    busy += seconds;
    if (seconds > 0) used[device.index()] = 1;  // an op of zero time holds no device
  }
  const auto devices = static_cast<double>(std::count(used.begin(), used.end(), 1));
  return std::max(0.0, devices * latest - busy);
}

}  // namespace allot
