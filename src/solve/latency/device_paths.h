// Heads and tails of ops by device: the longest chain before and behind an op, each op of the chain on its
// best device.
//
// head[op * devices + d]: the op cannot start earlier on device d. tail: time that must still pass after the
// op has ended on device d. Transfers count as if no other used the ports, so both hold in every link mode,
// send mode and memory model. Between an op and the next of its chain on the same device lies the launch.
// O(edges * devices^2).
#pragma once

#include <vector>

#include "solve/latency/schedule_model.h"

namespace allot {

std::vector<double> deviceHeads(const ScheduleModel& model);
std::vector<double> deviceTails(const ScheduleModel& model);

}  // namespace allot
