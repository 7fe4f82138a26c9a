// Plans that move few ops away from where a given plan has them.
//
// Problem: completion, with at most `max_moves` ops on another device than in a start plan; orders are free.
// The bound is that of the problem without the limit, or the value itself where all placements were looked
// at. Method: the best plan without the limit, from which moves are taken back, those that matter least
// first; then small changes that keep within the limit. Tiny problems: every placement within the limit, each
// scheduled exactly. Guarantee: the plan keeps the limit and is no worse than the start plan, where that is
// valid; the curve never rises. When time runs out: the best so far.
#pragma once

#include <atomic>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "allot/plan.h"
#include "allot/problem.h"
#include "allot/solve.h"

namespace allot {

// The least value found with so many moves or fewer; infinite where there is no plan.
struct MovePoint {
  std::uint32_t moves = 0;
  double value = 0;
};

// Ops that are on another device than in `base`.
std::uint32_t countMoves(std::span<const DeviceId> base, std::span<const DeviceId> assignment);

// Like `solve` with `run.max_moves`; `curve`, where given, gets points from 0 moves up to the limit.
SolveOutcome solveLimited(const Problem& problem, const RunOptions& run, const Plan* start,
                          const std::atomic<bool>* stop_flag,
                          const std::function<void(const ProgressLine&)>& on_progress,
                          std::vector<MovePoint>* curve);

}  // namespace allot
