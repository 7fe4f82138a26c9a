// Arrays of numbers and names as short text inside a JSON document.
//
// A column is a string "u8:...", "u16:...", "u32:..." or "f32:..." with little-endian numbers in base64,
// which a browser turns into a typed array without parsing: 200,000 ops take some 5 bytes for each 4-byte
// figure. Names are front-coded: each is the length of what it shares with the one before, and the rest.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_writer.h"

namespace allot {

// In the narrowest unsigned type that holds every number.
void writeColumn(JsonWriter& out, std::string_view key, std::span<const std::uint32_t> numbers);
// Rounded to 32 bits: seven digits, infinities kept.
void writeColumn(JsonWriter& out, std::string_view key, std::span<const double> numbers);
// Members `key` (list of rests) and `key_shared` (column of lengths).
void writeNames(JsonWriter& out, std::string_view key, std::span<const std::string> names);

// Moments of a schedule as whole ticks; the last moment is the largest tick.
class TickClock {
 public:
  explicit TickClock(double last_moment);
  double secondsPerTick() const { return tick_; }
  std::uint32_t ticks(double seconds) const;

 private:
  double tick_;
};

}  // namespace allot
