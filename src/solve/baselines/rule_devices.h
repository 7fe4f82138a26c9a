// The devices that rules of other tools use, in the order in which they use them.
#pragma once

#include <span>
#include <vector>

#include "allot/problem.h"

namespace allot::baseline {

std::vector<DeviceId> devicesOfKind(const Problem& problem, DeviceKind kind);

// Accelerators, then cpus; no more than the stages that a throughput plan may have.
std::vector<DeviceId> ruleDevices(const Problem& problem, bool with_cpus);

// Whether every op may be where it is and every device can hold its resident bytes.
bool fitsDevices(const Problem& problem, std::span<const DeviceId> assignment);

}  // namespace allot::baseline
