// Ideals (down-sets) of the graph: sets that hold every predecessor of their members. A pipeline's stages are
// differences of a chain of ideals.
#pragma once

#include <cstddef>
#include <vector>

#include "allot/graph.h"
#include "base/bitset.h"

namespace allot {

bool isIdeal(const OpGraph& graph, const Bitset& ops);

// The smallest ideal that holds `ops`.
Bitset idealClosure(const OpGraph& graph, const Bitset& ops);

// All ideals, by size, the empty one first; empty when there are more than `limit`. O(ideals x ops) time and
// space.
std::vector<Bitset> enumerateIdeals(const OpGraph& graph, std::size_t limit);

}  // namespace allot
