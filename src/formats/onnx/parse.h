// From the bytes of an ONNX file to a Model.
//
// Fields by number as onnx-ml.proto (ONNX 1.23) has them; unknown ones are skipped, as protocol buffers
// demand.
//
// Guarantee: the model is well formed as far as one message can tell: nodes have an operator, tensors
// have dimensions of at most 2^60 bytes, raw data has the length of its dimensions, names are UTF-8. Linear
// in the bytes of structure; the bytes of weights are not read.
#pragma once

#include <string_view>

#include "allot/result.h"
#include "formats/onnx/model.h"
#include "formats/onnx/parse_wire.h"

namespace allot::onnx {

// True for what begins like a ModelProto: an ir_version first, as every writer puts it, or known fields only
// up to the end with a graph among them.
bool looksLikeModel(std::string_view bytes);

Result<Model> parseModel(std::string_view bytes);

// Parts, each from its message.
Tensor parseTensor(Wire wire);
Tensor parseSparseTensor(Wire wire);
Type parseType(Wire wire);

}  // namespace allot::onnx
