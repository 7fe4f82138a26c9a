// A set of items that one device of a pool may hold.
#pragma once

#include <cstdint>
#include <vector>

namespace allot {

struct CoverSet {
  std::size_t pool;
  std::vector<std::uint32_t> items;
  double weight;  // part of a device that holds it
};

}  // namespace allot
