#include <fmt/format.h>

#include "formats/onnx/parse.h"

namespace allot::onnx {
namespace {

Dim parseDim(Wire wire) {
  Dim dim;
  Wire whole = wire;
  while (wire.next()) {
    switch (wire.field()) {
      case varintField(1):
        dim.value = wire.varint();
        break;
      case bytesField(2):
        dim.symbol = wire.text();
        break;
      default:
        wire.skip();
    }
  }
  // Some exporters write -1 for what they do not know.
  if (dim.value < -1)
    whole.fail(fmt::format("the dimension {}", dim.value), "give a dimension of 0 or more, or a name");
  if (!dim.symbol.empty()) dim.value = -1;
  return dim;
}

void parseShape(Wire wire, Type& type) {
  Wire whole = wire;
  type.has_shape = true;
  type.dims.clear();
  while (wire.next()) {
    if (wire.field() == bytesField(1))
      type.dims.push_back(parseDim(wire.message()));
    else
      wire.skip();
  }
  std::int64_t elements = 1;
  for (const Dim& dim : type.dims) {
    if (dim.value <= 0) continue;
    if (!__builtin_mul_overflow(elements, dim.value, &elements) && elements <= std::int64_t{1} << 60)
      continue;
    whole.fail("a shape of more than 2^60 elements", "check the dimensions, or export the model again");
    return;
  }
}

void parseTensorType(Wire wire, Type& type) {
  while (wire.next()) {
    switch (wire.field()) {
      case varintField(1):
        type.element = static_cast<ElementType>(static_cast<std::int32_t>(wire.varint()));
        break;
      case bytesField(2):
        parseShape(wire.message(), type);
        break;
      default:
        wire.skip();
    }
  }
}

// A sequence, optional or map: one type inside, in the field of this number.
void parseContainer(Wire wire, std::uint32_t inner_field, Type::Kind kind, Type& type) {
  while (wire.next()) {
    if (wire.field() == bytesField(inner_field))
      type = parseType(wire.message());
    else
      wire.skip();
  }
  type.kind = kind;
}

}  // namespace

Type parseType(Wire wire) {
  Type type;
  while (wire.next()) {
    switch (wire.field()) {
      case bytesField(1):
      case bytesField(8):  // a sparse tensor is priced as a dense one
        type.kind = Type::Kind::kTensor;
        parseTensorType(wire.message(), type);
        break;
      case bytesField(4):
        parseContainer(wire.message(), 1, Type::Kind::kSequence, type);
        break;
      case bytesField(5):
        parseContainer(wire.message(), 2, Type::Kind::kMap, type);
        break;
      case bytesField(9):
        parseContainer(wire.message(), 1, Type::Kind::kOptional, type);
        break;
      default:
        wire.skip();
    }
  }
  return type;
}

}  // namespace allot::onnx
