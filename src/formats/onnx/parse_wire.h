// Walks the fields of a protocol buffer message in place.
//
// Method: protozero decodes the varints; lengths are kept in 64 bits, because its own reader cuts them to 32
// and a file may be larger. The first failure is kept with its byte offset and ends every loop over fields,
// so that callers need not look after each value.
//
// Guarantee: no view leaves the bytes of its message; nesting
// ends at kMaxDepth; nothing is copied.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "allot/result.h"

namespace allot::onnx {

inline constexpr int kMaxDepth = 100;

// Where and why reading stopped.
class ParseFailure {
 public:
  explicit ParseFailure(const char* begin) : begin_(begin) {}

  bool failed() const { return error_.has_value(); }
  // Keeps the first.
  void set(const char* at, std::string message, std::string remedy);
  const Error& error() const { return *error_; }

 private:
  const char* begin_;
  std::optional<Error> error_;
};

// A field's number and wire type in one.
constexpr std::uint32_t varintField(std::uint32_t number) {
  return number << 3;
}
constexpr std::uint32_t fixed64Field(std::uint32_t number) {
  return number << 3 | 1;
}
constexpr std::uint32_t bytesField(std::uint32_t number) {
  return number << 3 | 2;
}
constexpr std::uint32_t fixed32Field(std::uint32_t number) {
  return number << 3 | 5;
}

class Wire {
 public:
  Wire(std::string_view bytes, ParseFailure& failure)
      : at_(bytes.data()), end_(bytes.data() + bytes.size()), failure_(&failure) {}

  // Goes to the next field; false at the end and after a failure. Each field must then be read or skipped.
  bool next();
  std::uint32_t field() const { return field_; }
  void skip();

  std::int64_t varint();
  float fixed32();
  std::string_view bytes();
  // Text that is kept must be UTF-8, because it may be written to JSON.
  std::string_view text();
  Wire message();
  // A repeated integer, packed or not; stops adding above `limit` entries, and `full` says so.
  void integers(std::vector<std::int64_t>& values, std::size_t limit, bool& full);
  void integers(std::vector<std::int64_t>& values);

  void fail(std::string message, std::string remedy) {
    failure_->set(start_, std::move(message), std::move(remedy));
  }
  bool failed() const { return failure_->failed(); }

 private:
  std::uint64_t decode();
  bool take(std::uint64_t length);  // moves on, or fails where fewer bytes are left

  const char* at_;
  const char* end_;
  const char* start_ = nullptr;  // of the field, for messages
  ParseFailure* failure_;
  std::uint32_t field_ = 0;
  int depth_ = 0;
};

}  // namespace allot::onnx
