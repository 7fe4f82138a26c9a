// `--config FILE`: a YAML or JSON map of option: value.
#pragma once

#include "allot/options.h"

namespace allot::cli {

Result<void> applyConfigFile(const std::string& path, Options& options);

}  // namespace allot::cli
