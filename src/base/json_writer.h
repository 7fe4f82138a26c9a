// Writes JSON as it goes, so that a plan of a million ops needs no tree in memory. Doubles are written with
// the fewest digits that read back to the same bits.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace allot {

class JsonWriter {
 public:
  // Containers down to `open_depth` get a line per element; deeper ones stay on one line.
  explicit JsonWriter(int open_depth = 2) : open_depth_(open_depth) {}

  JsonWriter& beginObject();
  JsonWriter& endObject();
  JsonWriter& beginArray();
  JsonWriter& endArray();
  JsonWriter& key(std::string_view key);
  JsonWriter& value(std::string_view text);
  JsonWriter& value(const char* text) { return value(std::string_view(text)); }
  JsonWriter& value(const std::string& text) { return value(std::string_view(text)); }
  JsonWriter& value(double number);  // not finite = null
  JsonWriter& value(std::int64_t number);
  JsonWriter& value(std::uint64_t number);
  JsonWriter& value(int number) { return value(static_cast<std::int64_t>(number)); }
  JsonWriter& value(bool flag);
  JsonWriter& null();
  template <class T>
  JsonWriter& field(std::string_view name, const T& item) {
    return key(name).value(item);
  }

  // The document, with a final newline.
  std::string take();

 private:
  std::string out_;
  int depth_ = 0;
  int open_depth_;
  bool need_comma_ = false;
  bool after_key_ = false;

  void separate();
  void breakLine();
  void open(char bracket);
  void close(char bracket);
  void quote(std::string_view text);
};

}  // namespace allot
