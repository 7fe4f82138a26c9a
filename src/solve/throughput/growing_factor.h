// The Cholesky factor of a positive definite matrix whose rows come and go.
//
// Problem: an active-set method solves with the same matrix again and again, a row and its column more or
// less each time. Method: a new row is one forward substitution; when a row goes, rotations of neighbouring
// columns make the rest triangular again. A pivot that rounding has eaten counts as a small share of its
// diagonal, so that nearly dependent rows do no harm. Complexity: O(n^2) for each call.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace allot {

class GrowingFactor {
 public:
  std::size_t size() const { return rows_.size(); }
  void clear() { rows_.clear(); }
  // `row`: products with the rows so far, and with itself last.
  void append(std::vector<double> row);
  void erase(std::size_t index);
  // Solves matrix * x = x in place.
  void solve(std::span<double> x) const;

 private:
  std::vector<std::vector<double>> rows_;  // of the lower triangle
};

}  // namespace allot
