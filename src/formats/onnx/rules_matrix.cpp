// Shapes of matrix products, sums of products and recurrences.
#include <algorithm>
#include <array>
#include <map>

#include <fmt/format.h>

#include "formats/onnx/einsum.h"
#include "formats/onnx/rules_list.h"

namespace allot::onnx {

// As numpy.matmul: vectors gain an axis that the result loses again, leading axes broadcast.
bool matMulDims(Site& site, const Shape& a, const Shape& b, Shape& out) {
  if (a.empty() || b.empty()) return false;
  Shape left = a;
  Shape right = b;
  if (a.size() == 1) left.insert(left.begin(), 1);
  if (b.size() == 1) right.push_back(1);
  const std::int64_t inner = left.back();
  const std::int64_t other = right[right.size() - 2];
  out.assign(left.begin(), left.end() - 2);
  const bool fits = broadcastInto(out, Shape(right.begin(), right.end() - 2));
  if (!fits || (inner >= 0 && other >= 0 && inner != other)) {
    site.problem = fmt::format("matrices {} and {} cannot be multiplied", shapeText(a), shapeText(b));
    return false;
  }
  if (a.size() > 1) out.push_back(left[left.size() - 2]);
  if (b.size() > 1) out.push_back(right.back());
  return true;
}

namespace {

void matMulOf(Site& site, std::size_t left, std::size_t right) {
  const Shape* a = site.shape(left);
  const Shape* b = site.shape(right);
  Shape out;
  if (a != nullptr && b != nullptr && matMulDims(site, *a, *b, out)) site.setShape(0, out);
}

void gemmOf(Site& site, std::size_t left, std::size_t right, bool turn_a, bool turn_b) {
  const Shape* a = site.shape(left);
  const Shape* b = site.shape(right);
  if ((a != nullptr && a->size() != 2) || (b != nullptr && b->size() != 2)) {
    // Opsets before 7 flattened nothing either: both are matrices.
    site.problem = "a Gemm needs two matrices";
    return;
  }
  if (a != nullptr && b != nullptr) {
    const std::int64_t inner = (*a)[turn_a ? 0 : 1];
    const std::int64_t other = (*b)[turn_b ? 1 : 0];
    if (inner >= 0 && other >= 0 && inner != other) {
      site.problem = fmt::format("matrices {} and {} cannot be multiplied", shapeText(*a), shapeText(*b));
      return;
    }
  }
  site.setShape(0, {a != nullptr ? (*a)[turn_a ? 1 : 0] : -1, b != nullptr ? (*b)[turn_b ? 0 : 1] : -1});
}

}  // namespace

void matMulShape(Site& site) {
  site.setType(0, site.type(0));
  matMulOf(site, 0, 1);
}

void matMulIntegerShape(Site& site) {
  site.setType(0, ElementType::kInt32);
  matMulOf(site, 0, 1);
}

void qlinearMatMulShape(Site& site) {
  site.setType(0, site.type(site.in(7) != nullptr ? 7 : 0));
  matMulOf(site, 0, 3);
}

void matMulIntegerToFloatShape(Site& site) {
  const bool dynamic = site.node->op_type == "DynamicQuantizeMatMul";
  site.setType(0, dynamic ? site.type(0) : site.type(2));
  matMulOf(site, 0, 1);
}

// com.microsoft: either side may be transposed in its last two axes, or have its batch axis before them.
void fusedMatMulShape(Site& site) {
  site.setType(0, site.type(0));
  const Shape* a = site.shape(0);
  const Shape* b = site.shape(1);
  if (a == nullptr || b == nullptr || a->empty() || b->empty()) return;
  const auto turned = [](Shape shape, bool turn, bool batch) {
    if (batch && shape.size() > 2) std::rotate(shape.begin(), shape.begin() + 1, shape.end() - 1);
    if (turn && shape.size() > 1) std::swap(shape[shape.size() - 1], shape[shape.size() - 2]);
    return shape;
  };
  Shape out;
  if (matMulDims(site, turned(*a, site.integer("transA", 0) != 0, site.integer("transBatchA", 0) != 0),
                 turned(*b, site.integer("transB", 0) != 0, site.integer("transBatchB", 0) != 0), out)) {
    site.setShape(0, out);
  }
}

void gemmShape(Site& site) {
  // GemmFloat8 of com.microsoft names the type of its result.
  const std::int64_t named = site.integer("dtype", 0);
  site.setType(0, named > 0 && named < 1000 ? static_cast<ElementType>(named) : site.type(0));
  gemmOf(site, 0, 1, site.integer("transA", 0) != 0, site.integer("transB", 0) != 0);
}

// com.microsoft QGemm: A, scale, zero, B, ...; floats without an output scale.
void qgemmShape(Site& site) {
  site.setType(0, site.in(7) != nullptr ? site.type(0) : ElementType::kFloat);
  gemmOf(site, 0, 3, site.integer("transA", 0) != 0, site.integer("transB", 0) != 0);
}

// com.microsoft: B is packed, so the attributes say its size.
void matMulNBitsShape(Site& site) {
  site.setType(0, site.type(0));
  const Shape* a = site.shape(0);
  if (a == nullptr || a->empty()) return;
  Shape out = *a;
  // MatMulBnb4 keeps the same names.
  out.back() = std::max<std::int64_t>(site.integer("N", -1), -1);
  site.setShape(0, out);
}

// Letters name axes; "..." stands for axes that broadcast. Without an arrow the output has the ellipsis and
// then the letters that occur once, in alphabetical order.
void einsumShape(Site& site) {
  site.setType(0, site.type(0));
  const EinsumEquation equation(site.text("equation", ""));
  std::map<char, std::int64_t> size;
  std::map<char, int> times;
  Shape dots;
  for (std::size_t input = 0; input < equation.inputs.size(); ++input) {
    const std::string& term = equation.inputs[input];
    const Shape* shape = site.shape(input);
    if (shape == nullptr) return;
    const std::size_t ellipsis = term.find("...");
    const std::size_t letters = term.size() - (ellipsis == std::string::npos ? 0 : 3);
    if (letters > shape->size() || (ellipsis == std::string::npos && letters != shape->size())) {
      site.problem = fmt::format("\"{}\" does not fit {}", term, shapeText(*shape));
      return;
    }
    std::size_t axis = 0;
    for (std::size_t c = 0; c < term.size(); ++c) {
      if (c == ellipsis) {
        const std::size_t wide = shape->size() - letters;
        if (!broadcastInto(dots, Shape(shape->begin() + static_cast<std::ptrdiff_t>(axis),
                                       shape->begin() + static_cast<std::ptrdiff_t>(axis + wide)))) {
          return;
        }
        axis += wide;
        c += 2;
        continue;
      }
      auto [found, fresh] = size.try_emplace(term[c], (*shape)[axis]);
      if (!fresh && (found->second < 0 || found->second == 1)) found->second = (*shape)[axis];
      ++times[term[c]];
      ++axis;
    }
  }
  Shape out;
  if (!equation.output) {
    out = dots;
    for (const auto& [letter, count] : times) {
      if (count == 1) out.push_back(size[letter]);
    }
    return site.setShape(0, out);
  }
  const std::string& right = *equation.output;
  for (std::size_t c = 0; c < right.size(); ++c) {
    if (right.compare(c, 3, "...") == 0) {
      out.insert(out.end(), dots.begin(), dots.end());
      c += 2;
    } else {
      const auto found = size.find(right[c]);
      if (found == size.end()) return;
      out.push_back(found->second);
    }
  }
  site.setShape(0, out);
}

// X [sequence, batch, input] and W [directions, gates * hidden, input]; layout 1 puts the batch first.
void recurrentShape(Site& site) {
  const bool lstm = site.node->op_type.ends_with("LSTM");
  for (std::size_t at = 0; at < site.outputs.size(); ++at) site.setType(at, site.type(0));
  const Shape* x = site.shape(0);
  if (x == nullptr || x->size() != 3) return;
  const bool batch_first = site.integer("layout", 0) != 0;
  const std::int64_t directions = site.text("direction", "forward") == "bidirectional" ? 2 : 1;
  std::int64_t hidden = site.integer("hidden_size", -1);
  if (const Shape* r = site.shape(2); hidden <= 0 && r != nullptr && r->size() == 3) hidden = (*r)[2];
  hidden = std::max<std::int64_t>(hidden, -1);
  const std::int64_t sequence = (*x)[batch_first ? 1 : 0];
  const std::int64_t batch = (*x)[batch_first ? 0 : 1];
  if (batch_first) {
    site.setShape(0, {batch, sequence, directions, hidden});
    site.setShape(1, {batch, directions, hidden});
    if (lstm) site.setShape(2, {batch, directions, hidden});
  } else {
    site.setShape(0, {sequence, directions, batch, hidden});
    site.setShape(1, {directions, batch, hidden});
    if (lstm) site.setShape(2, {directions, batch, hidden});
  }
}

}  // namespace allot::onnx
