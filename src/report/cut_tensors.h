// Who pays for which cut tensor under a throughput plan.
//
// One entry per payment of docs/semantics.md: via-host, each accelerator that touches a cut tensor pays once;
// by-link, sender and receiver pay for each destination device. Replicated stages are named by their first
// device, at the cost of one sample. Complexity: linear in the tensors' ends.
#pragma once

#include <vector>

#include "allot/plan.h"
#include "allot/problem.h"

namespace allot {

struct CutPayment {
  TensorId tensor;
  DeviceId device;  // who pays
  DeviceId peer;    // the other end; invalid = the host
  bool sends = false;
  double seconds = 0;
};

std::vector<CutPayment> cutPayments(const Problem& problem, const std::vector<DeviceId>& assignment);

}  // namespace allot
