// PipeDream's optimiser as a baseline (Narayanan et al., SOSP 2019; rules as read in its published planner).
//
// Problem: split a line of layers into stages on identical machines. Assumptions, its own and not ours: all
// machines are like the first one; transfers between stages are free; a stage on r machines takes
//   (compute + 4 (r - 1) / r * weights / bandwidth) / r
// and, under `in-flight`, holds all its bytes once for each of the ceil(machines left / r) samples on the
// way.
//
// Method: the module order is the line; dynamic programme over (layer, machines left). A longer stage is
// never faster and a shorter rest never slower, so that the best end of a stage moves one way and is
// followed. Where nothing fits with samples in flight counted, they are left out, as without the planner's
// memory switch.
//
// Guarantee: heuristic; the plan is judged by the real costs like any other. Stages have one device unless
// replicate is on.
// Complexity: O(layers * machines), machines squared with replicate; the table holds layers * machines
// entries.
// When time runs out: nothing is reported.
#pragma once

#include "allot/solve.h"

namespace allot::baseline {

SolveResult pipedream(const Problem& problem, const Budget& budget, Progress& progress);

}  // namespace allot::baseline
