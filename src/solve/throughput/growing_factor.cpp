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

void GrowingFactor::append(std::vector<double> row) {
  const std::size_t i = size();
  for (std::size_t j = 0; j < i; ++j) row[j] = (row[j] - dot(row.data(), rows_[j].data(), j)) / rows_[j][j];
  row[i] = std::sqrt(std::max(row[i] - dot(row.data(), row.data(), i), kLeastPivot * row[i]));
  rows_.push_back(std::move(row));
}

void GrowingFactor::erase(std::size_t index) {
  rows_.erase(rows_.begin() + static_cast<std::ptrdiff_t>(index));
  // The rows behind it reach one column too far: turning pairs of columns brings them back and leaves all
  // products as they are.
  std::vector<double> cosine, sine;
  for (std::size_t i = index; i < size(); ++i) {
    std::vector<double>& row = rows_[i];
    for (std::size_t j = index; j < i; ++j) {
      const double left = row[j], right = row[j + 1];
      row[j] = cosine[j - index] * left + sine[j - index] * right;
      row[j + 1] = cosine[j - index] * right - sine[j - index] * left;
    }
    const double length = std::hypot(row[i], row[i + 1]);
    cosine.push_back(row[i] / length);
    sine.push_back(row[i + 1] / length);
    row[i] = length;
    row.pop_back();
  }
}

void GrowingFactor::solve(std::span<double> x) const {
  for (std::size_t i = 0; i < size(); ++i) x[i] = (x[i] - dot(rows_[i].data(), x.data(), i)) / rows_[i][i];
  for (std::size_t i = size(); i-- > 0;) {
    x[i] /= rows_[i][i];
    for (std::size_t j = 0; j < i; ++j) x[j] -= rows_[i][j] * x[i];
  }
}

}  // namespace allot
