// Writes a large random problem to standard output: allot_make_large OPS SEED > FILE
#include <cstdio>

#include "allot/formats.h"
#include "base/units.h"
#include "large_problem.h"

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: allot_make_large OPS SEED > FILE\n");
    return 2;
  }
  const auto ops = allot::parseCount(argv[1]);
  const auto seed = allot::parseCount(argv[2]);
  if (!ops || !seed || *ops == 0 || *ops > 100'000'000) {
    std::fprintf(stderr, "allot_make_large: OPS must be 1 to 100000000 and SEED a whole number\n");
    return 2;
  }
  const auto problem = allot::bench::largeProblem(static_cast<std::uint32_t>(*ops), *seed);
  if (!problem) {
    std::fprintf(stderr, "%s\n", problem.error().text().c_str());
    return 1;
  }
  const std::string text = allot::writeProblem(*problem);
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0) return 0;
  std::perror("allot_make_large");
  return 1;
}
