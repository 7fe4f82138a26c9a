// Solve small, then refine: the graph is contracted (fused groups, chains, heavy edges) to some hundred
// parts, the parts are placed by list schedulers and annealing, and the plan is refined op by op on the whole
// graph.
//
// Fused groups of the option `fuse` are never split: they share a unit. The contraction keeps the graph
// acyclic (graph/contraction.h) and the parts placeable. The label of a plan's solver says what the
// coarsening cost: the value of the plan of parts on the whole graph, and what refining made of it.
// Guarantee: heuristic; never worse than its plan of parts. Complexity: contraction near-linear in edges per
// round; the searches take what time they are given. When time runs out: the best plan so far.
#pragma once

#include "allot/solve.h"

namespace allot {

inline constexpr std::size_t kCoarseParts = 200;

bool coarseAccepts(const Problem& problem);
SolveResult solveCoarse(const Problem& problem, const Budget& budget, Progress& progress);

// By op: its part after joining fused groups and chains, then heavy edges until `target` parts or the
// end of the budget.
std::vector<std::uint32_t> coarsen(const Problem& problem, std::size_t target, const Budget& budget);

// The best plan of the parts that the list schedulers and annealing find, as decisions on the whole graph;
// absent when there is none.
std::optional<Plan> solveParts(const Problem& problem, const std::vector<std::uint32_t>& part,
                               const Budget& budget);

}  // namespace allot
