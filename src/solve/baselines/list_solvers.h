// The list schedulers (events model): latency and completion, and those that order whole models (completion).
//
// Guarantee and complexity: list_schedule.h; each solver states its order and its choice of device in
// list_solvers.cpp.
#pragma once

#include "allot/solve.h"

namespace allot::baseline {

// ETF keeps every ready op in a queue of each device; beyond this many ops it is not worth its memory.
inline constexpr std::size_t kEtfLimit = 20'000;
// PEFT keeps ops x devices costs and looks at edges x devices^2 pairs.
inline constexpr double kPeftEntries = 5e7;
inline constexpr double kPeftPairs = 4e9;

SolveResult heft(const Problem& problem, const Budget& budget, Progress& progress);
SolveResult peft(const Problem& problem, const Budget& budget, Progress& progress);
SolveResult cpop(const Problem& problem, const Budget& budget, Progress& progress);
SolveResult etf(const Problem& problem, const Budget& budget, Progress& progress);
SolveResult minEft(const Problem& problem, const Budget& budget, Progress& progress);
SolveResult eft(const Problem& problem, const Budget& budget, Progress& progress);
SolveResult spt(const Problem& problem, const Budget& budget, Progress& progress);
SolveResult sptFastest(const Problem& problem, const Budget& budget, Progress& progress);

}  // namespace allot::baseline
