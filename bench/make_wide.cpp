// Writes a wide graph to standard output:
//   allot_make_wide branches|heads|grid|layered A B[,C] DEVICES like|unlike TRANSFER SEED > FILE
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "allot/formats.h"
#include "support/wide_graphs.h"

int main(int argc, char** argv) {
  if (argc != 8) {
    std::fprintf(
        stderr,
        "usage: allot_make_wide branches BRANCHES LENGTH | heads LAYERS HEADS | grid ROWS COLUMNS |\n"
        "       layered OPS WIDTH, then DEVICES like|unlike TRANSFER SEED\n");
    return 2;
  }
  const auto number = [&](int i) { return static_cast<std::uint32_t>(std::strtoul(argv[i], nullptr, 10)); };
  const std::string_view shape = argv[1];
  allot::WideOptions options;
  options.devices = number(4);
  options.unlike = std::string_view(argv[5]) == "unlike";
  options.transfer = std::strtod(argv[6], nullptr);
  options.seed = number(7);
  constexpr std::uint32_t kHeadLength = 6;
  const auto problem = shape == "branches" ? allot::branchGraph(number(2), number(3), options)
                       : shape == "heads"  ? allot::headGraph(number(2), number(3), kHeadLength, options)
                       : shape == "grid"   ? allot::gridGraph(number(2), number(3), options)
                                           : allot::layeredGraph(number(2), number(3), options);
  if (!problem) {
    std::fprintf(stderr, "%s\n", problem.error().text().c_str());
    return 1;
  }
  const std::string text = allot::writeProblem(*problem);
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0) return 0;
  std::perror("allot_make_wide");
  return 1;
}
