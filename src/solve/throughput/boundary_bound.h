// A lower bound on chains from what must cross between stages.
//
// Problem: throughput with contiguity `chain`, `sum` overlap and training load, no replicas or limit on
// stages, on like accelerators and at most one cpu device. Method: refute a value T. All k accelerators are
// needed when one less could not do the work in T each. Then the set of items up to the end of the b-th
// accelerator's stage is an ideal whose work lies in a window that T leaves; some items are surely in it,
// some surely not, and the nets between pay at least the minimum cut that keeps it an ideal. Both sides of a
// cut net pay (one side where a cpu may hold the other). A net that could cross several boundaries counts in
// shares. Work and all cuts together must fit into the devices: k T (and the cpu's part) >= work + cuts, else
// T is refuted. The largest T that is refuted is found by bisection. Guarantee: valid for every plan under
// the modes above; the cut is computed by maximum flow and rounding is taken off. Complexity: O(items *
// edges) once, then some twenty times k flows over the items of a window. Out of time: the best bound so far.
#pragma once

#include "allot/solve.h"

namespace allot {

bool boundaryBoundAccepts(const Problem& problem);
SolveResult solveBoundaryBound(const Problem& problem, const Budget& budget, Progress& progress);

}  // namespace allot
