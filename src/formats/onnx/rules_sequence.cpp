// Types of sequences and optionals.
#include <algorithm>

#include "formats/onnx/rules_list.h"

namespace allot::onnx {
namespace {

Value sequenceOf(ElementType element) {
  Value out;
  out.kind = Type::Kind::kSequence;
  out.element = element;
  return out;
}

// The shape that holds for elements of both.
std::optional<Shape> joined(const std::optional<Shape>& a, const std::optional<Shape>& b) {
  if (!a || !b) return std::nullopt;
  Shape out = *a;
  return commonShape(out, *b) ? std::optional(out) : std::nullopt;
}

}  // namespace

void sequenceConstructShape(Site& site) {
  if (site.outputs.empty()) return;
  Value out = sequenceOf(site.type(0));
  out.length = static_cast<std::int64_t>(site.inputs.size());
  for (std::size_t at = 0; at < site.inputs.size(); ++at) {
    if (site.in(at) == nullptr) continue;
    out.shape = at == 0 ? site.in(at)->shape : joined(out.shape, site.in(at)->shape);
  }
  site.outputs[0] = std::move(out);
}

void sequenceEmptyShape(Site& site) {
  if (site.outputs.empty()) return;
  const std::int64_t type = site.integer("dtype", 1);
  site.outputs[0] =
      sequenceOf(type > 0 && type < 1000 ? static_cast<ElementType>(type) : ElementType::kUndefined);
  site.outputs[0].length = 0;
}

void sequenceAtShape(Site& site) {
  site.copy(0, 0);
  site.setType(0, site.type(0));
}

void sequenceInsertShape(Site& site) {
  const Value* sequence = site.in(0);
  const Value* more = site.in(1);
  if (sequence == nullptr || more == nullptr || site.outputs.empty()) return;
  Value out = sequenceOf(sequence->element);
  out.length = plusDim(sequence->length, 1);
  out.shape = sequence->length == 0 ? more->shape : joined(sequence->shape, more->shape);
  site.outputs[0] = std::move(out);
}

void sequenceEraseShape(Site& site) {
  site.copy(0, 0);
  if (site.outputs.empty() || site.in(0) == nullptr) return;
  site.outputs[0].length = site.in(0)->length > 0 ? site.in(0)->length - 1 : -1;
}

void sequenceLengthShape(Site& site) {
  site.set(0, ElementType::kInt64, {});
  if (const Value* sequence = site.in(0);
      sequence != nullptr && sequence->length >= 0 && !site.outputs.empty()) {
    site.outputs[0].integers = {sequence->length};
  }
}

// The body sees one element of each sequence, and each tensor whole.
void sequenceMapShape(Site& site) {
  const Attribute* body = site.attribute("body");
  const Value* first = site.in(0);
  if (body == nullptr || body->graph == nullptr || site.bodies == nullptr || first == nullptr) return;
  std::vector<Value> bound;
  for (const Value* input : site.inputs) {
    Value value;
    if (input != nullptr) {
      value.kind = Type::Kind::kTensor;
      value.element = input->element;
      value.shape = input->shape;
    }
    bound.push_back(std::move(value));
  }
  const std::vector<Value> made = site.bodies->run(*body->graph, bound);
  for (std::size_t at = 0; at < site.outputs.size() && at < made.size(); ++at) {
    site.outputs[at] = sequenceOf(made[at].element);
    site.outputs[at].shape = made[at].shape;
    site.outputs[at].length = first->length;
  }
}

void splitToSequenceShape(Site& site) {
  if (site.outputs.empty()) return;
  Value out = sequenceOf(site.type(0));
  const Shape* shape = site.shape(0);
  const auto axis = shape != nullptr ? axisOf(site.integer("axis", 0), shape->size()) : std::nullopt;
  if (axis) {
    const std::int64_t whole = (*shape)[*axis];
    Shape part = *shape;
    part[*axis] = -1;
    const auto* sizes = site.integers(1);
    const Shape* listed = site.shape(1);
    if (site.in(1) == nullptr) {
      out.length = whole;
      part[*axis] = 1;
      if (site.integer("keepdims", 1) == 0) part.erase(part.begin() + static_cast<std::ptrdiff_t>(*axis));
    } else if (sizes != nullptr && listed != nullptr && listed->empty()) {
      const std::int64_t size = sizes->front();
      if (size > 0 && whole >= 0) {
        out.length = whole / size + (whole % size != 0 ? 1 : 0);
        if (whole % size == 0) part[*axis] = size;
      }
    } else if (sizes != nullptr && !sizes->empty()) {
      out.length = static_cast<std::int64_t>(sizes->size());
      const bool even = std::all_of(sizes->begin(), sizes->end(),
                                    [&](std::int64_t size) { return size >= 0 && size == sizes->front(); });
      if (even) part[*axis] = sizes->front();
    }
    out.shape = std::move(part);
  }
  site.outputs[0] = std::move(out);
}

void concatFromSequenceShape(Site& site) {
  site.setType(0, site.type(0));
  const Value* sequence = site.in(0);
  if (sequence == nullptr || !sequence->shape) return;
  Shape out = *sequence->shape;
  const bool fresh = site.integer("new_axis", 0) != 0;
  const auto axis = axisOf(site.integer("axis", 0), out.size() + (fresh ? 1 : 0));
  if (!axis) return;
  if (fresh) {
    out.insert(out.begin() + static_cast<std::ptrdiff_t>(*axis), sequence->length);
  } else {
    out[*axis] = timesDim(out[*axis], sequence->length);
  }
  site.setShape(0, out);
}

void optionalShape(Site& site) {
  if (site.outputs.empty()) return;
  if (site.in(0) != nullptr) site.copy(0, 0);
  site.outputs[0].kind = Type::Kind::kOptional;
}

// What was put into an optional may be a tensor or a sequence; a declared type tells more than the value
// does.
void optionalGetShape(Site& site) {
  site.copy(0, 0);
  if (!site.outputs.empty() && site.outputs[0].kind == Type::Kind::kOptional) {
    site.outputs[0].kind = Type::Kind::kTensor;
  }
}

void optionalHasShape(Site& site) {
  site.set(0, ElementType::kBool, {});
}

}  // namespace allot::onnx
