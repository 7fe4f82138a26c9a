#include "formats/onnx/opsets.h"

#include <fmt/format.h>

#include "formats/onnx/functions.h"
#include "formats/onnx/op_table.h"

namespace allot::onnx {
namespace {

// The first node of the standard domain that passes the test, bodies included, or null.
template <class Test>
const Node* findStandard(const Graph& graph, const Test& test) {
  for (const Node& node : graph.nodes) {
    if (node.domain.empty() && test(node)) return &node;
    for (const Attribute& attribute : node.attributes) {
      const Node* found = attribute.graph ? findStandard(*attribute.graph, test) : nullptr;
      for (const auto& body : attribute.graphs) {
        if (found == nullptr) found = findStandard(*body, test);
      }
      if (found != nullptr) return found;
    }
  }
  return nullptr;
}

}  // namespace

Result<void> checkOpsets(const Model& model, Warnings& warnings) {
  std::int64_t version = 0;
  for (const Opset& opset : model.opsets) {
    if (opset.domain.empty()) version = opset.version;
  }
  // Models of the first two versions of the format had no such field.
  if (version == 0 && model.ir_version > 0 && model.ir_version < 3) return {};
  if (version < 1) {
    if (findStandard(model.graph, [](const Node&) { return true; }) == nullptr) return {};
    return badInput("opset_import", "no version of ai.onnx is given",
                    "check that the file is complete, or export the model again");
  }
  if (version <= kNewestOpset) return {};
  const auto unknown_type = [](const Node& node) { return findOp("", node.op_type) == nullptr; };
  if (const Node* unknown = findStandard(model.graph, unknown_type))
    return badInput(
        "opset_import",
        fmt::format("version {} of ai.onnx with the operator {} (node \"{}\"); the newest known is {}",
                    version, unknown->op_type, labelOf(*unknown), kNewestOpset),
        fmt::format("export the model with opset {}", kNewestOpset));
  warnings.push_back(
      fmt::format("opset {} of ai.onnx is newer than {}, the newest known; all its operators are "
                  "known and read as of {}",
                  version, kNewestOpset, kNewestOpset));
  return {};
}

}  // namespace allot::onnx
