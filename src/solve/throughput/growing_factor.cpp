#include "solve/throughput/growing_factor.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace allot {
namespace {

constexpr double kLeastPivot = 1e-9;  // of the diagonal

// Four sums, so that additions need not wait for each other.
double dot(const double* a, const double* b, std::size_t n) {
  double sums[4] = {0, 0, 0, 0};
  std::size_t i = 0;
  for (; i + 4 <= n; i += 4) {
    for (std::size_t k = 0; k < 4; ++k) sums[k] += a[i + k] * b[i + k];
  }
  for (; i < n; ++i) sums[0] += a[i] * b[i];
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

}  // namespace

void GrowingFactor::clear() {
  matrix_.clear();
  factor_.clear();
}

void GrowingFactor::factorRow(std::size_t i) {
  std::vector<double>& row = factor_[i];
  row = matrix_[i];
  for (std::size_t j = 0; j < i; ++j)
    row[j] = (row[j] - dot(row.data(), factor_[j].data(), j)) / factor_[j][j];
  row[i] = std::sqrt(std::max(row[i] - dot(row.data(), row.data(), i), kLeastPivot * row[i]));
}

void GrowingFactor::append(std::vector<double> row) {
  matrix_.push_back(std::move(row));
  factor_.emplace_back();
  factorRow(size() - 1);
}

void GrowingFactor::erase(std::size_t index) {
  const auto at = static_cast<std::ptrdiff_t>(index);
  matrix_.erase(matrix_.begin() + at);
  factor_.erase(factor_.begin() + at);
  for (std::size_t i = index; i < size(); ++i) {
    matrix_[i].erase(matrix_[i].begin() + at);
    factorRow(i);
  }
}

void GrowingFactor::solve(std::span<double> x) const {
  for (std::size_t i = 0; i < size(); ++i)
    x[i] = (x[i] - dot(factor_[i].data(), x.data(), i)) / factor_[i][i];
  for (std::size_t i = size(); i-- > 0;) {
    x[i] /= factor_[i][i];
    for (std::size_t j = 0; j < i; ++j) x[j] -= factor_[i][j] * x[i];
  }
}

}  // namespace allot
