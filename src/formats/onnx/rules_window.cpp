// Shapes of convolutions and pools: windows that slide over spatial axes.
#include <algorithm>

#include <fmt/format.h>

#include "formats/onnx/rules_list.h"

namespace allot::onnx {
namespace {

struct Window {
  std::vector<std::int64_t> kernel, strides, dilations, pads;
  std::string_view auto_pad;
};

bool fill(const Site& site, std::string_view name, std::size_t count, std::int64_t otherwise,
          std::int64_t least, std::vector<std::int64_t>& out) {
  const auto* given = site.list(name);
  if (given == nullptr || given->empty()) {
    out.assign(count, otherwise);
    return true;
  }
  if (given->size() != count) return false;
  out = *given;
  return std::all_of(out.begin(), out.end(),
                     [least](std::int64_t entry) { return entry >= least && entry <= kMostDim; });
}

// The window of a node with `rank` spatial axes; false where its attributes do not fit.
bool windowOf(const Site& site, std::size_t rank, Window& out) {
  out.auto_pad = site.text("auto_pad", "NOTSET");
  return fill(site, "strides", rank, 1, 1, out.strides) &&
         fill(site, "dilations", rank, 1, 1, out.dilations) &&
         fill(site, "pads", 2 * rank, 0, -kMostDim, out.pads);
}

enum class Fit { kWhole, kPool, kPoolRoundedUp };

// How often a window fits. Rounding up never starts a window in the right padding. A pool whose window is
// longer than its input by less than a stride has one place, whether it rounds up or not: runtimes divide
// towards zero.
std::int64_t places(std::int64_t size, const Window& window, std::size_t at, Fit fit) {
  if (size < 0 || window.kernel[at] < 0) return -1;
  const std::int64_t stride = window.strides[at];
  if (window.auto_pad == "SAME_UPPER" || window.auto_pad == "SAME_LOWER") return (size + stride - 1) / stride;
  const bool valid = window.auto_pad == "VALID";
  const std::size_t rank = window.kernel.size();
  const std::int64_t before = valid ? 0 : window.pads[at];
  const std::int64_t after = valid ? 0 : window.pads[at + rank];
  const std::int64_t reach = timesDim(window.dilations[at], std::max<std::int64_t>(window.kernel[at] - 1, 0));
  const std::int64_t room = size + before + after - std::min(reach, kMostDim) - 1;
  if (room < 0) return fit != Fit::kWhole && size > 0 && room > -stride ? 1 : 0;
  if (fit != Fit::kPoolRoundedUp) return room / stride + 1;
  std::int64_t count = (room + stride - 1) / stride + 1;
  if ((count - 1) * stride >= size + before) --count;
  return count;
}

// X as batch, channels, spatial; W as output channels, input channels of a group, spatial.
void convOf(Site& site, std::size_t input, std::size_t weight, bool channels_last) {
  const Shape* x = site.shape(input);
  const Shape* w = site.shape(weight);
  if (x == nullptr || x->size() < 2) return;
  const std::size_t rank = x->size() - 2;
  Window window;
  if (!windowOf(site, rank, window)) return;
  const std::int64_t group = site.integer("group", 1);
  const std::int64_t channels = channels_last ? x->back() : (*x)[1];
  // Runtimes keep weights of channels-last convolutions in either layout; the channels tell which.
  const bool weights_last = channels_last && w != nullptr && w->size() == x->size() && group > 0 &&
                            channels > 0 && timesDim((*w)[1], group) != channels &&
                            timesDim(w->back(), group) == channels;
  const std::size_t kernel_at = weights_last ? 1 : 2;
  const auto* kernel = site.list("kernel_shape");
  if (kernel != nullptr && kernel->size() == rank) {
    window.kernel = *kernel;
  } else if (w != nullptr && w->size() == x->size()) {
    window.kernel.assign(w->begin() + static_cast<std::ptrdiff_t>(kernel_at),
                         w->begin() + static_cast<std::ptrdiff_t>(kernel_at + rank));
  } else {
    window.kernel.assign(rank, -1);
  }
  if (std::any_of(window.kernel.begin(), window.kernel.end(),
                  [](std::int64_t size) { return size == 0 || size > kMostDim; })) {
    return;
  }
  if (w != nullptr && w->size() != x->size()) {
    site.problem = fmt::format("weights {} do not fit the input {}", shapeText(*w), shapeText(*x));
    return;
  }
  if (!channels_last && w != nullptr && group > 0 && channels >= 0 && (*w)[1] >= 0 &&
      timesDim((*w)[1], group) != channels) {
    site.problem =
        fmt::format("weights {} in {} groups do not fit the input {}", shapeText(*w), group, shapeText(*x));
    return;
  }
  Shape out(x->size(), -1);
  out[0] = (*x)[0];
  const std::int64_t made = w != nullptr ? (*w)[0] : -1;
  (channels_last ? out.back() : out[1]) = made;
  for (std::size_t at = 0; at < rank; ++at) {
    const std::size_t axis = at + (channels_last ? 1 : 2);
    out[axis] = places((*x)[axis], window, at, Fit::kWhole);
  }
  site.setShape(0, out);
}

void poolOf(Site& site, bool channels_last) {
  site.setType(0, site.type(0));
  site.setType(1, ElementType::kInt64);
  const Shape* x = site.shape(0);
  if (x == nullptr || x->size() < 2) return;
  const std::size_t rank = x->size() - 2;
  Window window;
  const auto* kernel = site.list("kernel_shape");
  if (kernel == nullptr || kernel->size() != rank || !windowOf(site, rank, window)) return;
  if (std::any_of(kernel->begin(), kernel->end(),
                  [](std::int64_t size) { return size <= 0 || size > kMostDim; })) {
    return;
  }
  window.kernel = *kernel;
  Shape out = *x;
  const std::size_t first = channels_last ? 1 : 2;
  const Fit fit = site.integer("ceil_mode", 0) != 0 ? Fit::kPoolRoundedUp : Fit::kPool;
  for (std::size_t at = 0; at < rank; ++at) out[first + at] = places((*x)[first + at], window, at, fit);
  site.setShape(0, out);
  site.setShape(1, out);
}

}  // namespace

void convShape(Site& site) {
  site.setType(0, site.type(0));
  convOf(site, 0, 1, false);
}

void nhwcConvShape(Site& site) {
  site.setType(0, site.type(0));
  convOf(site, 0, 1, true);
}

void convIntegerShape(Site& site) {
  site.setType(0, ElementType::kInt32);
  convOf(site, 0, 1, false);
}

void qlinearConvShape(Site& site) {
  site.setType(0, site.type(site.in(7) != nullptr ? 7 : 0));
  convOf(site, 0, 3, site.integer("channels_last", 0) != 0);
}

void convTransposeShape(Site& site) {
  site.setType(0, site.type(0));
  const Shape* x = site.shape(0);
  const Shape* w = site.shape(1);
  if (x == nullptr || w == nullptr || x->size() < 3 || w->size() != x->size()) return;
  const std::size_t rank = x->size() - 2;
  Window window;
  std::vector<std::int64_t> extra;
  if (!windowOf(site, rank, window) || !fill(site, "output_padding", rank, 0, 0, extra)) return;
  const auto* kernel = site.list("kernel_shape");
  window.kernel = kernel != nullptr && kernel->size() == rank
                      ? *kernel
                      : std::vector<std::int64_t>(w->begin() + 2, w->end());
  const auto* wanted = site.list("output_shape");
  Shape out(x->size(), -1);
  out[0] = (*x)[0];
  out[1] = timesDim((*w)[1], std::max<std::int64_t>(site.integer("group", 1), -1));
  for (std::size_t at = 0; at < rank; ++at) {
    if (wanted != nullptr && wanted->size() >= rank) {
      out[2 + at] = std::max<std::int64_t>((*wanted)[wanted->size() - rank + at], -1);
      continue;
    }
    const std::int64_t size = (*x)[2 + at];
    if (size < 0 || window.kernel[at] <= 0 || window.kernel[at] > kMostDim) continue;
    if (window.auto_pad == "SAME_UPPER" || window.auto_pad == "SAME_LOWER") {
      out[2 + at] = timesDim(size, window.strides[at]);
      continue;
    }
    const std::int64_t pads = window.auto_pad == "VALID" ? 0 : window.pads[at] + window.pads[at + rank];
    const std::int64_t reach = timesDim(window.dilations[at], window.kernel[at] - 1);
    const std::int64_t spread = timesDim(window.strides[at], std::max<std::int64_t>(size - 1, 0));
    if (reach > kMostDim || spread > kMostDim) continue;
    out[2 + at] = std::max<std::int64_t>(spread + extra[at] + reach + 1 - pads, 0);
  }
  site.setShape(0, out);
}

void deformConvShape(Site& site) {
  convShape(site);
}

// Channels stay; the state keeps the last k - 1 places.
void causalConvShape(Site& site) {
  site.copy(0, 0);
  site.setType(1, site.type(0));
  const Shape* x = site.shape(0);
  const Shape* w = site.shape(1);
  if (x == nullptr || w == nullptr || x->size() != 3 || w->size() != 3) return;
  site.setShape(1, {(*x)[0], (*x)[1], (*w)[2] > 0 ? (*w)[2] - 1 : -1});
}

void poolShape(Site& site) {
  poolOf(site, false);
}

void qlinearPoolShape(Site& site) {
  if (site.node->op_type == "QLinearGlobalAveragePool") {
    site.setType(0, site.type(0));
    const Shape* x = site.shape(0);
    if (x == nullptr || x->size() < 3) return;
    Shape out(x->size(), 1);
    out[0] = (*x)[0];
    const bool last = site.integer("channels_last", 0) != 0;
    (last ? out.back() : out[1]) = last ? x->back() : (*x)[1];
    return site.setShape(0, out);
  }
  poolOf(site, site.node->op_type == "NhwcMaxPool" || site.integer("channels_last", 0) != 0);
}

void globalPoolShape(Site& site) {
  site.setType(0, site.type(0));
  const Shape* x = site.shape(0);
  if (x == nullptr || x->size() < 2) return;
  Shape out(x->size(), 1);
  out[0] = (*x)[0];
  out[1] = (*x)[1];
  site.setShape(0, out);
}

void maxUnpoolShape(Site& site) {
  site.setType(0, site.type(0));
  const Shape* x = site.shape(0);
  if (x == nullptr || x->size() < 2) return;
  if (site.in(2) != nullptr) {
    if (const auto* wanted = site.integers(2); wanted != nullptr && wanted->size() == x->size()) {
      site.setShape(0, *wanted);
    } else {
      site.setShape(0, Shape(x->size(), -1));
    }
    return;
  }
  const std::size_t rank = x->size() - 2;
  const auto* kernel = site.list("kernel_shape");
  Window window;
  if (kernel == nullptr || kernel->size() != rank || !windowOf(site, rank, window)) return;
  Shape out = *x;
  for (std::size_t at = 0; at < rank; ++at) {
    const std::int64_t size = (*x)[2 + at];
    const std::int64_t spread = timesDim(window.strides[at], std::max<std::int64_t>(size - 1, 0));
    out[2 + at] = -1;
    if (size < 0 || spread > kMostDim || (*kernel)[at] < 0 || (*kernel)[at] > kMostDim) continue;
    out[2 + at] =
        std::max<std::int64_t>(spread - window.pads[at] - window.pads[at + rank] + (*kernel)[at], 0);
  }
  site.setShape(0, out);
}

void roiPoolShape(Site& site) {
  site.setType(0, site.type(0));
  const Shape* x = site.shape(0);
  const Shape* rois = site.shape(1);
  const auto* pooled = site.list("pooled_shape");
  if (x == nullptr || rois == nullptr || x->size() < 2 || rois->empty() || pooled == nullptr) return;
  Shape out{(*rois)[0], (*x)[1]};
  out.insert(out.end(), pooled->begin(), pooled->end());
  site.setShape(0, out);
}

void roiAlignShape(Site& site) {
  site.setType(0, site.type(0));
  const Shape* x = site.shape(0);
  const Shape* rois = site.shape(1);
  if (x == nullptr || x->size() != 4) return;
  std::int64_t count = rois != nullptr && !rois->empty() ? (*rois)[0] : -1;
  if (const Shape* batch = site.shape(2); count < 0 && batch != nullptr && batch->size() == 1)
    count = (*batch)[0];
  site.setShape(0, {count, (*x)[1], site.integer("output_height", 1), site.integer("output_width", 1)});
}

}  // namespace allot::onnx
