// Graphs on which a loop that is not near linear takes minutes: stars, complete graphs, long chains, grids,
// many devices, many models. The same arguments give the same problem on every platform.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "allot/problem.h"

namespace allot {

struct LargeGraph {
  std::string name;
  Problem problem;
};

// One of each family; `size`: of some thousand ops, or as many edges. Every model is one graph of its own
// where the goal is completion.
std::vector<LargeGraph> largeGraphs(const Modes& modes, double size);

}  // namespace allot
