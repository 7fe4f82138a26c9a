// How many random problems a property test looks at: ALLOT_PROPERTY_SCALE multiplies the default.
#pragma once

#include <cstdint>
#include <cstdlib>

namespace allot {

inline std::uint64_t scaled(double problems) {
  const char* scale = std::getenv("ALLOT_PROPERTY_SCALE");
  return static_cast<std::uint64_t>(problems * (scale != nullptr ? std::atof(scale) : 1));
}

}  // namespace allot
