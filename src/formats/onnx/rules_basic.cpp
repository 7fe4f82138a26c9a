// Shapes of elementwise operators, constants, generators and normalisations.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "formats/onnx/rules_list.h"

namespace allot::onnx {
namespace {

ElementType elementOf(std::int64_t number) {
  return number >= 0 && number <= 1000 ? static_cast<ElementType>(number) : ElementType::kUndefined;
}

// Shape of all inputs from `first` on; nothing where one is not known.
std::optional<Shape> broadcastOf(Site& site, std::size_t first, std::size_t last) {
  Shape out;
  bool any = false;
  for (std::size_t at = first; at < last; ++at) {
    if (site.in(at) == nullptr) continue;
    const Shape* shape = site.shape(at);
    if (shape == nullptr) return std::nullopt;
    any = true;
    if (!broadcastInto(out, *shape)) {
      site.problem = fmt::format("shapes {} and {} do not broadcast", shapeText(out), shapeText(*shape));
      return std::nullopt;
    }
  }
  if (!any) return std::nullopt;
  return out;
}

void broadcastAs(Site& site, ElementType type) {
  site.setType(0, type);
  // Before opset 7 the second input was stretched over the first, from an axis that an attribute names.
  if (site.version > 0 && site.version < 7 && (site.node->domain.empty() || site.node->domain == "ai.onnx") &&
      site.inputs.size() == 2) {
    if (const Shape* shape = site.shape(0)) site.setShape(0, *shape);
    return;
  }
  if (const auto shape = broadcastOf(site, 0, site.inputs.size())) site.setShape(0, *shape);
}

}  // namespace

void sameShape(Site& site) {
  site.copy(0, 0);
}

void sameShapeBool(Site& site) {
  site.copy(0, 0);
  site.setType(0, ElementType::kBool);
}

void broadcastShape(Site& site) {
  broadcastAs(site, site.type(0));
}

void broadcastBool(Site& site) {
  broadcastAs(site, ElementType::kBool);
}

void whereShape(Site& site) {
  site.setType(0, site.type(1));
  if (const auto shape = broadcastOf(site, 0, 3)) site.setShape(0, *shape);
}

void castShape(Site& site) {
  site.copy(0, 0);
  const Attribute* to = site.attribute("to");
  if (to == nullptr) return site.setType(0, ElementType::kUndefined);
  // Opsets before 6 name the type.
  if (to->i == 0 && to->s == "FLOAT") return site.setType(0, ElementType::kFloat);
  if (to->i == 0 && to->s == "INT32") return site.setType(0, ElementType::kInt32);
  if (to->i == 0 && to->s == "INT64") return site.setType(0, ElementType::kInt64);
  if (to->i == 0 && to->s == "BOOL") return site.setType(0, ElementType::kBool);
  if (to->i == 0 && to->s == "DOUBLE") return site.setType(0, ElementType::kDouble);
  if (to->i == 0 && to->s == "FLOAT16") return site.setType(0, ElementType::kFloat16);
  site.setType(0, elementOf(to->i));
}

void castLikeShape(Site& site) {
  site.copy(0, 0);
  site.setType(0, site.type(1));
}

void dropoutShape(Site& site) {
  site.copy(0, 0);
  site.copy(1, 0);
  site.setType(1, site.version > 0 && site.version < 10 ? site.type(0) : ElementType::kBool);
}

void constantShape(Site& site) {
  if (site.outputs.empty()) return;
  Value& out = site.outputs[0];
  for (const Attribute& attribute : site.node->attributes) {
    if (attribute.name == "value" && attribute.tensor != nullptr) {
      out = valueOf(*attribute.tensor);
    } else if (attribute.name == "sparse_value" && attribute.tensor != nullptr) {
      site.set(0, attribute.tensor->type, attribute.tensor->dims);
    } else if (attribute.name == "value_int") {
      site.set(0, ElementType::kInt64, {});
      out.integers = {attribute.i};
    } else if (attribute.name == "value_ints") {
      site.set(0, ElementType::kInt64, {static_cast<std::int64_t>(attribute.ints.size())});
      if (attribute.ints.size() <= static_cast<std::size_t>(kMostFolded)) out.integers = attribute.ints;
    } else if (attribute.name == "value_float") {
      site.set(0, ElementType::kFloat, {});
      out.numbers = {static_cast<double>(attribute.f)};
    } else if (attribute.name == "value_floats") {
      site.set(0, ElementType::kFloat, {static_cast<std::int64_t>(attribute.floats.size())});
      if (attribute.floats.size() <= static_cast<std::size_t>(kMostFolded)) {
        out.numbers = std::vector<double>(attribute.floats.begin(), attribute.floats.end());
      }
    } else if (attribute.name == "value_string") {
      site.set(0, ElementType::kString, {});
    } else if (attribute.name == "value_strings") {
      site.set(0, ElementType::kString, {static_cast<std::int64_t>(attribute.strings.size())});
    }
  }
  out.constant = true;
}

void constantOfShapeShape(Site& site) {
  ElementType type = ElementType::kFloat;
  if (const Attribute* value = site.attribute("value"); value != nullptr && value->tensor != nullptr) {
    type = value->tensor->type;
  }
  site.setType(0, type);
  const Value* dims = site.in(0);
  if (dims == nullptr) return;
  if (dims->integers) {
    Shape shape = *dims->integers;
    for (std::int64_t& dim : shape) {
      if (dim == kHole) dim = -1;
    }
    return site.setShape(0, shape);
  }
  const Shape* shape = site.shape(0);
  if (shape != nullptr && shape->size() == 1 && shape->front() >= 0 && shape->front() <= 64) {
    site.setShape(0, Shape(static_cast<std::size_t>(shape->front()), -1));
  }
}

void rangeShape(Site& site) {
  const auto start = site.scalar(0);
  const auto limit = site.scalar(1);
  const auto delta = site.scalar(2);
  std::int64_t count = -1;
  if (start && limit && delta && *delta != 0) {
    const double steps = std::ceil((*limit - *start) / *delta);
    if (std::isfinite(steps) && steps <= static_cast<double>(kMostElements)) {
      count = static_cast<std::int64_t>(std::max(0.0, steps));
    }
  }
  site.set(0, site.type(0), {count});
}

void likeShape(Site& site) {
  site.copy(0, 0);
  if (const Attribute* type = site.attribute("dtype")) site.setType(0, elementOf(type->i));
}

void eyeLikeShape(Site& site) {
  likeShape(site);
}

void randomShape(Site& site) {
  site.setType(0, elementOf(site.integer("dtype", 1)));
  if (const auto* shape = site.list("shape")) site.setShape(0, *shape);
}

void multinomialShape(Site& site) {
  const Shape* shape = site.shape(0);
  site.set(0, elementOf(site.integer("dtype", 6)),
           {shape != nullptr && shape->size() == 2 ? (*shape)[0] : -1, site.integer("sample_size", 1)});
}

void windowShape(Site& site) {
  const auto size = site.scalar(0);
  site.set(0, elementOf(site.integer("output_datatype", 1)),
           {size && *size >= 0 && *size < 1e18 ? static_cast<std::int64_t>(*size) : -1});
}

void melWeightShape(Site& site) {
  const auto bins = site.scalar(0);
  const auto length = site.scalar(1);
  site.set(0, elementOf(site.integer("output_datatype", 1)),
           {length && *length >= 0 && *length < 1e18 ? static_cast<std::int64_t>(*length) / 2 + 1 : -1,
            bins && *bins >= 0 && *bins < 1e18 ? static_cast<std::int64_t>(*bins) : -1});
}

void shapeShape(Site& site) {
  const Shape* shape = site.shape(0);
  if (shape == nullptr) {
    site.set(0, ElementType::kInt64, {-1});
    return;
  }
  const auto rank = static_cast<std::int64_t>(shape->size());
  const auto clamp = [rank](std::int64_t at) {
    return std::clamp<std::int64_t>(at < 0 ? std::max(at, -rank) + rank : at, 0, rank);
  };
  const std::int64_t from = clamp(site.integer("start", 0));
  const std::int64_t to = std::max(from, clamp(site.integer("end", rank)));
  site.set(0, ElementType::kInt64, {to - from});
  if (site.outputs.empty()) return;
  std::vector<std::int64_t> dims(shape->begin() + from, shape->begin() + to);
  for (std::int64_t& dim : dims) {
    if (dim < 0) dim = kHole;
  }
  site.outputs[0].integers = std::move(dims);
}

void sizeShape(Site& site) {
  site.set(0, ElementType::kInt64, {});
  const Shape* shape = site.shape(0);
  if (shape == nullptr || site.outputs.empty()) return;
  if (const std::int64_t count = product(*shape); count >= 0) site.outputs[0].integers = {count};
}

void detShape(Site& site) {
  site.setType(0, site.type(0));
  const Shape* shape = site.shape(0);
  if (shape != nullptr && shape->size() >= 2) site.setShape(0, Shape(shape->begin(), shape->end() - 2));
}

void lossShape(Site& site) {
  const Shape* labels = site.shape(1);
  site.setType(0, site.type(0));
  site.copy(1, 0);
  if (site.text("reduction", "mean") != "none") return site.setShape(0, {});
  if (labels != nullptr) site.setShape(0, *labels);
}

void stringSplitShape(Site& site) {
  site.setType(0, ElementType::kString);
  site.setType(1, ElementType::kInt64);
  const Shape* shape = site.shape(0);
  if (shape == nullptr) return;
  site.setShape(1, *shape);
  Shape pieces = *shape;
  pieces.push_back(-1);
  site.setShape(0, pieces);
}

void tfIdfShape(Site& site) {
  site.setType(0, ElementType::kFloat);
  const auto* indexes = site.list("ngram_indexes");
  const Shape* shape = site.shape(0);
  if (indexes == nullptr || indexes->empty() || shape == nullptr || shape->size() > 2) return;
  Shape out(shape->begin(), shape->empty() ? shape->end() : shape->end() - 1);
  const std::int64_t most = *std::max_element(indexes->begin(), indexes->end());
  out.push_back(most >= 0 && most < kMostElements ? most + 1 : -1);
  site.setShape(0, out);
}

void vectorOfUnknownShape(Site& site) {
  site.setType(0, site.type(0));
  const Shape* shape = site.shape(0);
  if (shape == nullptr) return;
  Shape out = *shape;
  if (!out.empty()) out.back() = -1;
  site.setShape(0, out);
}

void imageDecoderShape(Site& site) {
  site.set(0, ElementType::kUint8, {-1, -1, site.text("pixel_format", "RGB") == "Grayscale" ? 1 : 3});
}

void batchNormShape(Site& site) {
  site.copy(0, 0);
  const Shape* shape = site.shape(0);
  for (std::size_t at = 1; at < site.outputs.size(); ++at) {
    site.setType(at, site.type(at <= 2 && site.in(at + 2) != nullptr ? at + 2 : 0));
    if (shape != nullptr && shape->size() >= 2) site.setShape(at, {(*shape)[1]});
  }
}

// Mean and inverse deviation keep the rank, with 1 for each normalised axis.
void layerNormShape(Site& site) {
  site.copy(0, 0);
  const ElementType stash = elementOf(site.integer("stash_type", 1));
  const Shape* shape = site.shape(0);
  for (std::size_t at = 1; at < site.outputs.size() && at <= 2; ++at) {
    site.setType(at, stash);
    if (shape == nullptr) continue;
    const auto axis = axisOf(site.integer("axis", -1), shape->size());
    if (!axis) continue;
    Shape out = *shape;
    std::fill(out.begin() + static_cast<std::ptrdiff_t>(*axis), out.end(), 1);
    site.setShape(at, out);
  }
}

// Rate, step, then groups of tensors: those to update, their gradients, their states. The outputs are the
// updated tensors and states.
void optimizerShape(Site& site) {
  const std::size_t groups = site.node->op_type == "Adam" ? 4 : 3;
  if (site.inputs.size() < 2 || (site.inputs.size() - 2) % groups != 0) return;
  const std::size_t count = (site.inputs.size() - 2) / groups;
  for (std::size_t at = 0; at < site.outputs.size() && count > 0; ++at) {
    const std::size_t group = at / count;
    site.copy(at, 2 + (group == 0 ? 0 : (group + 1) * count) + at % count);
  }
}

}  // namespace allot::onnx
