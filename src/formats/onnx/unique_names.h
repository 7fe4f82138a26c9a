// Names that must differ: the wanted one, or that with _2, _3, ... where it is taken.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

namespace allot::onnx {

class UniqueNames {
 public:
  // Room for so many names.
  void expect(std::size_t count) { taken_.reserve(count); }
  // False where it is taken already.
  bool reserve(std::string_view name) { return taken_.try_emplace(std::string(name), 2).second; }

  // Constant time on average: the number to try next is kept with each name.
  std::string take(std::string wanted) {
    const auto [found, fresh] = taken_.try_emplace(wanted, 2);
    if (fresh) return wanted;
    // References to elements outlast a rehash, iterators do not.
    std::uint32_t& number = found->second;
    for (;;) {
      std::string candidate = fmt::format("{}_{}", wanted, number++);
      if (taken_.try_emplace(candidate, 2).second) return candidate;
    }
  }

 private:
  std::unordered_map<std::string, std::uint32_t> taken_;
};

}  // namespace allot::onnx
