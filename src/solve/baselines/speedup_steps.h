// Rules that decide op by op, by speed-up (completion).
//
// Problem: the next ready op and the device for it.
// Rules:
//   transient-speedup (Baechi, FastT family): an op that becomes ready takes, of the devices that are idle at
//     that moment, the one on which it is fastest; it never waits for a better one. First come, first served;
//     at equal times the model of larger average speed-up first.
//   transient-speedup-published: as its published bars were really taken. Models by falling average speed-up;
//     the first on the best accelerator; each other one on its best cpu as long as that is not past the
//     accelerator's end, the rest on the accelerator. The published program counts the op during which that
//     happens on both devices; a schedule runs it once, on the cpu.
//   weighted-speedup-published (Talos, ASAP 2021, as drawn): step by step, all ready ops are assigned to
//     devices by a min-cost flow in which every device takes one op per step. Cost (Eq. 4) = waiting +
//     transfer + execution - what it hides behind, at least 0; hidden is the longest op of the same model
//     that is still running when the op becomes ready. As many ops as possible are assigned; the others wait
//     for the next step.
// Guarantee: heuristic; units, permissions and static memory are kept.
// Complexity: transient O(ops x (devices + ready ops)), with a limit on looks at ops that fit no idle device,
// published O((ops + edges) x devices), weighted
//   O(ops x ready ops x devices) for at most kWeightedDevices devices.
// When time runs out: nothing is reported.
#pragma once

#include "allot/solve.h"

namespace allot::baseline {

// Looks at waiting ops, beyond which the transient rule gives up: wide graphs on full devices.
inline constexpr std::size_t kTransientLooks = 20'000'000;
inline constexpr std::size_t kWeightedOps = 5'000;
inline constexpr std::size_t kWeightedDevices = 32;

SolveResult transientSpeedup(const Problem& problem, const Budget& budget, Progress& progress);
SolveResult transientSpeedupPublished(const Problem& problem, const Budget& budget, Progress& progress);
SolveResult weightedSpeedupPublished(const Problem& problem, const Budget& budget, Progress& progress);

}  // namespace allot::baseline
