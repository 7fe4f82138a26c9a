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
  explicit LaneTimes(double time) : a_{time, time}, b_{time, time}, c_{time, time}, d_{time, time} {}

  double at(std::uint32_t lane) const { return (&a_)[lane / 2][lane % 2]; }
  void set(std::uint32_t lane, double time) { (&a_)[lane / 2][lane % 2] = time; }
  LaneTimes& operator+=(double seconds) {
    a_ += seconds;
    b_ += seconds;
    c_ += seconds;
    d_ += seconds;
    return *this;
  }
  LaneTimes& operator+=(const LaneTimes& other) {
    a_ += other.a_;
    b_ += other.b_;
    c_ += other.c_;
    d_ += other.d_;
    return *this;
  }
  // Each at least as late as the other's.
  LaneTimes& raise(const LaneTimes& other) {
    a_ = a_ > other.a_ ? a_ : other.a_;
    b_ = b_ > other.b_ ? b_ : other.b_;
    c_ = c_ > other.c_ ? c_ : other.c_;
    d_ = d_ > other.d_ ? d_ : other.d_;
    return *this;
  }

 private:
  typedef double Pair __attribute__((vector_size(16)));
  Pair a_, b_, c_, d_;
};

}  // namespace allot
