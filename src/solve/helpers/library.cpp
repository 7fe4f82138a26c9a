#include "solve/helpers/library.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <system_error>

namespace allot {

std::vector<std::filesystem::path> helperFolders() {
  if (const char* chosen = std::getenv("ALLOT_HELPERS_DIR"); chosen != nullptr && *chosen != '\0')
    return {chosen};
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return {};
  const auto folder = program.parent_path();
  return {(folder / "../../third_party/helpers").lexically_normal(),
          (folder / "../lib/allot/helpers").lexically_normal()};
}

bool HelperLibrary::present(const std::string& file) {
  const auto folders = helperFolders();
  return std::any_of(folders.begin(), folders.end(), [&](const auto& folder) {
    std::error_code ignored;
    return std::filesystem::is_regular_file(folder / file, ignored);
  });
}

Result<HelperLibrary> HelperLibrary::open(const std::string& file) {
  Error error{ErrorCode::kBadInput, file, "", "not found", "run scripts/install-helpers.sh"};
  for (const auto& folder : helperFolders()) {
    std::error_code ignored;
    const auto path = folder / file;
    if (!std::filesystem::is_regular_file(path, ignored)) continue;
    HelperLibrary library;
    library.handle_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library.handle_ != nullptr) return library;
    const char* why = dlerror();
    error.message = why == nullptr ? "cannot be loaded" : why;
  }
  return fail(std::move(error));
}

void* HelperLibrary::address(const char* symbol) const {
  return dlsym(handle_, symbol);
}

}  // namespace allot
