// Piecewise linear functions of time, from some start on, and prices that are constant over slots of time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace allot {

// Linear between its points, with a fixed slope behind the last.
struct Curve {
  std::vector<double> x, y;
  double slope = 0;

  void clear() {
    x.clear();
    y.clear();
  }
  void add(double at, double value) {
    x.push_back(at);
    y.push_back(value);
  }
  // Value at `at` >= the first x; `hint` is a point at or before it that later calls with larger `at` move
  // on.
  double walk(double at, std::size_t& hint) const {
    while (hint + 1 < x.size() && x[hint + 1] <= at) ++hint;
    if (hint + 1 == x.size()) return y[hint] + slope * (at - x[hint]);
    return y[hint] + (y[hint + 1] - y[hint]) * ((at - x[hint]) / (x[hint + 1] - x[hint]));
  }
  double at(double time) const {
    std::size_t hint = static_cast<std::size_t>(std::upper_bound(x.begin(), x.end(), time) - x.begin());
    hint = hint > 0 ? hint - 1 : 0;
    return walk(time, hint);
  }
};

// What a second of a device costs, by class and slot; nothing behind the last slot.
struct Prices {
  double width = 1;                           // seconds of a slot
  std::vector<std::vector<double>> level;     // [class][slot]
  std::vector<std::vector<double>> integral;  // [class][slot]: price of all time before the slot

  std::size_t slots() const { return level.front().size(); }
  double horizon() const { return width * static_cast<double>(slots()); }
  void integrate();
  // Price of all time before `time`.
  double before(std::size_t cls, double time) const {
    const double at = time / width;
    const auto slot = static_cast<std::size_t>(at);
    if (slot >= slots()) return integral[cls].back();
    return integral[cls][slot] + level[cls][slot] * (time - static_cast<double>(slot) * width);
  }
};

// out(t) = min over s >= t of f(s). May be called with a function whose last slope is not negative.
void suffixMinimum(const Curve& f, Curve& out);
// out = the smaller of both, from `start` on.
void smallerOf(const Curve& f, const Curve& g, double start, Curve& out);
// A function with few points that is nowhere above `f` and nowhere more than `tolerance` below it.
void simplifyBelow(const Curve& f, double tolerance, Curve& out);

}  // namespace allot
