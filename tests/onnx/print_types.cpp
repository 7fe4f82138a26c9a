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

std::string describe(const std::string& path, std::int64_t dim) {
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
  Dims dims;
  for (const ValueInfo& input : model->graph.inputs) {
    for (const Dim& at : input.type.dims) {
      if (at.value < 0 && dim > 0) dims[std::string(at.symbol)] = dim;
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

// An argument is the size of every unbound dimension of the inputs.
int main(int argc, char** argv) {
  const std::int64_t dim = argc > 1 ? std::stoll(argv[1]) : 0;
  std::string path;
  while (std::getline(std::cin, path)) {
    std::cout << "{\"file\":" << quoted(path) << "," << describe(path, dim) << "}" << std::endl;
  }
  return 0;
}
