// Looks at the clock now and then: a look costs as much as some hundred steps of a loop.
#pragma once

#include <cstddef>

#include "allot/solve.h"

namespace allot {

class Polls {
 public:
  // `apart`: steps between two looks, some tenths of a millisecond.
  explicit Polls(const Budget& budget, std::size_t apart = 200'000) : budget_(budget), apart_(apart) {}

  // Counts steps; true when it is time to stop.
  bool stop(std::size_t steps) {
    done_ += steps;
    if (done_ < apart_) return false;
    done_ = 0;
    return budget_.stopped();
  }

 private:
  const Budget& budget_;
  std::size_t apart_, done_ = 0;
};

}  // namespace allot
