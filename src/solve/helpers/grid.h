// Seconds as whole numbers, for solvers that count.
//
// A grid of the form 5^-a 2^-b seconds holds decimal and binary fractions alike, so times that people write
// down are multiples of one that is not very fine.
#pragma once

#include <algorithm>
#include <cmath>

namespace allot {

// Multiples of the grid are kept as they are although division rounds; all else is rounded down.
inline double wholes(double seconds, double grid) {
  return std::floor(seconds / grid + 0x1.0p-10);
}

// The coarsest grid below `value` that is fine enough, or 0 when none above 1e-14 of the value is.
template <class FineEnough>
double coarsestGrid(double value, FineEnough&& fine_enough) {
  constexpr double kFinest = 1e-14;
  double best = 0;
  double power = 1;
  for (int a = 0; a <= 15; ++a, power /= 5) {
    int exponent = 0;
    std::frexp(value / power, &exponent);
    for (double grid = std::ldexp(power, exponent); grid > std::max(best, kFinest * value); grid /= 2) {
      if (!fine_enough(grid)) continue;
      best = grid;
      break;
    }
  }
  return best;
}

}  // namespace allot
