// Which tensors of a model hold the same data.
//
// Exporters write a tied weight twice, or name one range of an external file twice. Data inside the model
// counts as the same where type and bytes agree, from kLeastCompared bytes on; external data where file,
// offset and length agree, since its bytes are never read.
// Complexity: a few pages of each tensor; all bytes of those alone whose samples agree.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "formats/onnx/model.h"

namespace allot::onnx {

inline constexpr std::size_t kLeastCompared = 4096;

// For each tensor the place of the first one with its data, which may be its own.
std::vector<std::uint32_t> firstWithSameContent(std::span<const Tensor* const> tensors);

}  // namespace allot::onnx
