// A model as if it had been exported in another floating type.
//
// Every value and every constant of 16 or 32 bit floats takes the width asked for: activations, weights,
// those inside bodies too. What is quantised already, whole numbers, truth values and doubles stay as they
// are. Done once types and shapes are known, so that no rule sees a type that the file does not have, and the
// graph has the same ops whatever was asked for. Linear in the values.
#pragma once

#include "allot/graph.h"
#include "formats/onnx/model.h"
#include "formats/onnx/types.h"

namespace allot::onnx {

void retype(Model& model, InferredTypes& types, DataType asked);

// The arithmetic of ops, where the element type alone does not say it: int8 has the width of fp8.
void retypeOps(OpGraph& graph, DataType asked);

}  // namespace allot::onnx
