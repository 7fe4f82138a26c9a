// Several models that share devices, with links and tight memory.
#pragma once

#include <cstdint>

#include "allot/problem.h"

namespace allot {

// Models of some ten ops each on three or four unlike devices with tight memory.
Problem randomModels(std::uint64_t seed, std::uint32_t models, std::uint32_t ops);

}  // namespace allot
