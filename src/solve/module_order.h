// The module order: units in a line, as frameworks that split a model into consecutive parts see it.
//
// Problem: order the units so that any cut of the line into consecutive parts is a chain of ideals of the
// forward graph. Method: the forward graph contracted by units. A training unit without a forward op takes
// part through the reversed edges
//   of its ops, because backward ops follow the pipeline in the other direction. Strongly connected units
//   become one block.
// Complexity: O(ops + edges log edges); O(ops) where every op is a unit of its own and forward.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "allot/problem.h"

namespace allot {

// Units that stay together and stand at one place of the line.
struct Block {
  std::span<const UnitId> units;  // into ModuleOrder::units
  std::size_t ops = 0;
  double resident_bytes = 0;
  std::int64_t weight_bytes = 0;
};

struct ModuleOrder {
  std::vector<UnitId> units;  // block by block
  std::vector<Block> blocks;

  ModuleOrder() = default;
  ModuleOrder(ModuleOrder&&) = default;
  ModuleOrder& operator=(ModuleOrder&&) = default;
};

ModuleOrder moduleOrder(const Problem& problem);

bool allowed(const Problem& problem, const Block& block, DeviceId device);

}  // namespace allot
