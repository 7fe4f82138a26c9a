#include "support.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace allot;
  fuzz::replayEvents(fuzz::textOf(data, size));
  return 0;
}
