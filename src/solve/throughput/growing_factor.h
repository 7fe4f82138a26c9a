// The Cholesky factor of a positive definite matrix whose rows come and go.
//
// Problem: an active-set method solves with the same matrix and the same right-hand sides again and again, a
// row and its column more or less each time. Method: a new row is one forward substitution; when a row goes,
// rotations of neighbouring columns make the rest triangular again. The sides are kept forward-substituted
// all the while, so that products of them are dot products and a solution is one backward substitution. A
// pivot that rounding has eaten counts as a small share of its diagonal, so that nearly dependent rows do no
// harm. Complexity: O(n^2) for each call, products O(n).
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace allot {

class GrowingFactor {
 public:
  std::size_t size() const { return rows_.size(); }
  void clear();
  // `row`: products with the rows so far, and with itself last. `sides`: what each right-hand side has there.
  void append(std::vector<double> row, std::span<const double> sides = {});
  void erase(std::size_t index);
  // Other right-hand sides.
  void setSides(std::vector<std::vector<double>> sides);
  // One side times the inverse of the matrix times another.
  double product(std::size_t side, std::size_t other) const;
  // The inverse of the matrix times the sum of the sides, each so many times.
  std::vector<double> solve(std::span<const double> times) const;

 private:
  std::vector<std::vector<double>> rows_;   // of the lower triangle
  std::vector<std::vector<double>> sides_;  // solved with it
};

}  // namespace allot
