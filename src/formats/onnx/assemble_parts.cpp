#include "formats/onnx/assemble_parts.h"

#include <algorithm>
#include <iterator>

#include "allot/problem.h"

namespace allot::onnx {

DataType dataTypeOf(ElementType type) {
  switch (type) {
    case ElementType::kUndefined:
      return DataType::kUnknown;
    case ElementType::kDouble:
    case ElementType::kComplex128:
      return DataType::kFloat64;
    case ElementType::kFloat:
    case ElementType::kComplex64:
      return DataType::kFloat32;
    case ElementType::kFloat16:
      return DataType::kFloat16;
    case ElementType::kBFloat16:
      return DataType::kBFloat16;
    case ElementType::kFloat8E4M3FN:
    case ElementType::kFloat8E4M3FNUZ:
    case ElementType::kFloat8E5M2:
    case ElementType::kFloat8E5M2FNUZ:
    case ElementType::kFloat8E8M0:
      return DataType::kFloat8;
    case ElementType::kFloat4E2M1:
      return DataType::kFloat4;
    case ElementType::kInt8:
    case ElementType::kUint8:
      return DataType::kInt8;
    case ElementType::kInt4:
    case ElementType::kUint4:
    case ElementType::kInt2:
    case ElementType::kUint2:
      return DataType::kInt4;
    default:
      return DataType::kOther;
  }
}

std::int64_t heldBytes(const Graph& body) {
  std::int64_t total = 0;
  const auto add = [&](std::int64_t bytes) { total = std::min(total + bytes, kMaxBytes + 1); };
  for (const Tensor& tensor : body.initializers) add(bytesOf(tensor.type, tensor.dims).value_or(0));
  for (const Node& node : body.nodes) {
    for (const Attribute& attribute : node.attributes) {
      if (attribute.tensor) add(bytesOf(attribute.tensor->type, attribute.tensor->dims).value_or(0));
      if (attribute.graph) add(heldBytes(*attribute.graph));
      for (const auto& inner : attribute.graphs) add(heldBytes(*inner));
    }
  }
  return total;
}

bool keepsContent(const Node& node) {
  constexpr std::string_view kTypes[] = {"Identity",  "Transpose", "Cast",    "CastLike",        "Reshape",
                                         "Unsqueeze", "Squeeze",   "Flatten", "DequantizeLinear"};
  return node.domain.empty() && !node.inputs.empty() && !node.inputs.front().empty() &&
         std::find(std::begin(kTypes), std::end(kTypes), node.op_type) != std::end(kTypes);
}

}  // namespace allot::onnx
