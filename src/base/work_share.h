// What is left of a worker's share of numbered tasks, which others may help with.
//
// Problem: workers share tasks of unknown length, level after level, and what a task reads was written by
// another one of about the same number in the level before: it is near the processor that did that one.
// Method: each worker has a range of the tasks; it takes them from the front, and who has none left takes
// half of another one's from the back. Guarantee: every task is taken once, from whatever threads. A range is
// one word, so that taking is one atomic exchange; tasks of one level have different numbers, so a range that
// was taken never comes back.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <utility>

namespace allot {

class alignas(64) WorkShare {
 public:
  struct Range {
    std::uint64_t first = 0, end = 0;  // below 2^32
    bool empty() const { return first == end; }
  };

  // For its owner, when nothing is left of it.
  void set(Range range) { range_ = range.first << 32 | range.end; }
  bool empty() const { return unpack(range_.load(std::memory_order_relaxed)).empty(); }

  // One of so many parts of what is left, `most` at most and one at least; nothing where nothing is left.
  Range takeFront(std::uint64_t parts, std::uint64_t most) {
    return take([&](Range all) {
      const std::uint64_t middle =
          all.first + std::clamp<std::uint64_t>((all.end - all.first) / parts, 1, most);
      return std::pair{Range{all.first, middle}, Range{middle, all.end}};
    });
  }
  Range takeBackHalf() {
    return take([](Range all) {
      const std::uint64_t middle = all.first + (all.end - all.first) / 2;
      return std::pair{Range{middle, all.end}, Range{all.first, middle}};
    });
  }

 private:
  std::atomic<std::uint64_t> range_{0};  // first and end

  static Range unpack(std::uint64_t range) { return {range >> 32, range & UINT32_MAX}; }
  // `split` says what is taken and what stays.
  template <class Split>
  Range take(Split split) {
    for (std::uint64_t seen = range_;;) {
      const Range all = unpack(seen);
      if (all.empty()) return {};
      const auto [taken, kept] = split(all);
      if (range_.compare_exchange_weak(seen, kept.first << 32 | kept.end)) return taken;
    }
  }
};

}  // namespace allot
