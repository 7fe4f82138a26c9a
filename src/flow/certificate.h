// Checks what a min-cost flow solver claims, by code that shares nothing with the solvers.
//
// Problem: is this flow of least cost, is this network infeasible, is it unbounded?
// Method: complementary slackness of flow and potentials; supply of a cut against the capacity leaving it;
// cost of a cycle of unlimited arcs. All sums are 128 bits wide. Guarantee: success is a proof. Complexity:
// O(nodes + arcs).
#pragma once

#include <cstdint>
#include <vector>

#include "allot/result.h"

namespace allot::flow {

// Nodes and arcs by position; the vectors of nodes have the same length.
struct Certificate {
  struct Arc {
    std::uint32_t from = 0, to = 0;
    std::int64_t capacity = 0;  // largest 64-bit number: no limit
    std::int64_t cost = 0;
    std::int64_t flow = 0;
  };
  std::vector<std::int64_t> supply;
  std::vector<std::int64_t> potential;
  std::vector<Arc> arcs;
  std::vector<std::uint32_t> cut;    // nodes, where infeasible
  std::vector<std::uint32_t> cycle;  // arcs, where unbounded
};

// The cost, if flow and potentials prove it to be the least.
Result<std::int64_t> checkOptimal(const Certificate& certificate);
// Succeeds if the cut proves that no flow meets all supplies.
Result<void> checkInfeasible(const Certificate& certificate);
// Succeeds if the cycle proves that cost has no lower bound wherever some flow exists.
Result<void> checkUnbounded(const Certificate& certificate);

}  // namespace allot::flow
