// Things sorted into rows by their owner, within a row in the order given.
#pragma once

#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "allot/graph.h"

namespace allot {

// owner[i] < rows is the row of items[i].
template <class T>
Csr<T> rowsByOwner(std::span<const T> items, std::span<const std::uint32_t> owner, std::size_t rows) {
  Csr<T> sorted;
  sorted.begin.assign(rows + 1, 0);
  for (const std::uint32_t row : owner) ++sorted.begin[row + 1];
  std::partial_sum(sorted.begin.begin(), sorted.begin.end(), sorted.begin.begin());
  sorted.items.resize(items.size());
  std::vector<std::uint32_t> place(sorted.begin.begin(), sorted.begin.end() - 1);
  for (std::size_t i = 0; i < items.size(); ++i) sorted.items[place[owner[i]]++] = items[i];
  return sorted;
}

}  // namespace allot
