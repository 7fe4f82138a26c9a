#include "report/report_columns.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace allot {
namespace {

class Base64 {
 public:
  explicit Base64(std::string_view kind, std::size_t bytes) {
    text_.reserve(kind.size() + 4 * (bytes / 3 + 1));
    text_ = kind;
  }

  void add(std::uint32_t number, int bytes) {
    for (int i = 0; i < bytes; ++i) addByte(static_cast<std::uint8_t>(number >> (8 * i)));
  }

  std::string take() {
    if (held_ > 0) {
      const int left = held_;
      while (held_ != 0) addByte(0);
      std::fill(text_.end() - (3 - left), text_.end(), '=');
    }
    return std::move(text_);
  }

 private:
  std::string text_;
  std::uint32_t bits_ = 0;
  int held_ = 0;  // bytes in bits_

  void addByte(std::uint8_t byte) {
    constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    bits_ = bits_ << 8 | byte;
    if (++held_ < 3) return;
    for (int shift = 18; shift >= 0; shift -= 6) text_ += kDigits[bits_ >> shift & 63];
    bits_ = 0;
    held_ = 0;
  }
};

// How many leading characters two names share. Only ASCII counts, so that bytes are the browser's units too.
std::uint32_t sharedPrefix(std::string_view a, std::string_view b) {
  const std::size_t most = std::min({a.size(), b.size(), std::size_t{255}});
  std::size_t shared = 0;
  while (shared < most && a[shared] == b[shared] && static_cast<unsigned char>(a[shared]) < 0x80) ++shared;
  return static_cast<std::uint32_t>(shared);
}

}  // namespace

void writeColumn(JsonWriter& out, std::string_view key, std::span<const std::uint32_t> numbers) {
  std::uint32_t largest = 0;
  for (std::size_t i = 0; i < numbers.size(); ++i) largest = std::max(largest, numbers[i]);
  const int bytes = largest < 1U << 8 ? 1 : largest < 1U << 16 ? 2 : 4;
  Base64 text(bytes == 1   ? "u8:"
              : bytes == 2 ? "u16:"
                           : "u32:",
              numbers.size() * static_cast<std::size_t>(bytes));
  for (std::size_t i = 0; i < numbers.size(); ++i) text.add(numbers[i], bytes);
  out.field(key, text.take());
}

void writeColumn(JsonWriter& out, std::string_view key, std::span<const double> numbers) {
  Base64 text("f32:", numbers.size() * 4);
  for (std::size_t i = 0; i < numbers.size(); ++i)
    text.add(std::bit_cast<std::uint32_t>(static_cast<float>(numbers[i])), 4);
  out.field(key, text.take());
}

void writeNames(JsonWriter& out, std::string_view key, std::span<const std::string> names) {
  std::vector<std::uint32_t> shared;
  shared.reserve(names.size());
  out.key(key).beginArray();
  std::string_view before;
  for (std::size_t i = 0; i < names.size(); ++i) {
    shared.push_back(sharedPrefix(before, names[i]));
    before = names[i];
    out.value(before.substr(shared.back()));
  }
  out.endArray();
  writeColumn(out, std::string(key) + "_shared", shared);
}

TickClock::TickClock(double last_moment)
    : tick_(std::isfinite(last_moment) && last_moment > 0
                ? last_moment / std::numeric_limits<std::uint32_t>::max()
                : 1) {}

std::uint32_t TickClock::ticks(double seconds) const {
  constexpr double kMost = std::numeric_limits<std::uint32_t>::max();
  if (!(seconds > 0)) return 0;
  return static_cast<std::uint32_t>(std::min(kMost, std::round(seconds / tick_)));
}

}  // namespace allot
