#include <cmath>
#include <limits>

#include "formats/onnx/fold.h"

namespace allot::onnx {
namespace {

// A truth value for each pair of entries; kHole where either is not known.
template <class Test>
void compare(Site& site, Test test) {
  Value& out = site.outputs[0];
  const Value* a = site.in(0);
  const Value* b = site.in(1);
  const auto places = pairPlaces(site);
  if (!places) return;
  const auto& [left, right] = *places;
  std::vector<std::int64_t> truth(left.size());
  for (std::size_t at = 0; at < left.size(); ++at) {
    if (a->integers && b->integers) {
      const std::int64_t x = (*a->integers)[left[at]];
      const std::int64_t y = (*b->integers)[right[at]];
      truth[at] = x == kHole || y == kHole ? kHole : static_cast<std::int64_t>(test(x, y));
    } else {
      const double x = realAt(*a, left[at]);
      const double y = realAt(*b, right[at]);
      truth[at] = std::isnan(x) || std::isnan(y) ? kHole : static_cast<std::int64_t>(test(x, y));
    }
  }
  out.integers = std::move(truth);
}

}  // namespace

void foldAnd(Site& site) {
  compare(site, [](auto a, auto b) { return a != 0 && b != 0; });
}

void foldOr(Site& site) {
  compare(site, [](auto a, auto b) { return a != 0 || b != 0; });
}

void foldXor(Site& site) {
  compare(site, [](auto a, auto b) { return (a != 0) != (b != 0); });
}

void foldEqual(Site& site) {
  compare(site, [](auto a, auto b) { return a == b; });
}

void foldLess(Site& site) {
  compare(site, [](auto a, auto b) { return a < b; });
}

void foldLessOrEqual(Site& site) {
  compare(site, [](auto a, auto b) { return a <= b; });
}

void foldGreater(Site& site) {
  compare(site, [](auto a, auto b) { return a > b; });
}

void foldGreaterOrEqual(Site& site) {
  compare(site, [](auto a, auto b) { return a >= b; });
}

void foldWhere(Site& site) {
  Value& out = site.outputs[0];
  const Value* which = site.in(0);
  const Value* a = site.in(1);
  const Value* b = site.in(2);
  if (!hasContents(which) || !which->integers || !hasContents(a) || !hasContents(b) ||
      a->integers.has_value() != b->integers.has_value()) {
    return;
  }
  const auto at_which = broadcastPlaces(*which->shape, *out.shape);
  const auto at_a = broadcastPlaces(*a->shape, *out.shape);
  const auto at_b = broadcastPlaces(*b->shape, *out.shape);
  if (at_which.size() != at_a.size() || at_a.size() != at_b.size()) return;
  std::vector<std::int64_t> integers;
  std::vector<double> numbers;
  for (std::size_t at = 0; at < at_which.size(); ++at) {
    const std::int64_t chosen = (*which->integers)[at_which[at]];
    if (a->integers) {
      const std::int64_t x = (*a->integers)[at_a[at]];
      const std::int64_t y = (*b->integers)[at_b[at]];
      integers.push_back(chosen == kHole ? (x == y ? x : kHole) : chosen != 0 ? x : y);
    } else {
      const double x = (*a->numbers)[at_a[at]];
      const double y = (*b->numbers)[at_b[at]];
      numbers.push_back(chosen == kHole ? (x == y ? x : std::numeric_limits<double>::quiet_NaN())
                        : chosen != 0   ? x
                                        : y);
    }
  }
  if (a->integers) {
    out.integers = std::move(integers);
  } else {
    out.numbers = std::move(numbers);
  }
}

}  // namespace allot::onnx
