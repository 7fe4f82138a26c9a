// Events in a line, and an engine to give them to.
#pragma once

#include <string>

#include "allot/online.h"

namespace allot {

OnlineEvent arrival(double time, std::string job, std::size_t model);
OnlineEvent onDevice(EventKind kind, double time, std::size_t device, double factor = 1);
OnlineEvent ofJob(EventKind kind, double time, std::string job);

// Two models of two ops in a row on a slow and a fast device, no transfer times.
Problem twoChains();
OnlineEngine engineFor(const Problem& problem, const OnlineOptions& options = {});

}  // namespace allot
