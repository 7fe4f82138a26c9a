// Writes small ONNX models for tests, message by message, with protozero. Each function returns the bytes of
// one message.
#pragma once

#include <cstdint>
#include <protozero/pbf_writer.hpp>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "formats_support.h"

namespace allot::onnx_test {

constexpr std::int32_t kFloat = 1, kInt8 = 3, kInt64 = 7, kBool = 9, kFloat16 = 10;

using Names = std::vector<std::string>;
// A value, a name, or "" for neither.
using Dims = std::vector<std::variant<std::int64_t, std::string>>;

inline std::string shapeType(std::int32_t element, const Dims& dims) {
  std::string shape;
  protozero::pbf_writer shape_writer(shape);
  for (const auto& dim : dims) {
    std::string one;
    protozero::pbf_writer writer(one);
    if (const auto* value = std::get_if<std::int64_t>(&dim)) writer.add_int64(1, *value);
    if (const auto* name = std::get_if<std::string>(&dim); name != nullptr && !name->empty())
      writer.add_string(2, *name);
    shape_writer.add_message(1, one);
  }
  std::string tensor;
  protozero::pbf_writer writer(tensor);
  writer.add_int32(1, element);
  writer.add_message(2, shape);
  return tensor;
}

inline std::string valueInfo(std::string_view name, std::int32_t element, const Dims& dims) {
  std::string type, info;
  protozero::pbf_writer(type).add_message(1, shapeType(element, dims));
  protozero::pbf_writer writer(info);
  writer.add_string(1, name.data(), name.size());
  writer.add_message(2, type);
  return info;
}

// A tensor without its data.
inline std::string tensor(std::string_view name, std::int32_t element, const std::vector<std::int64_t>& dims,
                          const std::string& raw = {}) {
  std::string bytes;
  protozero::pbf_writer writer(bytes);
  writer.add_packed_int64(1, dims.begin(), dims.end());
  writer.add_int32(2, element);
  writer.add_string(8, name.data(), name.size());
  if (!raw.empty()) writer.add_bytes(9, raw);
  return bytes;
}

inline std::string externalTensor(std::string_view name, std::int32_t element,
                                  const std::vector<std::int64_t>& dims,
                                  const std::vector<std::pair<std::string, std::string>>& entries) {
  std::string bytes = tensor(name, element, dims);
  protozero::pbf_writer writer(bytes);
  for (const auto& [key, value] : entries) {
    std::string entry;
    protozero::pbf_writer entry_writer(entry);
    entry_writer.add_string(1, key);
    entry_writer.add_string(2, value);
    writer.add_message(13, entry);
  }
  writer.add_int32(14, 1);
  return bytes;
}

inline std::string integers(std::string_view name, const std::vector<std::int64_t>& values) {
  std::string bytes;
  protozero::pbf_writer writer(bytes);
  const std::int64_t dims[] = {static_cast<std::int64_t>(values.size())};
  writer.add_packed_int64(1, std::begin(dims), std::end(dims));
  writer.add_int32(2, kInt64);
  writer.add_packed_int64(7, values.begin(), values.end());
  writer.add_string(8, name.data(), name.size());
  return bytes;
}

inline std::string attribute(std::string_view name, std::int64_t value) {
  std::string bytes;
  protozero::pbf_writer writer(bytes);
  writer.add_string(1, name.data(), name.size());
  writer.add_int64(3, value);
  writer.add_int32(20, 2);
  return bytes;
}

inline std::string tensorAttribute(std::string_view name, const std::string& value) {
  std::string bytes;
  protozero::pbf_writer writer(bytes);
  writer.add_string(1, name.data(), name.size());
  writer.add_message(5, value);
  writer.add_int32(20, 4);
  return bytes;
}

inline std::string graphAttribute(std::string_view name, const std::string& graph) {
  std::string bytes;
  protozero::pbf_writer writer(bytes);
  writer.add_string(1, name.data(), name.size());
  writer.add_message(6, graph);
  writer.add_int32(20, 5);
  return bytes;
}

inline std::string referenceAttribute(std::string_view name, std::string_view argument) {
  std::string bytes;
  protozero::pbf_writer writer(bytes);
  writer.add_string(1, name.data(), name.size());
  writer.add_int32(20, 2);
  writer.add_string(21, argument.data(), argument.size());
  return bytes;
}

struct NodeParts {
  std::string name = {}, domain = {};
  std::vector<std::string> attributes = {};
};

inline std::string node(std::string_view op_type, const Names& inputs, const Names& outputs,
                        const NodeParts& parts = {}) {
  std::string bytes;
  protozero::pbf_writer writer(bytes);
  for (const std::string& input : inputs) writer.add_string(1, input);
  for (const std::string& output : outputs) writer.add_string(2, output);
  if (!parts.name.empty()) writer.add_string(3, parts.name);
  writer.add_string(4, op_type.data(), op_type.size());
  for (const std::string& one : parts.attributes) writer.add_message(5, one);
  if (!parts.domain.empty()) writer.add_string(7, parts.domain);
  return bytes;
}

struct GraphParts {
  std::string name = "net";
  std::vector<std::string> nodes = {}, initializers = {}, inputs = {}, outputs = {}, value_info = {};
};

inline std::string graph(const GraphParts& parts) {
  std::string bytes;
  protozero::pbf_writer writer(bytes);
  for (const std::string& one : parts.nodes) writer.add_message(1, one);
  writer.add_string(2, parts.name);
  for (const std::string& one : parts.initializers) writer.add_message(5, one);
  for (const std::string& one : parts.inputs) writer.add_message(11, one);
  for (const std::string& one : parts.outputs) writer.add_message(12, one);
  for (const std::string& one : parts.value_info) writer.add_message(13, one);
  return bytes;
}

struct FunctionParts {
  std::string name, domain = "own";
  Names inputs = {}, outputs = {}, attributes = {};
  std::vector<std::string> nodes = {}, defaults = {};
};

inline std::string opset(std::string_view domain, std::int64_t version) {
  std::string bytes;
  protozero::pbf_writer writer(bytes);
  if (!domain.empty()) writer.add_string(1, domain.data(), domain.size());
  writer.add_int64(2, version);
  return bytes;
}

inline std::string function(const FunctionParts& parts) {
  std::string bytes;
  protozero::pbf_writer writer(bytes);
  writer.add_string(1, parts.name);
  for (const std::string& one : parts.inputs) writer.add_string(4, one);
  for (const std::string& one : parts.outputs) writer.add_string(5, one);
  for (const std::string& one : parts.attributes) writer.add_string(6, one);
  for (const std::string& one : parts.nodes) writer.add_message(7, one);
  writer.add_message(9, opset("", 17));
  writer.add_string(10, parts.domain);
  for (const std::string& one : parts.defaults) writer.add_message(11, one);
  return bytes;
}

inline std::string model(const std::string& graph_bytes, const std::vector<std::string>& functions = {},
                         std::int64_t version = 17) {
  std::string bytes;
  protozero::pbf_writer writer(bytes);
  writer.add_int64(1, 8);
  writer.add_string(2, "allot-tests");
  writer.add_message(7, graph_bytes);
  writer.add_message(8, opset("", version));
  if (!functions.empty()) writer.add_message(8, opset("own", 1));
  for (const std::string& one : functions) writer.add_message(25, one);
  return bytes;
}

inline std::string model(const GraphParts& parts, const std::vector<std::string>& functions = {}) {
  return model(graph(parts), functions);
}

// x [2, 8] -> MatMul by w [8, 4] -> Add b [4] -> Relu -> y [2, 4]
inline GraphParts smallNet() {
  return {.nodes = {node("MatMul", {"x", "w"}, {"h"}, {.name = "product"}),
                    node("Add", {"h", "b"}, {"s"}, {.name = "bias"}), node("Relu", {"s"}, {"y"})},
          .initializers = {tensor("w", kFloat, {8, 4}), tensor("b", kFloat, {4})},
          .inputs = {valueInfo("x", kFloat, {2, 8})},
          .outputs = {valueInfo("y", kFloat, {2, 4})},
          .value_info = {valueInfo("h", kFloat, {2, 4}), valueInfo("s", kFloat, {2, 4})}};
}

// Bytes of the tensor from one op to the next; -1 where there is none.
inline std::int64_t bytesBetween(const OpGraph& graph, std::string_view from, std::string_view to) {
  const OpId producer = opNamed(graph, from), consumer = opNamed(graph, to);
  for (std::size_t t = 0; t < graph.tensorCount(); ++t) {
    const auto readers = graph.tensor_consumers[t];
    if (graph.tensor_producer[t] == producer &&
        std::find(readers.begin(), readers.end(), consumer) != readers.end())
      return graph.tensor_bytes[t];
  }
  return -1;
}

inline std::int64_t weightsOf(const OpGraph& graph, std::string_view op) {
  return graph.op_weight_bytes[opNamed(graph, op).index()];
}

}  // namespace allot::onnx_test
