#include "solve/throughput/growing_factor.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace allot {
namespace {

constexpr double kLeastPivot = 1e-9;  // of the diagonal

// The loops that take the time. Eight sums, so that additions need not wait for each other.
inline __attribute__((always_inline)) double sumProducts(const double* __restrict a,
                                                         const double* __restrict b, std::size_t n) {
  double sums[8] = {};
  std::size_t i = 0;
  for (; i + 8 <= n; i += 8) {
    for (std::size_t k = 0; k < 8; ++k) sums[k] += a[i + k] * b[i + k];
  }
  for (; i < n; ++i) sums[0] += a[i] * b[i];
  return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}
inline __attribute__((always_inline)) void takeTimes(double times, const double* __restrict row,
                                                     double* __restrict from, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) from[i] -= times * row[i];
}

double dotNarrow(const double* a, const double* b, std::size_t n) {
  return sumProducts(a, b, n);
}
void subtractNarrow(double times, const double* row, double* from, std::size_t n) {
  takeTimes(times, row, from, n);
}

#if defined(__x86_64__)
// Sums in the same order, so results are those of any other machine.
__attribute__((target("avx2"))) double dotWide(const double* a, const double* b, std::size_t n) {
  return sumProducts(a, b, n);
}
__attribute__((target("avx2"))) void subtractWide(double times, const double* row, double* from,
                                                  std::size_t n) {
  takeTimes(times, row, from, n);
}

const bool kWide = __builtin_cpu_supports("avx2");
const auto dot = kWide ? dotWide : dotNarrow;
const auto subtract = kWide ? subtractWide : subtractNarrow;
#else
const auto dot = dotNarrow;
const auto subtract = subtractNarrow;
#endif

}  // namespace

void GrowingFactor::clear() {
  rows_.clear();
  for (auto& side : sides_) side.clear();
}

void GrowingFactor::append(std::vector<double> row, std::span<const double> sides) {
  const std::size_t i = size();
  for (std::size_t j = 0; j < i; ++j) row[j] = (row[j] - dot(row.data(), rows_[j].data(), j)) / rows_[j][j];
  row[i] = std::sqrt(std::max(row[i] - dot(row.data(), row.data(), i), kLeastPivot * row[i]));
  for (std::size_t k = 0; k < sides_.size(); ++k)
    sides_[k].push_back((sides[k] - dot(row.data(), sides_[k].data(), i)) / row[i]);
  rows_.push_back(std::move(row));
}

void GrowingFactor::erase(std::size_t index) {
  rows_.erase(rows_.begin() + static_cast<std::ptrdiff_t>(index));
  // The rows behind it reach one column too far: turning pairs of columns brings them back and leaves all
  // products as they are.
  std::vector<double> cosine, sine;
  const auto turn = [&](std::vector<double>& row, std::size_t end) {
    for (std::size_t j = index; j < end; ++j) {
      const double left = row[j], right = row[j + 1];
      row[j] = cosine[j - index] * left + sine[j - index] * right;
      row[j + 1] = cosine[j - index] * right - sine[j - index] * left;
    }
  };
  for (std::size_t i = index; i < size(); ++i) {
    std::vector<double>& row = rows_[i];
    turn(row, i);
    const double length = std::hypot(row[i], row[i + 1]);
    cosine.push_back(row[i] / length);
    sine.push_back(row[i + 1] / length);
    row[i] = length;
    row.pop_back();
  }
  for (auto& side : sides_) {
    turn(side, size());
    side.pop_back();
  }
}

void GrowingFactor::setSides(std::vector<std::vector<double>> sides) {
  sides_ = std::move(sides);
  for (auto& side : sides_) {
    for (std::size_t i = 0; i < size(); ++i)
      side[i] = (side[i] - dot(rows_[i].data(), side.data(), i)) / rows_[i][i];
  }
}

double GrowingFactor::product(std::size_t side, std::size_t other) const {
  return dot(sides_[side].data(), sides_[other].data(), size());
}

std::vector<double> GrowingFactor::solve(std::span<const double> times) const {
  std::vector<double> x(size(), 0);
  for (std::size_t k = 0; k < sides_.size(); ++k) {
    for (std::size_t i = 0; i < size(); ++i) x[i] += times[k] * sides_[k][i];
  }
  for (std::size_t i = size(); i-- > 0;) {
    x[i] /= rows_[i][i];
    subtract(x[i], rows_[i].data(), x.data(), i);
  }
  return x;
}

}  // namespace allot
