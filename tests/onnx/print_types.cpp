// Prints what Allot infers of ONNX models, for scripts/check-onnx-rules.py: one JSON line for each path given
// on standard input, with the types of all values and the cost of each node.
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>

#include <fmt/format.h>

#include "formats/onnx/functions.h"
#include "formats/onnx/order.h"
#include "formats/onnx/parse.h"
#include "formats/onnx/types.h"

namespace {

using namespace allot::onnx;

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\' || static_cast<unsigned char>(c) < 32) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned char>(c));
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string valueText(const Value& value) {
  std::string shape = "null";
  if (value.shape) shape = fmt::format("[{}]", fmt::join(*value.shape, ","));
  return fmt::format("{{\"kind\":{},\"type\":{},\"shape\":{},\"constant\":{}}}", static_cast<int>(value.kind),
                     static_cast<int>(value.element), shape, value.constant);
}

std::string describe(const std::string& path, const Dims& given) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  auto model = parseModel(bytes);
  if (!model) return fmt::format("\"error\":{}", quoted(model.error().text()));
  if (const auto done = inlineFunctions(*model); !done) {
    return fmt::format("\"error\":{}", quoted(done.error().text()));
  }
  if (const auto done = orderNodes(*model); !done) {
    return fmt::format("\"error\":{}", quoted(done.error().text()));
  }
  Dims dims = given;
  const auto otherwise = given.find("");
  for (const ValueInfo& input : model->graph.inputs) {
    for (const Dim& at : input.type.dims) {
      if (at.value < 0 && otherwise != given.end()) dims.emplace(at.symbol, otherwise->second);
    }
  }
  const auto types = inferTypes(*model, model->graph, dims);
  if (!types) return fmt::format("\"error\":{}", quoted(types.error().text()));
  std::string out = "\"values\":{";
  bool first = true;
  for (const auto& [name, value] : types->values) {
    out += fmt::format("{}{}:{}", first ? "" : ",", quoted(name), valueText(value));
    first = false;
  }
  out += "},\"nodes\":[";
  first = true;
  for (const Node& node : model->graph.nodes) {
    const NodeCost cost = costOf(*model, node, types->values, *types);
    out += fmt::format(
        "{}{{\"op\":{},\"domain\":{},\"flops\":{},\"read\":{},\"written\":{},\"known\":{},\"shape\":{}}}",
        first ? "" : ",", quoted(node.op_type), quoted(node.domain), cost.flops, cost.read_bytes,
        cost.written_bytes, cost.known, isShapeArithmetic(node, types->values));
    first = false;
  }
  return out + "]";
}

}  // namespace

// Arguments name=value bind dimensions of the inputs; =value binds all others.
int main(int argc, char** argv) {
  Dims dims;
  for (int at = 1; at < argc; ++at) {
    const std::string argument = argv[at];
    const std::size_t equals = argument.find('=');
    if (equals == std::string::npos) return 2;
    dims[argument.substr(0, equals)] = std::stoll(argument.substr(equals + 1));
  }
  std::string path;
  while (std::getline(std::cin, path)) {
    std::cout << "{\"file\":" << quoted(path) << "," << describe(path, dims) << "}" << std::endl;
  }
  return 0;
}
