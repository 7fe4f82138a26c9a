// Replaces every call of a model-local function by the function's nodes.
//
// Method: bodies are instantiated from the outermost call inwards. Inner values get the call's name in front
// and stay unique in the model; attribute references take the call's value, else the function's default, else
// the attribute is left out, as if it had not been written. Calls within If, Loop and Scan bodies are
// replaced too.
//
// Guarantee: the size of the result is counted before anything is built. A model that would grow beyond
// kMaxInlined items (nodes, their inputs, outputs and attributes, 16 letters of a name), calls or bodies that
// lie more than kMaxCallDepth or kMaxBodyDepth deep in one another, and recursion are errors.
//
// Complexity: linear in the result.
#pragma once

#include "allot/result.h"
#include "formats/onnx/model.h"

namespace allot::onnx {

inline constexpr std::int64_t kMaxInlined = 10'000'000;
inline constexpr int kMaxCallDepth = 32;
inline constexpr int kMaxBodyDepth = 32;

Result<void> inlineFunctions(Model& model);

// The node's name, else its operator and first output.
std::string labelOf(const Node& node);

}  // namespace allot::onnx
