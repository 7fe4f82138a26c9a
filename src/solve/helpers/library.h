// Shared libraries of the optional solvers, found and loaded at run time.
//
// Problem: use HiGHS and CP-SAT where they are installed without linking against them.
// Search path, first hit wins: the folder named by the environment variable ALLOT_HELPERS_DIR (and then only
//   that one); ../../third_party/helpers and ../lib/allot/helpers as seen from the running program. Each
//   holds what scripts/install-helpers.sh puts there: highsbox/highs_dist/lib/libhighs.so and
//   ortools/ortools/.libs/libortools.so.9.
// Guarantee: nothing is loaded before the first call; what is loaded stays loaded, for the libraries keep
//   threads. Their symbols stay apart from ours and from each other's.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "allot/result.h"

namespace allot {

// Folders that are searched, in order.
std::vector<std::filesystem::path> helperFolders();

class HelperLibrary {
 public:
  // `file` is relative to a folder of helpers, for example "highsbox/highs_dist/lib/libhighs.so".
  // Looks for the file and loads nothing.
  static bool present(const std::string& file);
  static Result<HelperLibrary> open(const std::string& file);

  // Sets `function` to the named symbol; false when there is none.
  template <class Function>
  bool find(const char* symbol, Function*& function) const {
    function = reinterpret_cast<Function*>(address(symbol));
    return function != nullptr;
  }

 private:
  void* handle_ = nullptr;

  void* address(const char* symbol) const;
};

}  // namespace allot
