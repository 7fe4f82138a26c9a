// A bitset whose size is known at run time.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

namespace allot {

class Bitset {
 public:
  Bitset() = default;
  explicit Bitset(std::size_t bits) : bits_(bits), words_((bits + 63) / 64) {}

  std::size_t size() const { return bits_; }
  bool test(std::size_t i) const { return (words_[i >> 6] >> (i & 63)) & 1; }
  void set(std::size_t i) { words_[i >> 6] |= std::uint64_t{1} << (i & 63); }
  void reset(std::size_t i) { words_[i >> 6] &= ~(std::uint64_t{1} << (i & 63)); }
  std::size_t count() const {
    std::size_t total = 0;
    for (const std::uint64_t word : words_) total += static_cast<std::size_t>(std::popcount(word));
    return total;
  }
  Bitset& operator|=(const Bitset& other) {
    for (std::size_t i = 0; i < words_.size(); ++i) words_[i] |= other.words_[i];
    return *this;
  }
  friend bool operator==(const Bitset&, const Bitset&) = default;
  const std::vector<std::uint64_t>& words() const { return words_; }

 private:
  std::size_t bits_ = 0;
  std::vector<std::uint64_t> words_;
};

}  // namespace allot
