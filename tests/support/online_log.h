// Verifies what an online engine decided, from the events it took, the log of its decisions and the
// definitions (docs/semantics.md, docs/formats/events.md) alone; it shares nothing with the engine.
#pragma once

#include <string>
#include <vector>

#include "allot/online.h"

namespace allot {

// Empty when all holds, else the first violation:
// - an op starts after its job arrived, with all inputs on its device and all that must go before it done, on
// a
//   device that is up, free and allowed, beside the ops of its group; it takes the time that it should;
// - a send starts where a copy is and takes the pair's time; ports carry one at a time; no copy is sent to
// where
//   one is or is on its way to;
// - an op runs again exactly if its device failed while it ran, or its output is on no device that is up
// though
//   an op that has not started needs it;
// - a job finishes when every op of it has ended, and at the end every job has that did not leave, if all
//   devices are up;
// - what ran at once fits the devices.
std::string verifyLog(const Problem& problem, const std::vector<OnlineEvent>& events,
                      const std::vector<Decision>& log, const OnlineEngine& engine,
                      bool ends_reported = false);

}  // namespace allot
