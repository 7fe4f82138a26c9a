// The Cholesky factor of a positive definite matrix that changes a little at a time.
//
// Problem: an active-set method solves with almost the same matrix and the same right-hand sides again and
// again. Method: a new row is one forward substitution; when a row and its column go, or the product of a
// vector with itself is added or taken off, rotations (hyperbolic ones for the last) make the rest triangular
// again. The sides are kept forward-substituted all the while, as if they were rows of the factor, so that
// products of them are dot products and a solution is one backward substitution. A pivot that rounding has
// eaten counts as a small share of its diagonal, so that nearly dependent rows do no harm. Complexity: O(n^2)
// for each call, products O(n).
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace allot {

class GrowingFactor {
 public:
  std::size_t size() const { return rows_.size(); }
  // A matrix without rows, and so many right-hand sides.
  void clear(std::size_t sides);
  // `row`: products with the rows so far, and with itself last. `sides`: what each right-hand side has there.
  void append(std::vector<double> row, std::span<const double> sides);
  void erase(std::size_t index);
  // Adds the product of the column with itself to the matrix, and the column so many times to each side; or
  // takes them off.
  void add(std::span<const double> column, std::span<const double> times);
  void subtract(std::span<const double> column, std::span<const double> times);
  // One side times the inverse of the matrix times another.
  double product(std::size_t side, std::size_t other) const;
  // The inverse of the matrix times the sum of the sides, each so many times.
  std::vector<double> solve(std::span<const double> times) const;

 private:
  std::vector<std::vector<double>> rows_;   // of the lower triangle
  std::vector<std::vector<double>> sides_;  // solved with it

  // Of the part of the matrix from a row on: `column` and `times` are used up.
  template <bool kAdd>
  void change(std::size_t first, std::vector<double> column, std::vector<double> times);
};

}  // namespace allot
