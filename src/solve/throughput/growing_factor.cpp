#include "solve/throughput/growing_factor.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace allot {
namespace {

constexpr double kLeastPivot = 1e-9;  // of the diagonal

// Eight sums, so that additions need not wait for each other.
double dot(const double* __restrict a, const double* __restrict b, std::size_t n) {
  double sums[8] = {};
  std::size_t i = 0;
  for (; i + 8 <= n; i += 8) {
    for (std::size_t k = 0; k < 8; ++k) sums[k] += a[i + k] * b[i + k];
  }
  for (; i < n; ++i) sums[0] += a[i] * b[i];
  return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

// Of a column of the factor and the column that is added or taken off.
struct Turn {
  double cosine, sine, inverse;  // one over the cosine
};

// Turns entries of some rows, each with what its row has in the other column.
template <bool kAdd, std::size_t kRows>
void turn(std::array<double*, kRows> rows, double* other, std::span<const Turn> turns) {
  std::array<double, kRows> x;
  for (std::size_t k = 0; k < kRows; ++k) x[k] = other[k];
  for (std::size_t j = 0; j < turns.size(); ++j) {
    const Turn by = turns[j];
    for (std::size_t k = 0; k < kRows; ++k) {
      const double entry = rows[k][j];
      if constexpr (kAdd) {
        rows[k][j] = by.cosine * entry + by.sine * x[k];
        x[k] = by.cosine * x[k] - by.sine * entry;
      } else {
        rows[k][j] = (entry - by.sine * x[k]) * by.inverse;
        x[k] = by.cosine * x[k] - by.sine * rows[k][j];
      }
    }
  }
  for (std::size_t k = 0; k < kRows; ++k) other[k] = x[k];
}

template <bool kAdd>
Turn turnOf(double& pivot, double other) {
  if constexpr (kAdd) {
    const double length = std::sqrt(pivot * pivot + other * other);
    const Turn by{pivot / length, other / length, length / pivot};
    pivot = length;
    return by;
  } else {
    const double sine = other / pivot;
    const double cosine = std::sqrt(std::max(1 - sine * sine, kLeastPivot));
    pivot *= cosine;
    return {cosine, sine, 1 / cosine};
  }
}

}  // namespace

void GrowingFactor::clear(std::size_t sides) {
  rows_.clear();
  sides_.assign(sides, {});
}

void GrowingFactor::append(std::vector<double> row, std::span<const double> sides) {
  const std::size_t i = size();
  for (std::size_t j = 0; j < i; ++j) row[j] = (row[j] - dot(row.data(), rows_[j].data(), j)) / rows_[j][j];
  row[i] = std::sqrt(std::max(row[i] - dot(row.data(), row.data(), i), kLeastPivot * row[i]));
  for (std::size_t k = 0; k < sides_.size(); ++k)
    sides_[k].push_back((sides[k] - dot(row.data(), sides_[k].data(), i)) / row[i]);
  rows_.push_back(std::move(row));
}

template <bool kAdd>
void GrowingFactor::change(std::size_t first, std::vector<double> column, std::vector<double> times) {
  // A turn waits for the one before it, so some rows are turned side by side.
  constexpr std::size_t kAbreast = 4;
  const std::size_t n = size();
  std::vector<Turn> turns;
  turns.reserve(n - first);
  for (std::size_t begin = first; begin < n; begin += kAbreast) {
    const std::size_t end = std::min(begin + kAbreast, n);
    if (end - begin == kAbreast) {
      turn<kAdd, kAbreast>({&rows_[begin][first], &rows_[begin + 1][first], &rows_[begin + 2][first],
                            &rows_[begin + 3][first]},
                           &column[begin - first], turns);
    } else {
      for (std::size_t i = begin; i < end; ++i) turn<kAdd, 1>({&rows_[i][first]}, &column[i - first], turns);
    }
    for (std::size_t i = begin; i < end; ++i) {
      turn<kAdd, 1>({&rows_[i][begin]}, &column[i - first], std::span(turns).subspan(begin - first));
      turns.push_back(turnOf<kAdd>(rows_[i][i], column[i - first]));
    }
  }
  for (std::size_t k = 0; k < sides_.size(); ++k) turn<kAdd, 1>({sides_[k].data() + first}, &times[k], turns);
}

void GrowingFactor::erase(std::size_t index) {
  rows_.erase(rows_.begin() + static_cast<std::ptrdiff_t>(index));
  // What the rows behind it have in its column must be in the other columns.
  const auto take = [&](std::vector<double>& row) {
    const double entry = row[index];
    row.erase(row.begin() + static_cast<std::ptrdiff_t>(index));
    return entry;
  };
  std::vector<double> column, times;
  for (std::size_t i = index; i < size(); ++i) column.push_back(take(rows_[i]));
  for (auto& side : sides_) times.push_back(take(side));
  change<true>(index, std::move(column), std::move(times));
}

void GrowingFactor::add(std::span<const double> column, std::span<const double> times) {
  change<true>(0, {column.begin(), column.end()}, {times.begin(), times.end()});
}

void GrowingFactor::subtract(std::span<const double> column, std::span<const double> times) {
  change<false>(0, {column.begin(), column.end()}, {times.begin(), times.end()});
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
    for (std::size_t j = 0; j < i; ++j) x[j] -= x[i] * rows_[i][j];
  }
  return x;
}

}  // namespace allot
