// Which versions of the standard operators this reader knows.
#pragma once

#include <string_view>

#include "allot/formats.h"
#include "formats/onnx/model.h"

namespace allot::onnx {

inline constexpr std::int64_t kNewestOpset = 28;

// Looks at the version of the standard operators. Fails where they are used and none is said. One newer than
// kNewestOpset is a warning if the operator table has all standard operators of the model, else an error that
// names one that it has not.
Result<void> checkOpsets(const Model& model, Warnings& warnings);

}  // namespace allot::onnx
