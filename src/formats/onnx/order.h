// Names resolved, nodes in order.
//
// Within each graph every value must come from one place: an input, an initialiser or one node's output; a
// body of If, Loop or Scan sees the values of the graphs around it. Nodes of each graph are put into
// topological order (they stay as they are where the file has them so, which is the rule).
//
// Guarantee: afterwards every name that a node or a graph's output reads is produced, once, and before it is
// read; else the error names the node and the value, or the cycle. Linear but for sorting.
#pragma once

#include <string_view>
#include <unordered_map>
#include <vector>

#include "allot/result.h"
#include "formats/onnx/model.h"

namespace allot::onnx {

// What each body reads from the graphs around it, each name once, in order of first use.
using Captures = std::unordered_map<const Graph*, std::vector<std::string_view>>;

Result<Captures> orderNodes(Model& model);

// Calls visit(name) for all that a node reads: its inputs and what its bodies capture. Names may repeat.
template <class Visit>
void forEachRead(const Node& node, const Captures& captures, Visit&& visit) {
  for (const std::string_view input : node.inputs) {
    if (!input.empty()) visit(input);
  }
  const auto visitBody = [&](const Graph* body) {
    for (const std::string_view name : captures.at(body)) visit(name);
  };
  for (const Attribute& attribute : node.attributes) {
    if (attribute.graph) visitBody(attribute.graph.get());
    for (const auto& body : attribute.graphs) visitBody(body.get());
  }
}

}  // namespace allot::onnx
