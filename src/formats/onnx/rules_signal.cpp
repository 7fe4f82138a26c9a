// Shapes of resampling operators and of transforms of signals.
#include <algorithm>
#include <cmath>

#include "formats/onnx/rules_list.h"

namespace allot::onnx {
namespace {

std::int64_t scaled(std::int64_t size, double scale) {
  if (size < 0 || !(scale > 0)) return -1;
  const double out = std::floor(static_cast<double>(size) * scale);
  return out < static_cast<double>(kMostElements) ? static_cast<std::int64_t>(out) : kMostElements;
}

// Scales are floats: their product with a size is rounded as floats are, or 2/3 of 3 would be 1.
std::int64_t scaledFloat(std::int64_t size, double scale) {
  if (size < 0 || !(scale > 0)) return -1;
  const float out = std::floor(static_cast<float>(size) * static_cast<float>(scale));
  return out < static_cast<float>(kMostDim) ? static_cast<std::int64_t>(out) : scaled(size, scale);
}

void resizeBy(Site& site, std::size_t scales_at, std::size_t sizes_at) {
  site.setType(0, site.type(0));
  const Shape* x = site.shape(0);
  if (x == nullptr) return;
  Shape out = *x;
  const auto* listed = site.list("axes");
  std::vector<std::size_t> axes;
  for (std::size_t at = 0; listed == nullptr && at < x->size(); ++at) axes.push_back(at);
  if (listed != nullptr) {
    for (const std::int64_t axis : *listed) {
      const auto at = axisOf(axis, x->size());
      if (!at) return;
      axes.push_back(*at);
    }
  }
  for (const std::size_t axis : axes) out[axis] = -1;
  const auto* sizes = site.integers(sizes_at);
  const auto* scales = site.numbers(scales_at);
  const std::string_view policy = site.text("keep_aspect_ratio_policy", "stretch");
  if (sizes != nullptr && sizes->size() == axes.size()) {
    double scale = -1;
    for (std::size_t at = 0; at < axes.size() && policy != "stretch"; ++at) {
      if ((*x)[axes[at]] <= 0) return site.setShape(0, out);
      const double here = static_cast<double>((*sizes)[at]) / static_cast<double>((*x)[axes[at]]);
      scale = scale < 0 ? here : policy == "not_larger" ? std::min(scale, here) : std::max(scale, here);
    }
    for (std::size_t at = 0; at < axes.size(); ++at) {
      out[axes[at]] = policy == "stretch"
                          ? std::max<std::int64_t>((*sizes)[at], -1)
                          : static_cast<std::int64_t>(std::min(
                                std::floor(scale * static_cast<double>((*x)[axes[at]]) + 0.5), 4e18));
    }
  } else if (scales != nullptr && scales->size() == axes.size() && !scales->empty()) {
    for (std::size_t at = 0; at < axes.size(); ++at)
      out[axes[at]] = scaledFloat((*x)[axes[at]], (*scales)[at]);
  }
  site.setShape(0, out);
}

}  // namespace

// Opset 10 has (X, scales), later ones (X, roi, scales, sizes).
void resizeShape(Site& site) {
  if (site.inputs.size() == 2) return resizeBy(site, 1, 99);
  resizeBy(site, 2, 3);
}

void upsampleShape(Site& site) {
  const Attribute* scales = site.attribute("scales");
  const Shape* x = site.shape(0);
  if (scales == nullptr && site.attribute("width_scale") == nullptr) return resizeBy(site, 1, 99);
  site.setType(0, site.type(0));
  if (x == nullptr) return;
  std::vector<float> factors;
  if (scales != nullptr) {
    factors = scales->floats;
  } else if (x->size() == 4) {
    factors = {1, 1, site.real("height_scale", 1), site.real("width_scale", 1)};
  }
  if (factors.size() != x->size()) return;
  Shape out = *x;
  for (std::size_t at = 0; at < out.size(); ++at) out[at] = scaledFloat(out[at], factors[at]);
  site.setShape(0, out);
}

void gridSampleShape(Site& site) {
  site.setType(0, site.type(0));
  const Shape* x = site.shape(0);
  const Shape* grid = site.shape(1);
  if (x == nullptr || grid == nullptr || x->size() < 3 || grid->size() != x->size()) return;
  Shape out{(*x)[0], (*x)[1]};
  out.insert(out.end(), grid->begin() + 1, grid->end() - 1);
  site.setShape(0, out);
}

void affineGridShape(Site& site) {
  site.setType(0, site.type(0));
  const auto* size = site.integers(1);
  if (size == nullptr || size->size() < 4) return;
  Shape out{(*size)[0]};
  out.insert(out.end(), size->begin() + 2, size->end());
  out.push_back(static_cast<std::int64_t>(size->size()) - 2);
  for (std::int64_t& dim : out) dim = std::max<std::int64_t>(dim, -1);
  site.setShape(0, out);
}

void col2ImShape(Site& site) {
  site.setType(0, site.type(0));
  const Shape* x = site.shape(0);
  const auto* image = site.integers(1);
  const auto* block = site.integers(2);
  if (x == nullptr || x->size() != 3) return;
  std::int64_t area = -1;
  if (block != nullptr) {
    area = 1;
    for (const std::int64_t side : *block) area = timesDim(area, std::max<std::int64_t>(side, -1));
  }
  Shape out{(*x)[0], area > 0 && (*x)[1] >= 0 ? (*x)[1] / area : -1};
  if (image != nullptr) {
    for (const std::int64_t side : *image) out.push_back(std::max<std::int64_t>(side, -1));
  } else {
    const Shape* sides = site.shape(1);
    if (sides == nullptr || sides->size() != 1 || sides->front() < 0 || sides->front() > 64) return;
    out.insert(out.end(), static_cast<std::size_t>(sides->front()), -1);
  }
  site.setShape(0, out);
}

// One-sided output keeps half the spectrum plus one; the last axis is real and imaginary part. The inverse of
// a one-sided spectrum gives a real signal.
void dftShape(Site& site) {
  site.setType(0, site.type(0));
  const Shape* x = site.shape(0);
  if (x == nullptr || x->size() < 2) return;
  std::int64_t axis = site.integer("axis", site.version > 0 && site.version < 20 ? 1 : -2);
  if (site.in(2) != nullptr) {
    const auto given = site.scalar(2);
    if (!given) return site.setShape(0, Shape(x->size(), -1));
    if (std::abs(*given) < 100) axis = static_cast<std::int64_t>(*given);
  }
  const auto at = axisOf(axis, x->size());
  if (!at) return;
  const bool inverse = site.integer("inverse", 0) != 0;
  const bool one_sided = site.integer("onesided", 0) != 0;
  std::int64_t length = (*x)[*at];
  if (inverse && one_sided && length >= 0) length = 2 * (length - 1);
  if (site.in(1) != nullptr) {
    const auto given = site.scalar(1);
    length = given && *given >= 0 && *given < 1e18 ? static_cast<std::int64_t>(*given) : -1;
  }
  Shape out = *x;
  out[*at] = one_sided && !inverse && length >= 0 ? length / 2 + 1 : length;
  out.back() = inverse && one_sided ? 1 : 2;
  site.setShape(0, out);
}

void stftShape(Site& site) {
  site.setType(0, site.type(0));
  const Shape* x = site.shape(0);
  if (x == nullptr || x->size() < 2) return;
  const auto step = site.scalar(1);
  std::int64_t length = -1;
  if (const Shape* window = site.shape(2); window != nullptr && window->size() == 1) length = (*window)[0];
  if (const auto given = site.scalar(3); given && *given >= 0 && *given < 1e18) {
    length = static_cast<std::int64_t>(*given);
  }
  Shape out{(*x)[0], -1, -1, 2};
  if (length >= 0) out[2] = site.integer("onesided", 1) != 0 ? length / 2 + 1 : length;
  if (step && *step >= 1 && *step < 1e12 && length >= 0 && (*x)[1] >= length) {
    out[1] = ((*x)[1] - length) / static_cast<std::int64_t>(*step) + 1;
  }
  site.setShape(0, out);
}

}  // namespace allot::onnx
