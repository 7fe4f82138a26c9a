// Proven best pipelines of contiguous stages.
//
// Problem: throughput with contiguity `chain`, every mode.
// Method: ChainSearch below a cut-off. The first try uses the best plan known as cut-off: if no chain is
// below it, that plan is optimal, and one pass has proved it. Where that would take long, cut-offs rise from
// the lower bound instead: each pass either finds the optimum or raises the bound to its cut-off. max-parts
// (largest forward load + largest rest): the rest is minimised under a limit on the forward load, and the
// limit falls below the forward load of each answer until the sum cannot improve any more; answers in between
// cannot be better, because their rest is no smaller and their forward load no less. by-link: ChainSearch
// works on lower loads, so its answers are bounds; its chain is offered as a plan. Guarantee: exhausted = no
// chain is better than the plan reported; otherwise the bound reported holds. Complexity: see chain_search.h;
// memory within the budget, else it ends with the bound reached.
#pragma once

#include "allot/solve.h"

namespace allot {

bool chainAccepts(const Problem& problem);
SolveResult solveChain(const Problem& problem, const Budget& budget, Progress& progress);

}  // namespace allot
