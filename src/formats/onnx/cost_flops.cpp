#include <algorithm>
#include <bitset>
#include <cmath>

#include "formats/onnx/cost.h"
#include "formats/onnx/einsum.h"
#include "formats/onnx/op_table.h"

namespace allot::onnx {
namespace {

double scaled(double weight, double elements) {
  return elements < 0 ? kFlopsUnknown : weight * elements;
}

double dims(const Shape& shape, std::size_t from, std::size_t to) {
  double out = 1;
  for (std::size_t at = from; at < to && at < shape.size(); ++at) out *= static_cast<double>(shape[at]);
  return out;
}

// Every output element takes one row of the weights.
double convWith(const CostSite& site, std::size_t weight, std::size_t bias) {
  const Shape* w = site.shape(weight);
  const double out = site.madeElements(0);
  if (w == nullptr || w->empty() || out < 0) return kFlopsUnknown;
  double flops = 2 * out * dims(*w, 1, w->size());
  if (site.in(bias) != nullptr) flops += out;
  // FusedConv: an activation and a tensor to add come along.
  if (site.node->find("activation") != nullptr) flops += out;
  return flops;
}

double innerOf(const Shape* a, bool turned) {
  if (a == nullptr || a->empty()) return -1;
  return static_cast<double>(turned && a->size() > 1 ? (*a)[a->size() - 2] : a->back());
}

double gemmWith(const CostSite& site, std::size_t bias) {
  const double inner = innerOf(site.shape(0), site.node->integer("transA", 0) != 0);
  const double out = site.madeElements(0);
  if (inner < 0 || out < 0) return kFlopsUnknown;
  return 2 * inner * out + (site.in(bias) != nullptr ? out : 0);
}

}  // namespace

double noFlops(const CostSite&) {
  return 0;
}

double perElement(const CostSite& site) {
  return scaled(site.row->weight, site.madeElements(0));
}

double perInput(const CostSite& site) {
  return scaled(site.row->weight, site.elements(0));
}

double perEveryInput(const CostSite& site) {
  const double more = std::max<double>(static_cast<double>(site.inputs.size()) - 1, 0);
  return scaled(site.row->weight * more, site.madeElements(0));
}

double perMade(const CostSite& site) {
  double sum = 0;
  for (std::size_t at = 0; at < site.outputs.size(); ++at) {
    if (site.node->outputs[at].empty()) continue;
    if (site.madeElements(at) < 0) return kFlopsUnknown;
    sum += site.madeElements(at);
  }
  return site.row->weight * sum;
}

double matMulFlops(const CostSite& site) {
  bool turned = site.node->integer("transA", 0) != 0;
  const Shape* a = site.shape(0);
  // With the batch axis moved behind, the inner axis is still the last, or the first when transposed.
  if (turned && site.node->integer("transBatchA", 0) != 0 && a != nullptr && a->size() > 2) {
    const double out = site.madeElements(0);
    return out < 0 ? kFlopsUnknown : 2 * static_cast<double>((*a)[0]) * out;
  }
  const double inner = innerOf(a, turned);
  const double out = site.madeElements(0);
  if (inner < 0 || out < 0) return kFlopsUnknown;
  return 2 * inner * out;
}

double gemmFlops(const CostSite& site) {
  return gemmWith(site, 2);
}

double qgemmFlops(const CostSite& site) {
  return gemmWith(site, 6);
}

double matMulNBitsFlops(const CostSite& site) {
  const double inner = static_cast<double>(site.node->integer("K", -1));
  const double out = site.madeElements(0);
  if (inner < 0 || out < 0) return kFlopsUnknown;
  return 2 * inner * out;
}

// The product of all distinct axes, times the number of factors: as a loop over all letters would do it.
double einsumFlops(const CostSite& site) {
  const Attribute* text = site.node->find("equation");
  if (text == nullptr || site.made(0) == nullptr) return kFlopsUnknown;
  const EinsumEquation equation(text->s);
  std::bitset<256> seen;
  double total = 1;
  double dots = 1;
  for (std::size_t input = 0; input < equation.inputs.size(); ++input) {
    const std::string& term = equation.inputs[input];
    const Shape* shape = site.shape(input);
    if (shape == nullptr) return kFlopsUnknown;
    const std::size_t ellipsis = term.find("...");
    const std::size_t letters = term.size() - (ellipsis == std::string::npos ? 0 : 3);
    if (letters > shape->size()) return kFlopsUnknown;
    std::size_t axis = 0;
    for (std::size_t c = 0; c < term.size() && axis <= shape->size(); ++c) {
      if (c == ellipsis) {
        const std::size_t wide = shape->size() - letters;
        dots = std::max(dots, dims(*shape, axis, axis + wide));
        axis += wide;
        c += 2;
        continue;
      }
      const auto letter = static_cast<unsigned char>(term[c]);
      if (!seen[letter] && axis < shape->size()) total *= static_cast<double>((*shape)[axis]);
      seen[letter] = true;
      ++axis;
    }
  }
  return total * dots * static_cast<double>(equation.inputs.size());
}

double convFlops(const CostSite& site) {
  return convWith(site, 1, 2);
}

double qlinearConvFlops(const CostSite& site) {
  return convWith(site, 3, 8);
}

// Every input element spreads over one slice of the weights.
double convTransposeFlops(const CostSite& site) {
  const Shape* w = site.shape(1);
  const double in = site.elements(0);
  const double out = site.madeElements(0);
  if (w == nullptr || w->empty() || in < 0 || out < 0) return kFlopsUnknown;
  return 2 * in * dims(*w, 1, w->size()) + (site.in(2) != nullptr ? out : 0);
}

double causalConvFlops(const CostSite& site) {
  const Shape* w = site.shape(1);
  const double out = site.madeElements(0);
  if (w == nullptr || w->size() != 3 || out < 0) return kFlopsUnknown;
  const bool active = site.node->find("activation") != nullptr;
  return 2 * out * static_cast<double>((*w)[2]) + (site.in(2) != nullptr ? out : 0) + (active ? 5 * out : 0);
}

// The convolution, and eight operations to interpolate each place it reads.
double deformConvFlops(const CostSite& site) {
  const double conv = convWith(site, 1, 3);
  const Shape* w = site.shape(1);
  const double out = site.madeElements(0);
  if (conv < 0 || w == nullptr || (*w)[0] <= 0) return kFlopsUnknown;
  return conv + 8 * out / static_cast<double>((*w)[0]) * dims(*w, 1, w->size());
}

double poolFlops(const CostSite& site) {
  const Attribute* kernel = site.node->find("kernel_shape");
  const double out = site.madeElements(0);
  const Shape* x = site.shape(0);
  if (kernel == nullptr || out < 0) return kFlopsUnknown;
  // A window sees no more than there is: global pools are written as kernels larger than any input.
  const bool last = site.node->op_type.starts_with("Nhwc") || site.node->integer("channels_last", 0) != 0;
  const std::size_t first = last ? 1 : 2;
  double window = 1;
  for (std::size_t at = 0; at < kernel->ints.size(); ++at) {
    auto reach = static_cast<double>(kernel->ints[at]);
    if (x != nullptr && first + at < x->size() && (*x)[first + at] >= 0)
      reach = std::min(reach, static_cast<double>((*x)[first + at]));
    window *= reach;
  }
  return out * window * site.row->weight;
}

double fourierFlops(const CostSite& site) {
  const Shape* out = site.made(0);
  if (out == nullptr || out->size() < 2) return kFlopsUnknown;
  // A fast transform of n complex points: 5 n log2 n.
  double points = dims(*out, 0, out->size() - 1);
  double length = 0;
  if (site.node->op_type == "STFT") {
    length = static_cast<double>((*out)[out->size() - 2]);
  } else {
    for (std::size_t at = 0; at + 1 < out->size(); ++at)
      length = std::max(length, static_cast<double>((*out)[at]));
  }
  return 5 * points * std::log2(std::max(length, 2.0));
}

double detFlops(const CostSite& site) {
  const Shape* x = site.shape(0);
  if (x == nullptr || x->size() < 2) return kFlopsUnknown;
  const double side = static_cast<double>(x->back());
  return dims(*x, 0, x->size() - 2) * 2.0 / 3.0 * side * side * side;
}

double resizeFlops(const CostSite& site) {
  const Attribute* mode = site.node->find("mode");
  const Shape* out = site.made(0);
  if (out == nullptr) return kFlopsUnknown;
  if (mode == nullptr || mode->s == "nearest") return 0;
  int stretched = 0;
  const Shape* x = site.shape(0);
  for (std::size_t at = 0; at < out->size(); ++at) {
    stretched += x == nullptr || at >= x->size() || (*x)[at] != (*out)[at] ? 1 : 0;
  }
  const double taps = std::pow(mode->s == "cubic" ? 4 : 2, stretched);
  return 2 * taps * site.madeElements(0);
}

double topKFlops(const CostSite& site) {
  const Shape* out = site.made(0);
  const double in = site.elements(0);
  if (out == nullptr || in < 0) return kFlopsUnknown;
  double chosen = 2;
  const Shape* x = site.shape(0);
  for (std::size_t at = 0; x != nullptr && at < out->size() && at < x->size(); ++at) {
    if ((*x)[at] != (*out)[at]) chosen = std::max(chosen, static_cast<double>((*out)[at]));
  }
  return in * std::log2(chosen + 1);
}

double lrnFlops(const CostSite& site) {
  const double size = static_cast<double>(std::max<std::int64_t>(site.node->integer("size", 1), 1));
  return scaled(2 * size + 4, site.madeElements(0));
}

double linearModelFlops(const CostSite& site) {
  const double in = site.elements(0);
  const Attribute* weights = site.node->find("coefficients");
  const Shape* x = site.shape(0);
  if (in < 0 || weights == nullptr || x == nullptr || x->empty() || x->back() <= 0) return kFlopsUnknown;
  return 2 * in / static_cast<double>(x->back()) * static_cast<double>(weights->floats.size());
}

}  // namespace allot::onnx
