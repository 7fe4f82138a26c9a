// Eight times side by side, one by lane, as vectors that every x86-64 has instructions for.
//
// Vector types of the compiler (GCC and clang), 16 bytes each: wider ones are taken apart into single numbers
// where the processor has no registers for them.
#pragma once

#include <cstdint>

namespace allot {

class LaneTimes {
 public:
  static constexpr std::uint32_t kLanes = 8;

  LaneTimes() = default;
  explicit LaneTimes(double time) : pairs_{{time, time}, {time, time}, {time, time}, {time, time}} {}

  double at(std::uint32_t lane) const { return pairs_[lane / 2][lane % 2]; }
  void set(std::uint32_t lane, double time) { pairs_[lane / 2][lane % 2] = time; }
  // Written out: loops over so few are not always unrolled, and then the times do not stay in registers.
  LaneTimes& operator+=(double seconds) {
    pairs_[0] += seconds;
    pairs_[1] += seconds;
    pairs_[2] += seconds;
    pairs_[3] += seconds;
    return *this;
  }
  LaneTimes& operator+=(const LaneTimes& other) {
    pairs_[0] += other.pairs_[0];
    pairs_[1] += other.pairs_[1];
    pairs_[2] += other.pairs_[2];
    pairs_[3] += other.pairs_[3];
    return *this;
  }
  // Each at least as late as the other's.
  LaneTimes& raise(const LaneTimes& other) {
    pairs_[0] = pairs_[0] > other.pairs_[0] ? pairs_[0] : other.pairs_[0];
    pairs_[1] = pairs_[1] > other.pairs_[1] ? pairs_[1] : other.pairs_[1];
    pairs_[2] = pairs_[2] > other.pairs_[2] ? pairs_[2] : other.pairs_[2];
    pairs_[3] = pairs_[3] > other.pairs_[3] ? pairs_[3] : other.pairs_[3];
    return *this;
  }

 private:
  typedef double Pair __attribute__((vector_size(16)));
  Pair pairs_[kLanes / 2];
};

}  // namespace allot
