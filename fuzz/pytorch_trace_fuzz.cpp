#include "support.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  allot::fuzz::readTracesTwice(allot::fuzz::textOf(data, size));
  return 0;
}
