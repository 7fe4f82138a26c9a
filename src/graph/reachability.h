// Which op can be reached from which.
//
// Up to kClosureLimit ops the transitive closure is kept as bitsets (n^2 / 8 bytes, 50 MB at 20,000 ops) and
// a query is one bit. Beyond that a query walks forward from the source, never past the target's topological
// position: O(ops between).
#pragma once

#include <cstdint>
#include <vector>

#include "allot/graph.h"
#include "base/bitset.h"

namespace allot {

class Reachability {
 public:
  static constexpr std::size_t kClosureLimit = 20'000;

  explicit Reachability(const OpGraph& graph, std::size_t closure_limit = kClosureLimit);

  // True when a path of one or more edges leads from `from` to `to`.
  bool reaches(OpId from, OpId to) const;
  bool comparable(OpId a, OpId b) const { return a == b || reaches(a, b) || reaches(b, a); }

 private:
  const OpGraph* graph_;
  std::vector<Bitset> descendants_;  // empty beyond the limit
  mutable std::vector<std::uint32_t> mark_;
  mutable std::uint32_t stamp_ = 0;
};

// Ops that every other op precedes or follows, in topological order. O(ops + edges).
std::vector<OpId> barriers(const OpGraph& graph);

}  // namespace allot
