#include "formats/onnx/parse_wire.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <cstring>
#include <limits>
#include <protozero/varint.hpp>

namespace allot::onnx {
namespace {

constexpr const char* kRemedy = "check that it is an ONNX file and complete, or export it again";
constexpr std::uint32_t kLargestNumber = (1u << 29) - 1;

}  // namespace

void ParseFailure::set(const char* at, std::string message, std::string remedy) {
  if (error_) return;
  const auto offset = at - begin_;
  error_ =
      Error{ErrorCode::kBadInput, {}, fmt::format("byte {}", offset), std::move(message), std::move(remedy)};
}

std::uint64_t Wire::decode() {
  try {
    return protozero::decode_varint(&at_, end_);
  } catch (const protozero::end_of_buffer_exception&) {
    failure_->set(at_, "the message ends within a number", kRemedy);
  } catch (const protozero::exception&) {
    failure_->set(at_, "a number of more than 64 bits", kRemedy);
  }
  at_ = end_;
  return 0;
}

bool Wire::take(std::uint64_t length) {
  const auto left = static_cast<std::uint64_t>(end_ - at_);
  if (length > left) {
    failure_->set(start_, fmt::format("a field of {} bytes where {} are left", length, left), kRemedy);
    at_ = end_;
    return false;
  }
  at_ += length;
  return true;
}

bool Wire::next() {
  if (at_ == end_ || failure_->failed()) return false;
  start_ = at_;
  const std::uint64_t key = decode();
  if (failure_->failed()) return false;
  const std::uint64_t number = key >> 3, type = key & 7;
  if (number == 0 || number > kLargestNumber || type == 3 || type == 4 || type > 5) {
    fail("not a field of a protocol buffer", kRemedy);
    return false;
  }
  field_ = static_cast<std::uint32_t>(key);
  return true;
}

void Wire::skip() {
  switch (field_ & 7) {
    case 0:
      decode();
      break;
    case 1:
      take(8);
      break;
    case 2:
      take(decode());
      break;
    default:
      take(4);
      break;
  }
}

std::int64_t Wire::varint() {
  return static_cast<std::int64_t>(decode());
}

float Wire::fixed32() {
  float value = 0;
  const char* at = at_;
  if (take(sizeof value)) std::memcpy(&value, at, sizeof value);
  return value;
}

std::string_view Wire::bytes() {
  const std::uint64_t length = decode();
  const char* at = at_;
  if (failure_->failed() || !take(length)) return {};
  return {at, static_cast<std::size_t>(length)};
}

std::string_view Wire::text() {
  const std::string_view view = bytes();
  if (!simdjson::validate_utf8(view)) {
    fail("a text that is not UTF-8", kRemedy);
    return {};
  }
  return view;
}

Wire Wire::message() {
  Wire inner(bytes(), *failure_);
  inner.start_ = start_;
  inner.depth_ = depth_ + 1;
  if (inner.depth_ > kMaxDepth)
    fail(fmt::format("messages lie more than {} deep in one another", kMaxDepth), kRemedy);
  return inner;
}

void Wire::integers(std::vector<std::int64_t>& values, std::size_t limit, bool& full) {
  const auto add = [&](std::int64_t value) {
    if (values.size() < limit)
      values.push_back(value);
    else
      full = true;
  };
  if ((field_ & 7) == 0) {
    add(varint());
    return;
  }
  Wire packed(bytes(), *failure_);
  while (packed.at_ != packed.end_ && !failure_->failed() && !full) add(packed.varint());
}

void Wire::integers(std::vector<std::int64_t>& values) {
  bool full = false;
  integers(values, std::numeric_limits<std::size_t>::max(), full);
}

}  // namespace allot::onnx
