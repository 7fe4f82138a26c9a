// Text files that the build compiled in (cmake/embed.cmake).
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace allot {

struct EmbeddedFile {
  std::string_view name;                     // without the folder
  std::span<const std::string_view> pieces;  // compilers limit the length of one literal

  std::string text() const {
    std::string all;
    for (std::size_t i = 0; i < pieces.size(); ++i) all += pieces[i];
    return all;
  }
};

}  // namespace allot
