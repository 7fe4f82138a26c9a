// Graphs whose ideals cannot be listed: parallel branches, many heads, grids, layers.
//
// Op times are log-normal around a millisecond; a tensor takes `transfer` times as long on average. The same
// arguments give the same problem on every platform. Goal throughput, contiguity chain.
#pragma once

#include <cstdint>

#include "allot/problem.h"
#include "allot/solve.h"

namespace allot {

struct WideOptions {
  std::uint32_t devices = 8;  // accelerators
  bool unlike = false;        // every second accelerator is 2.5 times slower, and there is a cpu beside them
  double transfer = 0.3;
  std::uint64_t seed = 1;
};

// A source, `branches` chains of `length` ops, a sink.
Result<Problem> branchGraph(std::uint32_t branches, std::uint32_t length, const WideOptions& options);
// Per layer: an op that all heads read, heads that are chains of `length` ops, an op that joins them, two
// more ops with a residual edge around them.
Result<Problem> headGraph(std::uint32_t layers, std::uint32_t heads, std::uint32_t length,
                          const WideOptions& options);
// Each op reads the one above and the one to the left.
Result<Problem> gridGraph(std::uint32_t rows, std::uint32_t columns, const WideOptions& options);
// Layers of `width` ops; each op reads 1 to 3 ops of the layer before: near ones, and one in 20 from
// anywhere.
Result<Problem> layeredGraph(std::uint32_t ops, std::uint32_t width, const WideOptions& options);

// What a solver makes of the plan of linear-dp, with one thread.
SolveOutcome solveFromLinearDp(const Problem& problem, const char* solver, double gap = 0);

}  // namespace allot
