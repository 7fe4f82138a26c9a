// The parts of the operator table, joined by op_table.cpp.
#pragma once

#include <span>

#include "formats/onnx/op_table.h"

namespace allot::onnx {

std::span<const OpRow> standardRows();
std::span<const OpRow> contribRows();

}  // namespace allot::onnx
