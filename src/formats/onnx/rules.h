// What a rule sees of one node, and the small tools that rules share.
//
// A rule reads the types, shapes and values of a node's inputs and says those of its outputs. While inference
// runs, a dimension may be -1 (the rank is known, the size is not) and an integer kHole (this entry of a
// known vector is not known; NaN among numbers); both are removed before anyone else sees them. A rule that
// lacks something says less, never a guess; only a contradiction is worth `Site::problem`.
#pragma once

#include <cstddef>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "formats/onnx/types.h"

namespace allot::onnx {

// Not the least integer, which exporters write for "from the very beginning".
inline constexpr std::int64_t kHole = std::numeric_limits<std::int64_t>::min() + 0x5eed0b5c;

struct OpRow;

// Infers a body: `bound` are the values of its inputs in order. Gives back the values of its outputs.
class BodyRunner {
 public:
  virtual ~BodyRunner() = default;
  virtual std::vector<Value> run(const Graph& body, const std::vector<Value>& bound) = 0;
  // How many bodies the node that asks lies in.
  virtual int depth() const = 0;
};

class Site {
 public:
  const Node* node = nullptr;
  std::int64_t version = 0;  // opset of the default domain
  std::vector<const Value*> inputs;
  std::vector<Value> outputs;
  BodyRunner* bodies = nullptr;
  std::string problem;  // a contradiction, in words

  // The value of an input; null where it is absent.
  const Value* in(std::size_t index) const { return index < inputs.size() ? inputs[index] : nullptr; }
  // The shape of an input, -1 for sizes not known; null where not even the rank is known.
  const Shape* shape(std::size_t index) const;
  ElementType type(std::size_t index) const;
  // The integers of an input where all of them are known.
  const std::vector<std::int64_t>* integers(std::size_t index) const;
  const std::vector<double>* numbers(std::size_t index) const;
  // The only entry of an input, integer or floating.
  std::optional<double> scalar(std::size_t index) const;

  const Attribute* attribute(std::string_view name) const { return node->find(name); }
  std::int64_t integer(std::string_view name, std::int64_t otherwise) const;
  float real(std::string_view name, float otherwise) const;
  std::string_view text(std::string_view name, std::string_view otherwise) const;
  // Null where the attribute is absent.
  const std::vector<std::int64_t>* list(std::string_view name) const;

  // A list that is an attribute in old opsets and an input in new ones.
  struct List {
    bool given = false;  // by attribute or input, known or not
    std::optional<std::vector<std::int64_t>> values;
  };
  List listOf(std::string_view name, std::size_t input) const;

  void set(std::size_t output, ElementType type, const Shape& shape);
  void setType(std::size_t output, ElementType type);
  void setShape(std::size_t output, const Shape& shape);
  void copy(std::size_t output, std::size_t input);  // type and shape
};

// Counts an axis from the front; nothing where it is outside.
std::optional<std::size_t> axisOf(std::int64_t axis, std::size_t rank);
// The product of dimensions [from, to); -1 where one is not known, saturated at kMostElements.
std::int64_t product(const Shape& shape, std::size_t from, std::size_t to);
inline std::int64_t product(const Shape& shape) {
  return product(shape, 0, shape.size());
}
// -1 where either is not known.
std::int64_t timesDim(std::int64_t a, std::int64_t b);
std::int64_t plusDim(std::int64_t a, std::int64_t b);
// Widens `out` to hold `in` under multidirectional broadcasting; false where they do not fit.
bool broadcastInto(Shape& out, const Shape& in);
// Puts what `b` knows into `a`; a dimension on which they differ becomes unknown. False where ranks differ.
bool commonShape(Shape& a, const Shape& b);
std::string shapeText(const Shape& shape);
bool isFloating(ElementType type);
// Value of a stored small tensor.
Value valueOf(const Tensor& tensor);

}  // namespace allot::onnx
