// The "schema" key of Allot's own files.
#pragma once

#include <string_view>

#include "base/json_reader.h"

namespace allot {

// Fails unless `root` is an object whose schema is exactly `schema`.
Result<void> expectSchema(const JsonNode& root, std::string_view schema);

}  // namespace allot
