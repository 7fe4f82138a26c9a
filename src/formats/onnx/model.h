// An ONNX model as it stands in the file: views into the bytes, nothing copied but the structure.
//
// Every string_view points into the mapped file, which must outlive the model, or into `Model::owned`.
// Weights are never touched: a tensor is its name, type, dimensions and where its data lies.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace allot::onnx {

// Numbers of TensorProto.DataType; those beyond are kept as they are and have no size.
enum class ElementType : std::int32_t {
  kUndefined = 0,
  kFloat = 1,
  kUint8 = 2,
  kInt8 = 3,
  kUint16 = 4,
  kInt16 = 5,
  kInt32 = 6,
  kInt64 = 7,
  kString = 8,
  kBool = 9,
  kFloat16 = 10,
  kDouble = 11,
  kUint32 = 12,
  kUint64 = 13,
  kComplex64 = 14,
  kComplex128 = 15,
  kBFloat16 = 16,
  kFloat8E4M3FN = 17,
  kFloat8E4M3FNUZ = 18,
  kFloat8E5M2 = 19,
  kFloat8E5M2FNUZ = 20,
  kUint4 = 21,
  kInt4 = 22,
  kFloat4E2M1 = 23,
  kFloat8E8M0 = 24,
  kUint2 = 25,
  kInt2 = 26,
};

// Bits of one element; 0 where it is not known (text, undefined).
int bitsOf(ElementType type);
// True for whole numbers of any width and truth values.
bool isInteger(ElementType type);

using Shape = std::vector<std::int64_t>;

// A tensor with its value: an initialiser or the value of an attribute.
struct Tensor {
  std::string_view name;
  ElementType type = ElementType::kUndefined;
  Shape dims;
  bool external = false;
  // Of external data: a path from the model's folder, where it begins, and its length (-1 = not said).
  std::string_view location;
  std::int64_t offset = 0, length = -1;
  // Little endian: raw_data, what float_data or double_data hold, or a small value read from an external
  // file, which is not `external` any more. Empty where the data is not there.
  std::string_view raw;
  // Typed data of small integer tensors (int32_data, int64_data, ...), decoded; empty above 4,096 elements.
  std::vector<std::int64_t> integers;
};

inline constexpr std::int64_t kMaxKnownElements = 4096;

// Bytes of a tensor's data, packed types rounded up; nothing where the element has no known size, a dimension
// is negative, or the product is above 2^60.
std::optional<std::int64_t> bytesOf(ElementType type, const Shape& dims);
// The values of a small integer or truth tensor (at most 4,096 elements), from raw or typed data.
std::optional<std::vector<std::int64_t>> integersOf(const Tensor& tensor);
// The value of a floating tensor of one element.
std::optional<double> scalarOf(const Tensor& tensor);

struct Dim {
  std::int64_t value = -1;  // -1 = symbolic or not said
  std::string_view symbol;
};

struct Type {
  enum class Kind : std::uint8_t { kTensor, kSequence, kOptional, kMap, kNone };
  Kind kind = Kind::kNone;
  ElementType element = ElementType::kUndefined;  // of the innermost tensor
  bool has_shape = false;
  std::vector<Dim> dims;  // of the tensor, or of a sequence's or optional's elements
};

struct ValueInfo {
  std::string_view name;
  Type type;
};

struct Graph;

struct Attribute {
  std::string_view name;
  std::string_view reference;  // in a function: the name of the call's attribute to take instead
  std::int64_t i = 0;
  float f = 0;
  std::string_view s;
  std::vector<std::int64_t> ints;
  std::vector<float> floats;
  std::vector<std::string_view> strings;
  std::shared_ptr<Tensor> tensor;
  std::shared_ptr<Graph> graph;                // If, Loop, Scan
  std::vector<std::shared_ptr<Graph>> graphs;  // of custom operators
};

struct Node {
  std::string_view name, op_type, domain, overload;
  std::vector<std::string_view> inputs, outputs;  // "" = absent
  std::vector<Attribute> attributes;

  const Attribute* find(std::string_view attribute) const;
  std::int64_t integer(std::string_view attribute, std::int64_t otherwise) const;
};

struct Graph {
  std::string_view name;
  std::vector<Node> nodes;
  std::vector<Tensor> initializers;
  std::vector<ValueInfo> inputs, outputs, value_info;
};

struct Opset {
  std::string_view domain;  // "" and "ai.onnx" are the same
  std::int64_t version = 0;
};

struct Function {
  std::string_view name, domain, overload;
  std::vector<std::string_view> inputs, outputs, attributes;
  std::vector<Attribute> attribute_defaults;
  std::vector<Node> nodes;
  std::vector<Opset> opsets;
  std::vector<ValueInfo> value_info;
};

struct Model {
  // What is not in the file: names made by inlining, small values of external files.
  std::deque<std::string> owned;
  std::int64_t ir_version = 0;
  std::string_view producer;
  std::vector<Opset> opsets;
  Graph graph;
  std::vector<Function> functions;
};

}  // namespace allot::onnx
