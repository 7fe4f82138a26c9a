#include "solve/completion/price_curve.h"

#include <limits>

namespace allot {

void Prices::integrate() {
  integral.assign(level.size(), {});
  for (std::size_t c = 0; c < level.size(); ++c) {
    integral[c].reserve(slots() + 1);
    integral[c].push_back(0);
    for (const double price : level[c]) integral[c].push_back(integral[c].back() + price * width);
  }
}

void suffixMinimum(const Curve& f, Curve& out) {
  out.clear();
  out.slope = f.slope;
  const std::size_t n = f.x.size();
  // Built from the right, then turned around.
  double least = f.y[n - 1];
  out.add(f.x[n - 1], least);
  for (std::size_t k = n - 1; k-- > 0;) {
    const double here = f.y[k], next = f.y[k + 1];
    if (here >= least) {
      // Flat up to the next point. A flat piece needs its ends only.
      const std::size_t size = out.x.size();
      if (size >= 2 && out.y[size - 2] == least)
        out.x[size - 1] = f.x[k];
      else
        out.add(f.x[k], least);
      continue;
    }
    if (next > least) {
      const double crossing = f.x[k] + (f.x[k + 1] - f.x[k]) * ((least - here) / (next - here));
      if (crossing > f.x[k] && crossing < out.x.back()) out.add(crossing, least);
    }
    least = here;
    out.add(f.x[k], here);
  }
  std::reverse(out.x.begin(), out.x.end());
  std::reverse(out.y.begin(), out.y.end());
}

void smallerOf(const Curve& f, const Curve& g, double start, Curve& out) {
  out.clear();
  out.slope = std::min(f.slope, g.slope);
  std::size_t i = 0, j = 0;
  while (i < f.x.size() && f.x[i] <= start) ++i;
  while (j < g.x.size() && g.x[j] <= start) ++j;
  std::size_t at_f = i > 0 ? i - 1 : 0, at_g = j > 0 ? j - 1 : 0;
  double x = start, a = f.walk(x, at_f), b = g.walk(x, at_g);
  out.add(x, std::min(a, b));
  while (i < f.x.size() || j < g.x.size()) {
    double next = std::numeric_limits<double>::infinity();
    if (i < f.x.size()) next = f.x[i];
    if (j < g.x.size()) next = std::min(next, g.x[j]);
    while (i < f.x.size() && f.x[i] <= next) ++i;
    while (j < g.x.size() && g.x[j] <= next) ++j;
    const double next_a = f.walk(next, at_f), next_b = g.walk(next, at_g);
    if ((a < b && next_a > next_b) || (a > b && next_a < next_b)) {
      const double share = (b - a) / ((b - a) + (next_a - next_b));
      const double crossing = x + share * (next - x);
      if (crossing > x && crossing < next) {
        // The lower of both lines there, so that rounding cannot lift the result.
        const double on_a = a + (next_a - a) * share, on_b = b + (next_b - b) * share;
        out.add(crossing, std::min(on_a, on_b));
      }
    }
    out.add(next, std::min(next_a, next_b));
    x = next;
    a = next_a;
    b = next_b;
  }
}

void simplifyBelow(const Curve& f, double tolerance, Curve& out) {
  // Corners lie half the tolerance below the function, so that chords may pass over what is convex.
  const double half = tolerance / 2;
  out.clear();
  out.slope = f.slope;
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const std::size_t n = f.x.size();
  std::size_t anchor = 0;
  out.add(f.x[0], f.y[0] - half);
  while (anchor + 1 < n) {
    // Slopes of lines from the anchor that pass near all points on the way.
    double low = -kInfinity, high = kInfinity;
    std::size_t reach = anchor + 1;
    for (std::size_t k = anchor + 1; k < n; ++k) {
      const double dx = f.x[k] - f.x[anchor];
      const double slope = (f.y[k] - f.y[anchor]) / dx;
      if (slope >= low && slope <= high) reach = k;
      high = std::min(high, slope + half / dx);
      low = std::max(low, slope - half / dx);
      if (low > high) break;
    }
    anchor = reach;
    out.add(f.x[anchor], f.y[anchor] - half);
  }
}

}  // namespace allot
