// Numbers of entries by their hash, open addressing; the caller keeps the entries and compares them.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

namespace allot {

inline std::uint64_t mixBits(std::uint64_t a) {
  a *= 0x9E3779B97F4A7C15ull;
  return a ^ a >> 29;
}

class HashIndex {
 public:
  explicit HashIndex(std::size_t bits) : slots_(std::size_t{1} << bits, kFree) {}

  // The number of the entry that `same` accepts, or `number`, which is then noted.
  template <class Same>
  std::uint32_t find(std::uint64_t hash, std::uint32_t number, Same same) {
    const std::size_t mask = slots_.size() - 1;
    for (std::size_t at = hash & mask;; at = (at + 1) & mask) {
      if (slots_[at] == kFree) {
        slots_[at] = number;
        ++used_;
        return number;
      }
      if (same(slots_[at])) return slots_[at];
    }
  }
  // Call before each `find`: keeps entries 0 .. count-1 in a larger table where this one is half full.
  template <class Hash>
  void makeRoom(std::uint32_t count, Hash hash_of) {
    if (used_ * 2 <= slots_.size()) return;
    HashIndex larger(static_cast<std::size_t>(std::countr_zero(slots_.size())) + 2);
    for (std::uint32_t i = 0; i < count; ++i) larger.find(hash_of(i), i, [](std::uint32_t) { return false; });
    *this = std::move(larger);
  }

 private:
  static constexpr std::uint32_t kFree = UINT32_MAX;
  std::vector<std::uint32_t> slots_;
  std::size_t used_ = 0;
};

}  // namespace allot
