// Baechi's placers (Jeon et al., SoCC 2020): m-TOPO, m-ETF and m-SCT, on this project's devices and links.
//
// m-TOPO fills devices in topological order up to an equal share of the bytes plus the largest unit. m-ETF
// takes the ready op and device that start first, ports and memory considered. m-SCT does the same, but a
// linear program on mean times first chooses for each op a favourite child that should follow it on its
// device at once; a device that has just run an op is kept for the favourite child unless another op could
// start no later anywhere. Heuristic, made for identical devices. Complexity: m-TOPO O(ops + edges); the
// others O(ops x ready ops x devices), m-SCT with a linear program of ops + edges columns, given up beyond
// kSctRows. When time runs out: no plan.
#pragma once

#include "allot/solve.h"

namespace allot::baseline {

inline constexpr std::size_t kEarliestStartLimit = 2'000;  // ops
inline constexpr std::size_t kSctRows = 4'000;             // edges + ops

SolveResult mTopo(const Problem& problem, const Budget& budget, Progress& progress);
SolveResult mEtf(const Problem& problem, const Budget& budget, Progress& progress);
SolveResult mSct(const Problem& problem, const Budget& budget, Progress& progress);

}  // namespace allot::baseline
