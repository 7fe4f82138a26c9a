// What each stage of a throughput plan does for one sample.
//
// Receives, computes, sends, by part: forward, and the rest (backward and update). A plan without stages gets
// one per device, in the order of their first ops. Complexity: linear in ops and cut tensors.
#pragma once

#include <array>
#include <vector>

#include "allot/plan.h"
#include "allot/problem.h"

namespace allot {

struct StagePart {
  double receive_seconds = 0, compute_seconds = 0, send_seconds = 0;
};

struct StageWork {
  std::vector<DeviceId> devices;  // replicas; each takes one sample in turn
  std::size_t ops = 0;
  std::array<StagePart, 2> parts;  // forward, the rest
  double load_seconds = 0;         // per sample, shared among the replicas
  double sync_seconds = 0;         // what copies of weights add
};

// The stages in pipeline order.
std::vector<PlanStage> stagesOrDevices(const Problem& problem, const Plan& plan);

std::vector<StageWork> stageWork(const Problem& problem, const Plan& plan);

}  // namespace allot
