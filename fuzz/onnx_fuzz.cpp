#include "support.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace allot;
  const std::string_view bytes = fuzz::textOf(data, size);
  fuzz::readGraphTwice(bytes, Format::kOnnx);
  // The seeds with symbolic dimensions call them n.
  Warnings warnings;
  ReadOptions options;
  options.format = Format::kOnnx;
  options.dims = {{"n", 3}};
  const auto bound = readGraph(bytes, "input", options, warnings);
  if (!bound) fuzz::requireGoodError(bound.error());
  return 0;
}
