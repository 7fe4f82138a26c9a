// Data of tensors that lies in files beside the model.
//
// Every such file must be there, be a plain file below the model's folder, wherever links lead, and hold the
// bytes that its tensors claim; where the model itself is a link, the folder of what it leads to will do too.
// Otherwise the error names the tensor and the file. Only small integers and single numbers are read,
// since shapes may depend on them, and count as inside the file from then on: at most kMaxExternalRead bytes
// in all; what is beyond stays unknown.
#pragma once

#include <string>

#include "allot/result.h"
#include "formats/onnx/model.h"

namespace allot::onnx {

inline constexpr std::int64_t kMaxExternalRead = std::int64_t{64} << 20;

// `file` is the model's; its folder "" is the current one.
Result<void> resolveExternal(Model& model, const std::string& file);

}  // namespace allot::onnx
