// Data of tensors that lies in files beside the model.
//
// Every such file must be there, be a plain file below the model's folder and hold the bytes that its tensors
// claim; otherwise the error names the tensor and the file. Only small integers and single numbers are read,
// since shapes may depend on them, and count as inside the file from then on: at most kMaxExternalRead bytes
// in all; what is beyond stays unknown.
#pragma once

#include <string>

#include "allot/result.h"
#include "formats/onnx/model.h"

namespace allot::onnx {

inline constexpr std::int64_t kMaxExternalRead = std::int64_t{64} << 20;

// `folder` is where the model lies; "" is the current one.
Result<void> resolveExternal(Model& model, const std::string& folder);

}  // namespace allot::onnx
