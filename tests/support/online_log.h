// Verifies what an online engine decided, from the log of its decisions and the definitions alone.
#pragma once

#include <string>
#include <vector>

#include "allot/online.h"

namespace allot {

// Empty when all holds: every op of a finished job ended exactly once more often than its result was lost; no
// device ran two ops at once; no op started before its inputs were on its device, nor before its job arrived;
// the bytes of what ran fit the devices. Else the first violation.
std::string verifyLog(const Problem& problem, const std::vector<Decision>& log, const OnlineEngine& engine);

}  // namespace allot
