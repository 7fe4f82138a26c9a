// What assembling asks of single nodes, types and bodies.
#pragma once

#include <cstdint>

#include "allot/graph.h"
#include "formats/onnx/model.h"

namespace allot::onnx {

DataType dataTypeOf(ElementType type);

// Bytes that the initialisers and constants inside a body take.
std::int64_t heldBytes(const Graph& body);

// Nodes of constants that leave the data what it is: the layout, the type or the packing changes.
bool keepsContent(const Node& node);

}  // namespace allot::onnx
