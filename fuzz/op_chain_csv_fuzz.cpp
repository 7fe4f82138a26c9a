#include "support.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace allot;
  fuzz::readProblemTwice(fuzz::textOf(data, size), Format::kOpChainCsv);
  fuzz::readPackedTwice(fuzz::textOf(data, size), Format::kOpChainCsv);
  return 0;
}
