// Pesto (Hafeez et al., Middleware 2021): contract edges by heights until about 200 vertices are left, then
// place and order those.
//
// Edges of more bytes are contracted first; in a round each op is in at most one contraction, between
// neighbouring heights, so that the graph stays acyclic (graph/contraction.h). The published system solves
// the coarse graph as an integer program; here list schedulers and annealing do. Nothing is refined
// afterwards. Heuristic. Complexity: near-linear per round, plus the search on 200 parts. When time runs out:
// no plan, or the best so far.
#pragma once

#include "allot/solve.h"

namespace allot::baseline {

inline constexpr std::size_t kPestoParts = 200;
inline constexpr std::size_t kPestoLimit = 20'000;  // ops

SolveResult pesto(const Problem& problem, const Budget& budget, Progress& progress);

}  // namespace allot::baseline
