// Whole files in and out. "-" is a standard stream. A file is written to a temporary name and renamed, so
// that a reader never sees half of it and a full disk leaves nothing behind. What has no end is refused:
// devices, streams beyond 1 GiB, and named pipes into which nobody writes within 10 s.
#pragma once

#include <string>
#include <string_view>

#include "allot/result.h"

namespace allot {

Result<std::string> readFile(const std::string& path);
Result<void> writeFile(const std::string& path, std::string_view text);

}  // namespace allot
