// Shapes of quantisation and of quantised elementwise operators.
#include <algorithm>

#include "formats/onnx/rules_list.h"

namespace allot::onnx {

// The type is that of the zero point, else an attribute's, else unsigned bytes.
void quantizeShape(Site& site) {
  site.copy(0, 0);
  const std::int64_t named = site.integer("output_dtype", 0);
  if (site.in(2) != nullptr) {
    site.setType(0, site.type(2));
  } else {
    site.setType(0, named > 0 && named < 1000 ? static_cast<ElementType>(named) : ElementType::kUint8);
  }
}

void dequantizeShape(Site& site) {
  site.copy(0, 0);
  const std::int64_t named = site.integer("output_dtype", 0);
  site.setType(0, named > 0 && named < 1000 ? static_cast<ElementType>(named) : site.type(1));
}

void dynamicQuantizeShape(Site& site) {
  site.copy(0, 0);
  site.setType(0, ElementType::kUint8);
  site.set(1, ElementType::kFloat, {});
  site.set(2, ElementType::kUint8, {});
}

// com.microsoft: A, its scale and zero, B, its scale and zero, scale and zero of the output.
void qlinearBinaryShape(Site& site) {
  site.setType(0, site.type(0));
  const Shape* a = site.shape(0);
  const Shape* b = site.shape(3);
  if (a == nullptr || b == nullptr) return;
  Shape out = *a;
  if (broadcastInto(out, *b)) site.setShape(0, out);
}

// com.microsoft: scale and zero of the output, then (tensor, scale, zero) for each part.
void qlinearConcatShape(Site& site) {
  site.setType(0, site.type(2));
  const Shape* first = site.shape(2);
  if (first == nullptr) return;
  const auto axis = axisOf(site.integer("axis", 0), first->size());
  if (!axis) return;
  Shape out = *first;
  for (std::size_t at = 5; at < site.inputs.size(); at += 3) {
    const Shape* shape = site.shape(at);
    if (shape == nullptr || shape->size() != out.size()) return;
    out[*axis] = plusDim(out[*axis], (*shape)[*axis]);
  }
  site.setShape(0, out);
}

// com.microsoft: rows of a table whose last axis is packed when its type is a byte.
void gatherBlockQuantizedShape(Site& site) {
  site.setType(0, site.type(2));
  const Shape* data = site.shape(0);
  const Shape* indices = site.shape(1);
  if (data == nullptr || indices == nullptr || data->empty()) return;
  const auto axis = axisOf(site.integer("gather_axis", 0), data->size());
  if (!axis) return;
  const std::int64_t bits = site.integer("bits", 4);
  Shape whole = *data;
  if (site.type(0) == ElementType::kUint8 && bits > 0 && bits < 8)
    whole.back() = timesDim(whole.back(), 8 / bits);
  const auto cut = static_cast<std::ptrdiff_t>(*axis);
  Shape out(whole.begin(), whole.begin() + cut);
  out.insert(out.end(), indices->begin(), indices->end());
  out.insert(out.end(), whole.begin() + cut + 1, whole.end());
  site.setShape(0, out);
}

void qlinearReduceShape(Site& site) {
  // Axes are an attribute here; input 1 is a scale.
  if (site.list("axes") == nullptr && site.in(1) != nullptr) {
    site.setType(0, site.type(0));
    const Shape* shape = site.shape(0);
    if (shape != nullptr && site.integer("keepdims", 1) != 0) {
      site.setShape(0, Shape(shape->size(), 1));
    } else if (shape != nullptr) {
      site.setShape(0, {});
    }
    return;
  }
  reduceShape(site);
}

// com.microsoft: condition, then (tensor, scale, zero) twice, then scale and zero of the output.
void qlinearWhereShape(Site& site) {
  site.setType(0, site.type(1));
  const Shape* which = site.shape(0);
  const Shape* x = site.shape(1);
  const Shape* y = site.shape(4);
  if (which == nullptr || x == nullptr || y == nullptr) return;
  Shape out = *which;
  if (broadcastInto(out, *x) && broadcastInto(out, *y)) site.setShape(0, out);
}

void reduceIntegerShape(Site& site) {
  reduceShape(site);
  site.setType(0, ElementType::kInt32);
}

}  // namespace allot::onnx
