#include "base/json_writer.h"

#include <fmt/format.h>

#include <cmath>
#include <iterator>

namespace allot {

void JsonWriter::breakLine() {
  if (depth_ > open_depth_ || depth_ == 0) return;
  out_ += '\n';
  out_.append(static_cast<std::size_t>(depth_), ' ');
}

void JsonWriter::separate() {
  if (after_key_) {
    after_key_ = false;
    return;
  }
  if (need_comma_) {
    out_ += ',';
    if (depth_ > open_depth_) out_ += ' ';
  }
  breakLine();
}

void JsonWriter::open(char bracket) {
  separate();
  out_ += bracket;
  ++depth_;
  need_comma_ = false;
}

void JsonWriter::close(char bracket) {
  const bool empty = !need_comma_;
  --depth_;
  if (!empty && depth_ < open_depth_) {
    out_ += '\n';
    out_.append(static_cast<std::size_t>(depth_), ' ');
  }
  out_ += bracket;
  need_comma_ = true;
}

JsonWriter& JsonWriter::beginObject() {
  return open('{'), *this;
}
JsonWriter& JsonWriter::endObject() {
  return close('}'), *this;
}
JsonWriter& JsonWriter::beginArray() {
  return open('['), *this;
}
JsonWriter& JsonWriter::endArray() {
  return close(']'), *this;
}

void JsonWriter::quote(std::string_view text) {
  out_ += '"';
  for (const char c : text) {
    switch (c) {
      case '"':
        out_ += "\\\"";
        break;
      case '\\':
        out_ += "\\\\";
        break;
      case '\n':
        out_ += "\\n";
        break;
      case '\t':
        out_ += "\\t";
        break;
      case '\r':
        out_ += "\\r";
        break;
      default:
        if (static_cast<unsigned char>(c) < 0x20) {
          fmt::format_to(std::back_inserter(out_), "\\u{:04x}", static_cast<unsigned>(c));
        } else {
          out_ += c;
        }
    }
  }
  out_ += '"';
}

JsonWriter& JsonWriter::key(std::string_view name) {
  separate();
  quote(name);
  out_ += ": ";
  need_comma_ = true;
  after_key_ = true;
  return *this;
}

JsonWriter& JsonWriter::value(std::string_view text) {
  separate();
  quote(text);
  need_comma_ = true;
  return *this;
}

JsonWriter& JsonWriter::value(double number) {
  if (!std::isfinite(number)) return null();
  separate();
  // A reader would take "-0" for a whole number and lose the sign.
  if (number == 0 && std::signbit(number))
    out_ += "-0.0";
  else
    fmt::format_to(std::back_inserter(out_), "{}", number);
  need_comma_ = true;
  return *this;
}

JsonWriter& JsonWriter::value(std::int64_t number) {
  separate();
  fmt::format_to(std::back_inserter(out_), "{}", number);
  need_comma_ = true;
  return *this;
}

JsonWriter& JsonWriter::value(std::uint64_t number) {
  separate();
  fmt::format_to(std::back_inserter(out_), "{}", number);
  need_comma_ = true;
  return *this;
}

JsonWriter& JsonWriter::value(bool flag) {
  separate();
  out_ += flag ? "true" : "false";
  need_comma_ = true;
  return *this;
}

JsonWriter& JsonWriter::null() {
  separate();
  out_ += "null";
  need_comma_ = true;
  return *this;
}

std::string JsonWriter::take() {
  out_ += '\n';
  return std::move(out_);
}

}  // namespace allot
