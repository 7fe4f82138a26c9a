#include <cmath>

#include "allot/cost.h"
#include "support.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace allot;
  Warnings warnings;
  const auto times = readTimes(fuzz::textOf(data, size), "input", warnings);
  if (!times) {
    fuzz::requireGoodError(times.error());
    return 0;
  }
  fuzz::require(!times->by_op.empty(), "a file that is read has times");
  for (const auto& [op, list] : times->by_op) {
    for (const auto& [cls, seconds] : list)
      fuzz::require(seconds >= 0 && seconds <= kMaxSeconds, "a measured time is sane");
  }
  return 0;
}
