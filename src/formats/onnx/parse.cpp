#include "formats/onnx/parse.h"

#include <fmt/format.h>

namespace allot::onnx {
namespace {

constexpr const char* kExportAgain = "check that it is an ONNX file and complete, or export it again";

Graph parseGraph(Wire wire);

void parseFloats(Wire& wire, std::vector<float>& values) {
  if (wire.field() == fixed32Field(7)) {
    values.push_back(wire.fixed32());
    return;
  }
  const std::string_view packed = wire.bytes();
  for (std::size_t at = 0; at + sizeof(float) <= packed.size(); at += sizeof(float)) {
    float value = 0;
    packed.copy(reinterpret_cast<char*>(&value), sizeof value, at);
    values.push_back(value);
  }
}

Attribute parseAttribute(Wire wire) {
  Attribute attribute;
  while (wire.next()) {
    switch (wire.field()) {
      case bytesField(1):
        attribute.name = wire.text();
        break;
      case fixed32Field(2):
        attribute.f = wire.fixed32();
        break;
      case varintField(3):
        attribute.i = wire.varint();
        break;
      case bytesField(4):
        attribute.s = wire.bytes();
        break;
      case bytesField(5):
        attribute.tensor = std::make_shared<Tensor>(parseTensor(wire.message()));
        break;
      case bytesField(6):
        attribute.graph = std::make_shared<Graph>(parseGraph(wire.message()));
        break;
      case fixed32Field(7):
      case bytesField(7):
        parseFloats(wire, attribute.floats);
        break;
      case varintField(8):
      case bytesField(8):
        wire.integers(attribute.ints);
        break;
      case bytesField(9):
        attribute.strings.push_back(wire.bytes());
        break;
      case bytesField(11):
        attribute.graphs.push_back(std::make_shared<Graph>(parseGraph(wire.message())));
        break;
      case bytesField(21):
        attribute.reference = wire.text();
        break;
      case bytesField(22):
        attribute.tensor = std::make_shared<Tensor>(parseSparseTensor(wire.message()));
        break;
      default:
        wire.skip();
    }
  }
  return attribute;
}

Node parseNode(Wire wire) {
  Node node;
  Wire whole = wire;
  while (wire.next()) {
    switch (wire.field()) {
      case bytesField(1):
        node.inputs.push_back(wire.text());
        break;
      case bytesField(2):
        node.outputs.push_back(wire.text());
        break;
      case bytesField(3):
        node.name = wire.text();
        break;
      case bytesField(4):
        node.op_type = wire.text();
        break;
      case bytesField(5):
        node.attributes.push_back(parseAttribute(wire.message()));
        break;
      case bytesField(7):
        node.domain = wire.text();
        break;
      case bytesField(8):
        node.overload = wire.text();
        break;
      default:
        wire.skip();
    }
  }
  if (node.op_type.empty()) whole.fail(fmt::format("node \"{}\" has no operator", node.name), kExportAgain);
  if (node.domain == "ai.onnx") node.domain = {};
  return node;
}

ValueInfo parseValueInfo(Wire wire) {
  ValueInfo info;
  while (wire.next()) {
    switch (wire.field()) {
      case bytesField(1):
        info.name = wire.text();
        break;
      case bytesField(2):
        info.type = parseType(wire.message());
        break;
      default:
        wire.skip();
    }
  }
  return info;
}

Graph parseGraph(Wire wire) {
  Graph graph;
  while (wire.next()) {
    switch (wire.field()) {
      case bytesField(1):
        graph.nodes.push_back(parseNode(wire.message()));
        break;
      case bytesField(2):
        graph.name = wire.text();
        break;
      case bytesField(5):
        graph.initializers.push_back(parseTensor(wire.message()));
        break;
      case bytesField(11):
        graph.inputs.push_back(parseValueInfo(wire.message()));
        break;
      case bytesField(12):
        graph.outputs.push_back(parseValueInfo(wire.message()));
        break;
      case bytesField(13):
        graph.value_info.push_back(parseValueInfo(wire.message()));
        break;
      case bytesField(15):
        graph.initializers.push_back(parseSparseTensor(wire.message()));
        break;
      default:
        wire.skip();
    }
  }
  return graph;
}

Opset parseOpset(Wire wire) {
  Opset opset;
  while (wire.next()) {
    switch (wire.field()) {
      case bytesField(1):
        opset.domain = wire.text();
        break;
      case varintField(2):
        opset.version = wire.varint();
        break;
      default:
        wire.skip();
    }
  }
  if (opset.domain == "ai.onnx") opset.domain = {};
  return opset;
}

Function parseFunction(Wire wire) {
  Function function;
  Wire whole = wire;
  while (wire.next()) {
    switch (wire.field()) {
      case bytesField(1):
        function.name = wire.text();
        break;
      case bytesField(4):
        function.inputs.push_back(wire.text());
        break;
      case bytesField(5):
        function.outputs.push_back(wire.text());
        break;
      case bytesField(6):
        function.attributes.push_back(wire.text());
        break;
      case bytesField(7):
        function.nodes.push_back(parseNode(wire.message()));
        break;
      case bytesField(9):
        function.opsets.push_back(parseOpset(wire.message()));
        break;
      case bytesField(10):
        function.domain = wire.text();
        break;
      case bytesField(11):
        function.attribute_defaults.push_back(parseAttribute(wire.message()));
        break;
      case bytesField(12):
        function.value_info.push_back(parseValueInfo(wire.message()));
        break;
      case bytesField(13):
        function.overload = wire.text();
        break;
      default:
        wire.skip();
    }
  }
  if (function.name.empty()) whole.fail("a function without a name", kExportAgain);
  if (function.domain == "ai.onnx") function.domain = {};
  return function;
}

bool isModelField(std::uint32_t field) {
  switch (field) {
    case varintField(1):
    case bytesField(2):
    case bytesField(3):
    case bytesField(4):
    case varintField(5):
    case bytesField(6):
    case bytesField(7):
    case bytesField(8):
    case bytesField(14):
    case bytesField(20):
    case bytesField(25):
    case bytesField(26):
      return true;
    default:
      return false;
  }
}

}  // namespace

bool looksLikeModel(std::string_view bytes) {
  // No text begins with this byte.
  if (bytes.starts_with(static_cast<char>(varintField(1)))) return true;
  ParseFailure failure(bytes.data());
  Wire wire(bytes, failure);
  bool graph = false;
  while (wire.next()) {
    if (!isModelField(wire.field())) return false;
    graph = graph || wire.field() == bytesField(7);
    wire.skip();
  }
  return graph && !failure.failed();
}

Result<Model> parseModel(std::string_view bytes) {
  if (bytes.starts_with("version https://git-lfs"))
    return badInput("byte 0", "a pointer of Git LFS instead of the model",
                    "fetch the model first: git lfs pull");
  ParseFailure failure(bytes.data());
  Wire wire(bytes, failure);
  Model model;
  bool graph = false;
  while (wire.next()) {
    switch (wire.field()) {
      case varintField(1):
        model.ir_version = wire.varint();
        break;
      case bytesField(2):
        model.producer = wire.text();
        break;
      case bytesField(7):
        if (graph) wire.fail("a second graph", kExportAgain);
        graph = true;
        model.graph = parseGraph(wire.message());
        break;
      case bytesField(8):
        model.opsets.push_back(parseOpset(wire.message()));
        break;
      case bytesField(25):
        model.functions.push_back(parseFunction(wire.message()));
        break;
      default:
        wire.skip();
    }
  }
  if (failure.failed()) return allot::fail(failure.error());
  if (!graph) return badInput(fmt::format("byte {}", bytes.size()), "the model has no graph", kExportAgain);
  return model;
}

}  // namespace allot::onnx
