#include "solve/baselines/rule_devices.h"

namespace allot::baseline {

std::vector<DeviceId> devicesOfKind(const Problem& problem, DeviceKind kind) {
  std::vector<DeviceId> devices;
  for (std::size_t d = 0; d < problem.deviceCount(); ++d) {
    if (problem.cluster.classOf(DeviceId(d)).kind == kind) devices.emplace_back(d);
  }
  return devices;
}

std::vector<DeviceId> ruleDevices(const Problem& problem, bool with_cpus) {
  std::vector<DeviceId> devices = devicesOfKind(problem, DeviceKind::kAccelerator);
  if (with_cpus) {
    const std::vector<DeviceId> cpus = devicesOfKind(problem, DeviceKind::kCpu);
    devices.insert(devices.end(), cpus.begin(), cpus.end());
  }
  const std::size_t most = problem.modes.max_stages;
  if (problem.goal() == Goal::kThroughput && most > 0 && devices.size() > most) devices.resize(most);
  return devices;
}

bool fitsDevices(const Problem& problem, std::span<const DeviceId> assignment) {
  std::vector<double> used(problem.deviceCount(), 0);
  for (std::size_t i = 0; i < assignment.size(); ++i) {
    const DeviceId device = assignment[i];
    if (!problem.allowed(problem.unit(OpId(i)), device)) return false;
    used[device.index()] += problem.residentBytes(OpId(i));
  }
  for (std::size_t d = 0; d < used.size(); ++d) {
    if (used[d] > problem.memoryLimit(DeviceId(d))) return false;
  }
  return true;
}

}  // namespace allot::baseline
