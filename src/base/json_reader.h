// Reads JSON with places in its errors.
//
// A `JsonNode` is a value with the way that led to it; its accessors return an error that names the file, the
// JSON path and what was expected. The tree itself is simdjson's. A node must not outlive its parent or its
// document.
#pragma once

#include <simdjson.h>

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "allot/result.h"

namespace allot {

class JsonNode {
 public:
  JsonNode(simdjson::dom::element element, const std::string& file) : element_(element), file_(&file) {}

  bool isObject() const { return element_.is_object(); }
  bool isArray() const { return element_.is_array(); }
  bool isString() const { return element_.is_string(); }
  bool isNumber() const { return element_.is_number(); }
  bool isBool() const { return element_.is_bool(); }
  bool isNull() const { return element_.is_null(); }

  // "ops[3].time[1]"; "the document" at the root.
  std::string path() const;
  tl::unexpected<Error> fail(std::string message, std::string remedy) const;

  Result<simdjson::dom::object> object() const;
  Result<simdjson::dom::array> array() const;
  Result<std::string_view> string() const;
  Result<bool> boolean() const;  // true, false, 0 or 1
  Result<double> number() const;
  Result<double> nonNegative() const;
  Result<std::int64_t> integer() const;
  Result<std::uint64_t> natural() const;
  // A number in SI or a string with a unit; never negative, never absurd.
  Result<double> seconds() const;
  Result<std::int64_t> bytes() const;
  Result<double> bytesPerSecond() const;
  // A string, or a whole number turned into one (foreign files name things by number).
  Result<std::string> label() const;

  bool has(std::string_view key) const;
  // Member that must be there.
  Result<JsonNode> at(std::string_view key) const;
  // Child nodes for loops; `key` and `index` only serve the path.
  JsonNode member(std::string_view key, simdjson::dom::element element) const {
    return {element, this, key, -1};
  }
  JsonNode item(std::int64_t index, simdjson::dom::element element) const {
    return {element, this, {}, index};
  }

  // Calls fn(JsonNode) -> Result<void> for each item; stops at the first error.
  template <class Fn>
  Result<void> forEach(Fn&& fn) const {
    ALLOT_TRY(const auto items, array());
    std::int64_t index = 0;
    for (const auto element : items) ALLOT_CHECK(fn(item(index++, element)));
    return {};
  }

  // Warns of members whose key is not in `known`.
  void warnUnknown(std::initializer_list<std::string_view> known, std::vector<std::string>& warnings) const;

 private:
  JsonNode(simdjson::dom::element element, const JsonNode* parent, std::string_view key, std::int64_t index)
      : element_(element), file_(parent->file_), parent_(parent), key_(key), index_(index) {}

  simdjson::dom::element element_;
  const std::string* file_;
  const JsonNode* parent_ = nullptr;
  std::string_view key_;
  std::int64_t index_ = -1;
};

// Owns a parsed document. YAML is turned into JSON first.
class JsonDocument {
 public:
  // Whether an object may have a key twice; of two, one would be ignored in silence.
  enum class Keys : std::uint8_t { kOnce, kAny };
  // `text` may be JSON, or YAML when `allow_yaml`.
  static Result<JsonDocument> parse(std::string_view text, const std::string& file, bool allow_yaml,
                                    Keys keys = Keys::kOnce);
  Result<void> refuseDoubledKeys() const;
  JsonNode root() const { return {root_, *file_}; }

 private:
  std::unique_ptr<simdjson::dom::parser> parser_;
  std::unique_ptr<std::string> file_;
  simdjson::dom::element root_;
};

// The JSON text of a YAML document.
Result<std::string> yamlToJson(std::string_view text, const std::string& file);

}  // namespace allot
