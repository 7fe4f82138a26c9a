// Cuts a latency problem at ops that everything else comes before or after.
//
// A barrier is an op that is comparable with all others and over which no net that takes time jumps. When it
// starts, all ops before it and all their transfers have ended, and nothing behind it starts before it ends.
// So a schedule is a row of modules, each from the end of one barrier to the end of the next, and modules
// share only the device of the barrier between them: the least latency is a shortest path over (barrier,
// device). Where modules would be large, the longest jumps are dropped first, and barriers hold in spite of
// them. Four things then cross barriers besides the device, and where they do the sum over modules is a bound
// only: dropped jumps, a launch gap longer than the barrier, units with ops in several modules, and memory.
// O((ops + edges) log jumps).
#pragma once

#include <cstdint>
#include <vector>

#include "solve/latency/schedule_model.h"

namespace allot {

struct BarrierModule {
  std::vector<std::uint32_t> ops;  // ascending; with the barriers at its ends
  bool has_entry = false;          // the first op is the barrier before
  bool has_exit = false;           // the last op is the barrier behind
};

struct Modules {
  // In order; every op is in one module, barriers at the end of one and the start of the next.
  std::vector<BarrierModule> parts;
  bool dropped_jumps = false;
};

// Jumps are dropped until no module has more ops than this, or dropping does not help.
inline constexpr std::size_t kWantedModule = 48;

Modules barrierModules(const ScheduleModel& model);

}  // namespace allot
