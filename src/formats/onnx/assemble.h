// From a model whose functions are inlined, names resolved and types known to an operator graph.
//
// Each node that must run is one op; a node with bodies (If, Loop, Scan) is one op that also reads what its
// bodies capture. What is known beforehand vanishes: initialisers, constants and all that is computed from
// them are weights of the ops that read them; shape arithmetic whose value follows from the dimensions is
// gone. Shape arithmetic that depends on data shares a group with its readers, so that no shape goes over a
// link. Graph inputs are no ops: the host feeds them to whatever device reads them.
//
// Weights that several ops read count for each reader, but for large ones with few readers, as tied
// embeddings are: those count once, for the first, and the readers share a group, because a second copy would
// not be affordable. A mask that all layers read must not tie all layers together.
//
// Guarantee: op names are unique and depend on the file alone. Linear in the model.
#pragma once

#include <string>

#include "allot/formats.h"
#include "formats/onnx/model.h"
#include "formats/onnx/order.h"
#include "formats/onnx/types.h"

namespace allot::onnx {

inline constexpr std::int64_t kSharedBytes = 1'000'000;
inline constexpr std::uint32_t kMostTied = 4;  // readers

Result<GraphFile> assemble(const Model& model, const Captures& captures, const InferredTypes& types,
                           std::string name, Warnings& warnings);

}  // namespace allot::onnx
