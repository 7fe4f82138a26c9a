#include <algorithm>
#include <cmath>
#include <limits>

#include "formats/onnx/fold.h"

namespace allot::onnx {
namespace {

// The entries of an input at the given places, as the contents of an output.
void pick(Site& site, std::size_t output, const Value& from, const std::vector<std::size_t>& places) {
  Value& out = site.outputs[output];
  if (from.integers) {
    std::vector<std::int64_t> integers;
    integers.reserve(places.size());
    for (const std::size_t place : places) integers.push_back((*from.integers)[place]);
    out.integers = std::move(integers);
  } else {
    std::vector<double> numbers;
    numbers.reserve(places.size());
    for (const std::size_t place : places) numbers.push_back((*from.numbers)[place]);
    out.numbers = std::move(numbers);
  }
}

std::vector<std::size_t> stridesOf(const Shape& shape) {
  std::vector<std::size_t> strides(shape.size(), 1);
  for (std::size_t at = shape.size(); at-- > 1;) {
    strides[at - 1] = strides[at] * static_cast<std::size_t>(shape[at]);
  }
  return strides;
}

// Calls `visit` with the coordinates of every element in order.
template <class Visit>
void walk(const Shape& shape, Visit visit) {
  if (product(shape) <= 0) return;
  std::vector<std::int64_t> at(shape.size(), 0);
  while (true) {
    visit(at);
    std::size_t axis = shape.size();
    while (axis > 0 && ++at[axis - 1] == shape[axis - 1]) at[--axis] = 0;
    if (axis == 0) return;
  }
}

}  // namespace

bool hasContents(const Value* value) {
  if (value == nullptr || !value->shape) return false;
  const std::int64_t count = product(*value->shape);
  if (count < 0) return false;
  if (value->integers) return static_cast<std::int64_t>(value->integers->size()) == count;
  return value->numbers && static_cast<std::int64_t>(value->numbers->size()) == count;
}

std::vector<std::size_t> broadcastPlaces(const Shape& in, const Shape& out) {
  std::vector<std::size_t> places;
  const std::int64_t count = product(out);
  if (in.size() > out.size() || count < 0 || count > kMostFolded) return places;
  const std::vector<std::size_t> strides = stridesOf(in);
  const std::size_t shift = out.size() - in.size();
  places.reserve(static_cast<std::size_t>(count));
  for (std::size_t at = 0; at < in.size(); ++at) {
    if (in[at] != 1 && in[at] != out[at + shift]) return places;
  }
  walk(out, [&](const std::vector<std::int64_t>& at) {
    std::size_t place = 0;
    for (std::size_t axis = 0; axis < in.size(); ++axis) {
      if (in[axis] != 1) place += strides[axis] * static_cast<std::size_t>(at[axis + shift]);
    }
    places.push_back(place);
  });
  return places;
}

std::optional<PairPlaces> pairPlaces(Site& site) {
  const Value* a = site.in(0);
  const Value* b = site.in(1);
  if (!hasContents(a) || !hasContents(b)) return std::nullopt;
  const Shape& out = *site.outputs[0].shape;
  PairPlaces places{broadcastPlaces(*a->shape, out), broadcastPlaces(*b->shape, out)};
  if (places.left.size() != places.right.size()) return std::nullopt;
  return places;
}

void foldSame(Site& site) {
  const Value* in = site.in(0);
  if (!hasContents(in) || product(*in->shape) != product(*site.outputs[0].shape)) return;
  site.outputs[0].integers = in->integers;
  site.outputs[0].numbers = in->numbers;
}

void foldConstantOfShape(Site& site) {
  Value& out = site.outputs[0];
  const auto count = static_cast<std::size_t>(product(*out.shape));
  const Attribute* given = site.attribute("value");
  Value one;
  if (given != nullptr && given->tensor != nullptr) {
    one = valueOf(*given->tensor);
  } else {
    one.numbers = {0.0};
  }
  if (one.integers && one.integers->size() == 1) {
    out.integers = std::vector<std::int64_t>(count, one.integers->front());
  } else if (one.numbers && one.numbers->size() == 1) {
    out.numbers = std::vector<double>(count, one.numbers->front());
  }
}

void foldRange(Site& site) {
  Value& out = site.outputs[0];
  const auto count = product(*out.shape);
  if (isFloating(out.element)) {
    const auto start = site.scalar(0);
    const auto delta = site.scalar(2);
    if (!start || !delta) return;
    std::vector<double> numbers;
    for (std::int64_t at = 0; at < count; ++at) numbers.push_back(*start + static_cast<double>(at) * *delta);
    out.numbers = std::move(numbers);
    return;
  }
  const auto* start = site.integers(0);
  const auto* delta = site.integers(2);
  if (start == nullptr || delta == nullptr || start->size() != 1 || delta->size() != 1) return;
  std::vector<std::int64_t> integers;
  for (std::int64_t at = 0; at < count; ++at) {
    std::int64_t entry = 0;
    if (__builtin_mul_overflow(at, delta->front(), &entry) ||
        __builtin_add_overflow(entry, start->front(), &entry)) {
      return;
    }
    integers.push_back(entry);
  }
  out.integers = std::move(integers);
}

void foldConcat(Site& site) {
  Value& out = site.outputs[0];
  const Shape& shape = *out.shape;
  const auto axis = axisOf(site.integer("axis", 1), shape.size());
  if (!axis) return;
  bool integral = true;
  for (std::size_t at = 0; at < site.inputs.size(); ++at) {
    const Value* in = site.in(at);
    if (!hasContents(in)) {
      // A vector of unknown entries still leaves the others known.
      if (in == nullptr || !in->shape || product(*in->shape) < 0 || isFloating(out.element)) return;
      continue;
    }
    integral = integral && in->integers.has_value();
  }
  if (!integral && !isFloating(out.element)) return;
  const std::int64_t outer = product(shape, 0, *axis);
  std::vector<std::int64_t> integers;
  std::vector<double> numbers;
  for (std::int64_t row = 0; row < outer; ++row) {
    for (std::size_t at = 0; at < site.inputs.size(); ++at) {
      const Value* in = site.in(at);
      const std::int64_t width = product(*in->shape, *axis, shape.size());
      for (std::int64_t place = row * width; place < (row + 1) * width; ++place) {
        if (integral && !isFloating(out.element)) {
          integers.push_back(hasContents(in) ? (*in->integers)[static_cast<std::size_t>(place)] : kHole);
        } else if (in->numbers) {
          numbers.push_back((*in->numbers)[static_cast<std::size_t>(place)]);
        }
      }
    }
  }
  if (!isFloating(out.element)) {
    if (static_cast<std::int64_t>(integers.size()) == product(shape)) out.integers = std::move(integers);
  } else if (static_cast<std::int64_t>(numbers.size()) == product(shape)) {
    out.numbers = std::move(numbers);
  }
}

void foldGather(Site& site) {
  const Value* in = site.in(0);
  const auto* indices = site.integers(1);
  if (!hasContents(in) || indices == nullptr) return;
  const auto axis = axisOf(site.integer("axis", 0), in->shape->size());
  if (!axis) return;
  const std::int64_t size = (*in->shape)[*axis];
  const std::int64_t outer = product(*in->shape, 0, *axis);
  const std::int64_t inner = product(*in->shape, *axis + 1, in->shape->size());
  std::vector<std::size_t> places;
  for (std::int64_t row = 0; row < outer; ++row) {
    for (const std::int64_t index : *indices) {
      if (index < -size || index >= size) return;
      const std::int64_t at = index < 0 ? index + size : index;
      for (std::int64_t column = 0; column < inner; ++column) {
        places.push_back(static_cast<std::size_t>((row * size + at) * inner + column));
      }
    }
  }
  pick(site, 0, *in, places);
}

void foldSlice(Site& site) {
  const Value* in = site.in(0);
  if (!hasContents(in)) return;
  const Site::List starts = site.listOf("starts", 1);
  const Site::List axes = site.listOf("axes", 3);
  const Site::List steps = site.listOf("steps", 4);
  if (!starts.values || (axes.given && !axes.values) || (steps.given && !steps.values)) return;
  const Shape& shape = *in->shape;
  std::vector<std::int64_t> from(shape.size(), 0);
  std::vector<std::int64_t> step(shape.size(), 1);
  for (std::size_t at = 0; at < starts.values->size(); ++at) {
    if ((axes.values && at >= axes.values->size()) || (steps.values && at >= steps.values->size())) return;
    const auto axis = axisOf(axes.values ? (*axes.values)[at] : static_cast<std::int64_t>(at), shape.size());
    if (!axis) return;
    const std::int64_t size = shape[*axis];
    step[*axis] = steps.values ? (*steps.values)[at] : 1;
    const std::int64_t start = (*starts.values)[at];
    from[*axis] = std::clamp<std::int64_t>(start < 0 ? std::max(start, -size) + size : start, 0,
                                           std::max<std::int64_t>(step[*axis] < 0 ? size - 1 : size, 0));
  }
  const std::vector<std::size_t> strides = stridesOf(shape);
  std::vector<std::size_t> places;
  walk(*site.outputs[0].shape, [&](const std::vector<std::int64_t>& at) {
    std::size_t place = 0;
    for (std::size_t axis = 0; axis < at.size(); ++axis) {
      // One element along an axis needs no step, which may be too large to multiply.
      const std::int64_t along = from[axis] + (at[axis] == 0 ? 0 : at[axis] * step[axis]);
      place += strides[axis] * static_cast<std::size_t>(along);
    }
    places.push_back(place);
  });
  for (const std::size_t place : places) {
    if (place >= static_cast<std::size_t>(product(shape))) return;
  }
  pick(site, 0, *in, places);
}

void foldSplit(Site& site) {
  const Value* in = site.in(0);
  if (!hasContents(in)) return;
  const auto axis = axisOf(site.integer("axis", 0), in->shape->size());
  if (!axis) return;
  const std::int64_t size = (*in->shape)[*axis];
  const std::int64_t outer = product(*in->shape, 0, *axis);
  const std::int64_t inner = product(*in->shape, *axis + 1, in->shape->size());
  std::int64_t before = 0;
  for (std::size_t output = 0; output < site.outputs.size(); ++output) {
    const auto& shape = site.outputs[output].shape;
    if (!shape || (*shape)[*axis] < 0 || (*shape)[*axis] > size - before) return;
    const std::int64_t part = (*shape)[*axis];
    std::vector<std::size_t> places;
    for (std::int64_t row = 0; row < outer; ++row) {
      for (std::int64_t at = 0; at < part * inner; ++at) {
        places.push_back(static_cast<std::size_t>((row * size + before) * inner + at));
      }
    }
    pick(site, output, *in, places);
    before += part;
  }
}

void foldTranspose(Site& site) {
  const Value* in = site.in(0);
  if (!hasContents(in)) return;
  const std::size_t rank = in->shape->size();
  std::vector<std::size_t> order(rank);
  const auto* perm = site.list("perm");
  std::vector<bool> used(rank, false);
  for (std::size_t at = 0; at < rank; ++at) {
    order[at] = perm == nullptr || perm->empty() ? rank - 1 - at : static_cast<std::size_t>((*perm)[at]);
    if (order[at] >= rank || used[order[at]]) return;
    used[order[at]] = true;
  }
  const std::vector<std::size_t> strides = stridesOf(*in->shape);
  std::vector<std::size_t> places;
  walk(*site.outputs[0].shape, [&](const std::vector<std::int64_t>& at) {
    std::size_t place = 0;
    for (std::size_t axis = 0; axis < rank; ++axis) {
      place += strides[order[axis]] * static_cast<std::size_t>(at[axis]);
    }
    places.push_back(place);
  });
  pick(site, 0, *in, places);
}

void foldExpand(Site& site) {
  const Value* in = site.in(0);
  if (!hasContents(in)) return;
  const auto places = broadcastPlaces(*in->shape, *site.outputs[0].shape);
  if (static_cast<std::int64_t>(places.size()) == product(*site.outputs[0].shape)) pick(site, 0, *in, places);
}

void foldTile(Site& site) {
  const Value* in = site.in(0);
  if (!hasContents(in) || in->shape->size() != site.outputs[0].shape->size() || product(*in->shape) == 0)
    return;
  const std::vector<std::size_t> strides = stridesOf(*in->shape);
  std::vector<std::size_t> places;
  walk(*site.outputs[0].shape, [&](const std::vector<std::int64_t>& at) {
    std::size_t place = 0;
    for (std::size_t axis = 0; axis < at.size(); ++axis) {
      place += strides[axis] * static_cast<std::size_t>(at[axis] % (*in->shape)[axis]);
    }
    places.push_back(place);
  });
  pick(site, 0, *in, places);
}

// Exporters write single entries of a shape this way.
void foldScatterNd(Site& site) {
  const Value* in = site.in(0);
  const auto* indices = site.integers(1);
  const Shape* index_shape = site.shape(1);
  const Value* updates = site.in(2);
  if (!hasContents(in) || !in->integers || indices == nullptr || index_shape == nullptr ||
      index_shape->empty() || !hasContents(updates) || !updates->integers ||
      site.text("reduction", "none") != "none" || in->shape->size() != 1 || index_shape->back() != 1) {
    return;
  }
  if (indices->size() != updates->integers->size()) return;
  std::vector<std::int64_t> out = *in->integers;
  const std::int64_t size = (*in->shape)[0];
  for (std::size_t at = 0; at < indices->size(); ++at) {
    const std::int64_t index = (*indices)[at];
    if (index < -size || index >= size) return;
    out[static_cast<std::size_t>(index < 0 ? index + size : index)] = (*updates->integers)[at];
  }
  site.outputs[0].integers = std::move(out);
}

void foldNonZero(Site& site) {
  const Value* in = site.in(0);
  if (!hasContents(in)) return;
  const auto* integers = site.integers(0);
  const auto* numbers = site.numbers(0);
  if (integers == nullptr && numbers == nullptr) return;
  const std::size_t rank = in->shape->size();
  std::vector<std::vector<std::int64_t>> found(rank);
  std::size_t place = 0;
  walk(*in->shape, [&](const std::vector<std::int64_t>& at) {
    const bool zero = integers != nullptr ? (*integers)[place] == 0 : (*numbers)[place] == 0;
    ++place;
    for (std::size_t axis = 0; !zero && axis < rank; ++axis) found[axis].push_back(at[axis]);
  });
  std::vector<std::int64_t> out;
  for (const auto& row : found) out.insert(out.end(), row.begin(), row.end());
  if (static_cast<std::int64_t>(out.size()) == product(*site.outputs[0].shape)) {
    site.outputs[0].integers = std::move(out);
  }
}

}  // namespace allot::onnx
