#include <algorithm>
#include <cmath>
#include <limits>

#include "formats/onnx/fold.h"

namespace allot::onnx {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

double rounded(double number, ElementType type) {
  return type == ElementType::kFloat ? static_cast<double>(static_cast<float>(number)) : number;
}

// Applies `whole` to integers and `real` to floats, left to right over all inputs.
template <class Whole, class Real>
void combine(Site& site, Whole whole, Real real) {
  Value& out = site.outputs[0];
  const Shape& shape = *out.shape;
  const auto count = static_cast<std::size_t>(product(shape));
  std::vector<std::int64_t> integers;
  std::vector<double> numbers;
  const bool integral = site.in(0) != nullptr && site.in(0)->integers.has_value();
  for (std::size_t input = 0; input < site.inputs.size(); ++input) {
    const Value* value = site.in(input);
    if (!hasContents(value) || value->integers.has_value() != integral) return;
    const std::vector<std::size_t> places = broadcastPlaces(*value->shape, shape);
    if (places.size() != count) return;
    if (input == 0) {
      for (const std::size_t place : places) {
        if (integral) {
          integers.push_back((*value->integers)[place]);
        } else {
          numbers.push_back((*value->numbers)[place]);
        }
      }
      continue;
    }
    for (std::size_t at = 0; at < count; ++at) {
      if (integral) {
        const std::int64_t more = (*value->integers)[places[at]];
        integers[at] = integers[at] == kHole || more == kHole ? kHole : whole(integers[at], more);
      } else {
        numbers[at] = rounded(real(numbers[at], (*value->numbers)[places[at]]), out.element);
      }
    }
  }
  if (integral) {
    out.integers = std::move(integers);
  } else {
    out.numbers = std::move(numbers);
  }
}

template <class Whole, class Real>
void each(Site& site, Whole whole, Real real) {
  Value& out = site.outputs[0];
  const Value* in = site.in(0);
  if (!hasContents(in) || in->shape != out.shape) return;
  if (in->integers) {
    std::vector<std::int64_t> integers = *in->integers;
    for (std::int64_t& entry : integers) entry = entry == kHole ? kHole : whole(entry);
    out.integers = std::move(integers);
  } else {
    std::vector<double> numbers = *in->numbers;
    for (double& entry : numbers) entry = rounded(real(entry), out.element);
    out.numbers = std::move(numbers);
  }
}

std::int64_t addWhole(std::int64_t a, std::int64_t b) {
  std::int64_t out = 0;
  return __builtin_add_overflow(a, b, &out) ? kHole : out;
}

std::int64_t mulWhole(std::int64_t a, std::int64_t b) {
  std::int64_t out = 0;
  return __builtin_mul_overflow(a, b, &out) ? kHole : out;
}

std::int64_t minus(std::int64_t a) {
  return a == std::numeric_limits<std::int64_t>::min() ? kHole : -a;
}

// Sums, products or extremes over the axes that the output lacks.
template <class Whole, class Real>
void reduce(Site& site, Whole whole, Real real) {
  Value& out = site.outputs[0];
  const Value* in = site.in(0);
  if (!hasContents(in)) return;
  const Site::List axes = site.listOf("axes", 1);
  if (axes.given && !axes.values) return;
  const bool all = !axes.given || axes.values->empty();
  if (all && site.integer("noop_with_empty_axes", 0) != 0) return;
  Shape kept = *in->shape;
  for (std::size_t at = 0; all && at < kept.size(); ++at) kept[at] = 1;
  if (!all) {
    for (const std::int64_t axis : *axes.values) {
      const auto at = axisOf(axis, kept.size());
      if (!at) return;
      kept[*at] = 1;
    }
  }
  const auto places = broadcastPlaces(kept, *in->shape);
  const auto count = static_cast<std::size_t>(product(kept));
  if (places.empty() || static_cast<std::int64_t>(count) != product(*out.shape)) return;
  std::vector<bool> begun(count, false);
  if (in->integers) {
    std::vector<std::int64_t> integers(count);
    for (std::size_t at = 0; at < places.size(); ++at) {
      std::int64_t& sum = integers[places[at]];
      const std::int64_t more = (*in->integers)[at];
      if (!begun[places[at]]) {
        sum = more;
      } else {
        sum = sum == kHole || more == kHole ? kHole : whole(sum, more);
      }
      begun[places[at]] = true;
    }
    out.integers = std::move(integers);
  } else {
    std::vector<double> numbers(count);
    for (std::size_t at = 0; at < places.size(); ++at) {
      double& sum = numbers[places[at]];
      sum = begun[places[at]] ? rounded(real(sum, (*in->numbers)[at]), out.element) : (*in->numbers)[at];
      begun[places[at]] = true;
    }
    out.numbers = std::move(numbers);
  }
}

double least(double a, double b) {
  return std::isnan(a) || std::isnan(b) ? kNan : std::min(a, b);
}

double most(double a, double b) {
  return std::isnan(a) || std::isnan(b) ? kNan : std::max(a, b);
}

std::int64_t leastWhole(std::int64_t a, std::int64_t b) {
  return std::min(a, b);
}

std::int64_t mostWhole(std::int64_t a, std::int64_t b) {
  return std::max(a, b);
}

const auto kSameWhole = [](std::int64_t a) { return a; };

}  // namespace

double realAt(const Value& value, std::size_t at) {
  if (value.numbers) return (*value.numbers)[at];
  const std::int64_t entry = (*value.integers)[at];
  return entry == kHole ? kNan : static_cast<double>(entry);
}

void foldAdd(Site& site) {
  combine(site, addWhole, [](double a, double b) { return a + b; });
}

void foldSum(Site& site) {
  foldAdd(site);
}

void foldSub(Site& site) {
  combine(
      site,
      [](std::int64_t a, std::int64_t b) {
        std::int64_t out = 0;
        return __builtin_sub_overflow(a, b, &out) ? kHole : out;
      },
      [](double a, double b) { return a - b; });
}

void foldMul(Site& site) {
  combine(site, mulWhole, [](double a, double b) { return a * b; });
}

void foldDiv(Site& site) {
  combine(
      site, [](std::int64_t a, std::int64_t b) { return b == 0    ? kHole
                                                        : b == -1 ? minus(a)
                                                                  : a / b; },
      [](double a, double b) { return a / b; });
}

// The sign of the divisor, or of the dividend where the attribute says fmod.
void foldMod(Site& site) {
  const bool fmod = site.integer("fmod", 0) != 0;
  combine(
      site,
      [fmod](std::int64_t a, std::int64_t b) {
        if (b == 0) return kHole;
        if (b == -1) return std::int64_t{0};
        const std::int64_t rest = a % b;
        return !fmod && rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
      },
      [](double a, double b) { return std::fmod(a, b); });
}

void foldPow(Site& site) {
  Value& out = site.outputs[0];
  const Value* a = site.in(0);
  const Value* b = site.in(1);
  const auto places = pairPlaces(site);
  if (!places) return;
  const auto& [left, right] = *places;
  std::vector<double> numbers(left.size());
  for (std::size_t at = 0; at < left.size(); ++at) {
    numbers[at] = std::pow(realAt(*a, left[at]), realAt(*b, right[at]));
  }
  if (a->numbers) {
    out.numbers = std::move(numbers);
    return;
  }
  std::vector<std::int64_t> integers;
  for (const double number : numbers) {
    integers.push_back(std::abs(number) < 9e15 ? static_cast<std::int64_t>(number) : kHole);
  }
  out.integers = std::move(integers);
}

void foldMin(Site& site) {
  combine(site, leastWhole, least);
}

void foldMax(Site& site) {
  combine(site, mostWhole, most);
}

void foldNeg(Site& site) {
  each(site, minus, [](double a) { return -a; });
}

void foldAbs(Site& site) {
  each(
      site, [](std::int64_t a) { return a < 0 ? minus(a) : a; }, [](double a) { return std::abs(a); });
}

void foldFloor(Site& site) {
  each(site, kSameWhole, [](double a) { return std::floor(a); });
}

void foldCeil(Site& site) {
  each(site, kSameWhole, [](double a) { return std::ceil(a); });
}

void foldRound(Site& site) {
  each(site, kSameWhole, [](double a) { return std::nearbyint(a); });
}

void foldRelu(Site& site) {
  each(
      site, [](std::int64_t a) { return std::max<std::int64_t>(a, 0); },
      [](double a) { return std::isnan(a) ? a : std::max(a, 0.0); });
}

void foldSqrt(Site& site) {
  each(
      site, [](std::int64_t) { return kHole; }, [](double a) { return std::sqrt(a); });
}

void foldReciprocal(Site& site) {
  each(
      site, [](std::int64_t) { return kHole; }, [](double a) { return 1 / a; });
}

void foldNot(Site& site) {
  each(
      site, [](std::int64_t a) { return std::int64_t{a == 0}; }, [](double) { return kNan; });
}

void foldClip(Site& site) {
  const Value* in = site.in(0);
  if (!hasContents(in)) return;
  const auto low =
      site.in(1) != nullptr ? site.scalar(1) : std::optional<double>(site.real("min", -INFINITY));
  const auto high =
      site.in(2) != nullptr ? site.scalar(2) : std::optional<double>(site.real("max", INFINITY));
  if (!low || !high) return;
  const auto clip = [&](double a) { return std::min(std::max(a, *low), *high); };
  each(
      site,
      [&](std::int64_t a) {
        const double clipped = clip(static_cast<double>(a));
        return clipped == static_cast<double>(a) ? a : static_cast<std::int64_t>(clipped);
      },
      [&](double a) { return std::isnan(a) ? a : clip(a); });
}

void foldCast(Site& site) {
  Value& out = site.outputs[0];
  const Value* in = site.in(0);
  if (!hasContents(in) || in->shape != out.shape) return;
  const auto count = in->integers ? in->integers->size() : in->numbers->size();
  if (isFloating(out.element)) {
    std::vector<double> numbers(count);
    for (std::size_t at = 0; at < count; ++at) numbers[at] = rounded(realAt(*in, at), out.element);
    out.numbers = std::move(numbers);
    return;
  }
  if (out.element == ElementType::kUndefined || out.element == ElementType::kString) return;
  std::vector<std::int64_t> integers(count);
  for (std::size_t at = 0; at < count; ++at) {
    const double real = realAt(*in, at);
    if (out.element == ElementType::kBool) {
      integers[at] = std::isnan(real) ? kHole : std::int64_t{real != 0};
    } else if (in->integers) {
      integers[at] = (*in->integers)[at];
    } else {
      integers[at] = std::abs(real) < 9e18 ? static_cast<std::int64_t>(real) : kHole;
    }
  }
  out.integers = std::move(integers);
}

void foldReduceSum(Site& site) {
  reduce(site, addWhole, [](double a, double b) { return a + b; });
}

void foldReduceProd(Site& site) {
  reduce(site, mulWhole, [](double a, double b) { return a * b; });
}

void foldReduceMax(Site& site) {
  reduce(site, mostWhole, most);
}

void foldReduceMin(Site& site) {
  reduce(site, leastWhole, least);
}

void foldCumSum(Site& site) {
  const Value* in = site.in(0);
  if (!hasContents(in) || !in->integers || in->shape->size() != 1 || site.integer("exclusive", 0) != 0 ||
      site.integer("reverse", 0) != 0) {
    return;
  }
  std::vector<std::int64_t> sums = *in->integers;
  for (std::size_t at = 1; at < sums.size(); ++at) {
    sums[at] = sums[at - 1] == kHole || sums[at] == kHole ? kHole : addWhole(sums[at - 1], sums[at]);
  }
  site.outputs[0].integers = std::move(sums);
}

}  // namespace allot::onnx
