#include "formats/onnx/retype.h"

namespace allot::onnx {
namespace {

// Integers that stand for floats stay floating here, as masks and scales are told apart by that.
ElementType elementOf(DataType asked) {
  switch (asked) {
    case DataType::kFloat16:
      return ElementType::kFloat16;
    case DataType::kBFloat16:
      return ElementType::kBFloat16;
    case DataType::kFloat8:
    case DataType::kInt8:
      return ElementType::kFloat8E4M3FN;
    default:
      return ElementType::kFloat;
  }
}

void change(ElementType& element, ElementType to) {
  if (element == ElementType::kFloat || element == ElementType::kFloat16 || element == ElementType::kBFloat16)
    element = to;
}

void changeConstants(Graph& graph, ElementType to) {
  for (Tensor& tensor : graph.initializers) change(tensor.type, to);
  for (Node& node : graph.nodes) {
    for (Attribute& attribute : node.attributes) {
      if (attribute.tensor) change(attribute.tensor->type, to);
      if (attribute.graph) changeConstants(*attribute.graph, to);
      for (const auto& body : attribute.graphs) changeConstants(*body, to);
    }
  }
}

}  // namespace

void retype(Model& model, InferredTypes& types, DataType asked) {
  const ElementType to = elementOf(asked);
  changeConstants(model.graph, to);
  for (auto& [name, value] : types.values) change(value.element, to);
  for (auto& [body, values] : types.bodies) {
    for (auto& [name, value] : values) change(value.element, to);
  }
}

void retypeOps(OpGraph& graph, DataType asked) {
  if (asked != DataType::kInt8) return;
  for (DataType& type : graph.op_data_type) {
    if (type == DataType::kFloat8) type = DataType::kInt8;
  }
}

}  // namespace allot::onnx
