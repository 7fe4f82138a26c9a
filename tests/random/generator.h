// Random tiny problems of great variety: all goals, modes and constraints together.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "random/tiny.h"

namespace allot::tiny {

// What may occur beside everything else.
struct Features {
  bool live = true;       // live memory for throughput
  bool blocks = true;     // shared weights
  bool sync = true;       // shared weights in training, whose copies cost a sync
  bool inputs = true;     // model inputs
  bool fractions = true;  // weights of which a device holds no whole number of bytes
};

// "all", "none" or names joined by commas; absent for anything else.
std::optional<Features> featuresFromText(const std::string& text);

struct Wish {
  std::optional<Goal> goal;  // absent = any
  Features features;
};

// The same for the same seed.
Tiny generate(std::uint64_t seed, const Wish& wish);

}  // namespace allot::tiny
