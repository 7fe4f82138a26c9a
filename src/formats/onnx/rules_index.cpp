// Shapes of operators that pick, place or reduce elements.
#include <algorithm>

#include "formats/onnx/rules_list.h"

namespace allot::onnx {

void gatherShape(Site& site) {
  site.setType(0, site.type(0));
  const Shape* data = site.shape(0);
  const Shape* indices = site.shape(1);
  if (data == nullptr || indices == nullptr) return;
  const auto axis = axisOf(site.integer("axis", 0), data->size());
  if (!axis) return;
  const auto cut = static_cast<std::ptrdiff_t>(*axis);
  Shape out(data->begin(), data->begin() + cut);
  out.insert(out.end(), indices->begin(), indices->end());
  out.insert(out.end(), data->begin() + cut + 1, data->end());
  site.setShape(0, out);
}

void gatherElementsShape(Site& site) {
  site.setType(0, site.type(0));
  if (const Shape* indices = site.shape(1)) site.setShape(0, *indices);
}

void gatherNdShape(Site& site) {
  site.setType(0, site.type(0));
  const Shape* data = site.shape(0);
  const Shape* indices = site.shape(1);
  if (data == nullptr || indices == nullptr || indices->empty() || indices->back() < 0) return;
  const std::int64_t batch = site.integer("batch_dims", 0);
  const auto rank = static_cast<std::int64_t>(data->size());
  if (batch < 0 || batch > rank || indices->back() > rank - batch) return;
  Shape out(indices->begin(), indices->end() - 1);
  out.insert(out.end(), data->begin() + batch + indices->back(), data->end());
  site.setShape(0, out);
}

// Columns of the last axis.
void arrayFeatureShape(Site& site) {
  site.setType(0, site.type(0));
  const Shape* data = site.shape(0);
  const Shape* indices = site.shape(1);
  if (data == nullptr || indices == nullptr || data->empty()) return;
  Shape out = *data;
  out.back() = product(*indices);
  if (out.size() == 1) out.insert(out.begin(), 1);
  site.setShape(0, out);
}

void oneHotShape(Site& site) {
  site.setType(0, site.type(2));
  const Shape* indices = site.shape(0);
  if (indices == nullptr) return;
  const auto axis = axisOf(site.integer("axis", -1), indices->size() + 1);
  if (!axis) return;
  const auto depth = site.scalar(1);
  Shape out = *indices;
  out.insert(out.begin() + static_cast<std::ptrdiff_t>(*axis),
             depth && *depth >= 0 && *depth < 1e18 ? static_cast<std::int64_t>(*depth) : -1);
  site.setShape(0, out);
}

void topKShape(Site& site) {
  site.setType(0, site.type(0));
  site.setType(1, ElementType::kInt64);
  const Shape* shape = site.shape(0);
  if (shape == nullptr) return;
  const auto axis = axisOf(site.integer("axis", -1), shape->size());
  if (!axis) return;
  Shape out = *shape;
  out[*axis] = -1;
  if (const Attribute* fixed = site.attribute("k")) {
    out[*axis] = std::max<std::int64_t>(fixed->i, -1);
  } else if (const auto* count = site.integers(1); count != nullptr && count->size() == 1) {
    out[*axis] = std::max<std::int64_t>(count->front(), -1);
  }
  site.setShape(0, out);
  site.setShape(1, out);
}

void reduceShape(Site& site) {
  site.setType(0, site.type(0));
  const Shape* shape = site.shape(0);
  if (shape == nullptr) return;
  const Site::List axes = site.listOf("axes", 1);
  const bool keep = site.integer("keepdims", 1) != 0;
  if (axes.given && !axes.values) {
    if (keep) site.setShape(0, Shape(shape->size(), -1));
    return;
  }
  if ((!axes.given || axes.values->empty()) && site.integer("noop_with_empty_axes", 0) != 0) {
    return site.setShape(0, *shape);
  }
  std::vector<bool> gone(shape->size(), !axes.given || axes.values->empty());
  if (axes.given) {
    for (const std::int64_t axis : *axes.values) {
      const auto at = axisOf(axis, shape->size());
      if (!at) return;
      gone[*at] = true;
    }
  }
  Shape out;
  for (std::size_t at = 0; at < shape->size(); ++at) {
    if (!gone[at]) {
      out.push_back((*shape)[at]);
    } else if (keep) {
      out.push_back(1);
    }
  }
  site.setShape(0, out);
}

void argShape(Site& site) {
  site.setType(0, ElementType::kInt64);
  const Shape* shape = site.shape(0);
  if (shape == nullptr) return;
  const auto axis = axisOf(site.integer("axis", 0), shape->size());
  if (!axis) return;
  Shape out = *shape;
  if (site.integer("keepdims", 1) != 0) {
    out[*axis] = 1;
  } else {
    out.erase(out.begin() + static_cast<std::ptrdiff_t>(*axis));
  }
  site.setShape(0, out);
}

// The number of places depends on the data, unless the data is known or there is none.
void nonZeroShape(Site& site) {
  const Shape* shape = site.shape(0);
  if (shape == nullptr) return site.setType(0, ElementType::kInt64);
  std::int64_t count = -1;
  if (const auto* values = site.integers(0)) {
    count = static_cast<std::int64_t>(values->size()) - std::count(values->begin(), values->end(), 0);
  } else if (const auto* numbers = site.numbers(0)) {
    count = static_cast<std::int64_t>(numbers->size()) - std::count(numbers->begin(), numbers->end(), 0.0);
  } else if (product(*shape) == 0) {
    count = 0;
  }
  site.set(0, ElementType::kInt64, {static_cast<std::int64_t>(shape->size()), count});
}

void nonMaxSuppressionShape(Site& site) {
  site.set(0, ElementType::kInt64, {-1, 3});
}

void uniqueShape(Site& site) {
  site.setType(0, site.type(0));
  for (std::size_t at = 1; at < 4; ++at) site.set(at, ElementType::kInt64, {-1});
  const Shape* shape = site.shape(0);
  if (site.attribute("axis") == nullptr) {
    site.setShape(0, {-1});
    if (shape != nullptr) site.setShape(2, {product(*shape)});
    return;
  }
  if (shape == nullptr) return;
  const auto axis = axisOf(site.integer("axis", 0), shape->size());
  if (!axis) return;
  Shape out = *shape;
  site.setShape(2, {out[*axis]});
  out[*axis] = -1;
  site.setShape(0, out);
}

void compressShape(Site& site) {
  site.setType(0, site.type(0));
  const Shape* shape = site.shape(0);
  const auto* chosen = site.integers(1);
  const bool flat = site.attribute("axis") == nullptr;
  if (!flat && shape == nullptr) return;
  Shape out = flat ? Shape{-1} : *shape;
  const auto axis = flat ? std::optional<std::size_t>(0) : axisOf(site.integer("axis", 0), out.size());
  if (!axis) return;
  out[*axis] = -1;
  if (chosen != nullptr) {
    out[*axis] = static_cast<std::int64_t>(chosen->size()) - std::count(chosen->begin(), chosen->end(), 0);
  }
  site.setShape(0, out);
}

}  // namespace allot::onnx
