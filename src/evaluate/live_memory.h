// Peak of the bytes that are live on each device during a schedule.
//
// Resident bytes always; workspace while an op runs; a tensor on its producer's device from the producer's
// start to the later of its last local consumer's end and its last send's end; on a receiving device from the
// start of its first transfer there to the end of its last consumer there; tensors without consumers to the
// end; what the model is given on each device that reads it from its first reader there to its last one's
// end. At equal times what ends is freed before what begins is taken. O(m log m) for m intervals.
#pragma once

#include <span>
#include <vector>

#include "allot/plan.h"
#include "allot/problem.h"

namespace allot {

// Resident bytes by device, each block of weights once.
std::vector<double> residentBytesByDevice(const Problem& problem, std::span<const DeviceId> assignment);

// By device; the plan needs its assignment, start, end and transfers.
std::vector<double> livePeaks(const Problem& problem, const Plan& plan);

}  // namespace allot
