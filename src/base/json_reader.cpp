#include "base/json_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <tuple>

#include "allot/problem.h"
#include "base/units.h"

namespace allot {
namespace {

constexpr std::size_t kMaxDepth = 512;
constexpr std::size_t kMaxKeysShown = 5;
// Beyond these, transfer times would leave the range of sane numbers.
constexpr double kMinBytesPerSecond = 1e-6, kMaxBytesPerSecond = 1e18;
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

// Only used to find the place of a syntax error: simdjson says what is wrong, but not where.
struct PlaceFinder : nlohmann::json_sax<nlohmann::json> {
  std::size_t offset = 0;
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(std::int64_t) override { return true; }
  bool number_unsigned(std::uint64_t) override { return true; }
  bool number_float(double, const std::string&) override { return true; }
  bool string(std::string&) override { return true; }
  bool binary(nlohmann::json::binary_t&) override { return true; }
  bool start_object(std::size_t) override { return true; }
  bool key(std::string&) override { return true; }
  bool end_object() override { return true; }
  bool start_array(std::size_t) override { return true; }
  bool end_array() override { return true; }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::json::exception&) override {
    offset = position;
    return false;
  }
};

std::string placeOfSyntaxError(std::string_view text) {
  PlaceFinder finder;
  if (nlohmann::json::sax_parse(text, &finder)) return "";
  const std::string_view before = text.substr(0, std::min(finder.offset, text.size()));
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const std::size_t last_break = before.rfind('\n');
  const std::size_t column =
      last_break == std::string_view::npos ? before.size() : before.size() - last_break - 1;
  return fmt::format("line {}, column {}", line, column);
}

std::string_view kindOf(simdjson::dom::element element) {
  switch (element.type()) {
    case simdjson::dom::element_type::ARRAY:
      return "a list";
    case simdjson::dom::element_type::OBJECT:
      return "an object";
    case simdjson::dom::element_type::STRING:
      return "a string";
    case simdjson::dom::element_type::BOOL:
      return "true or false";
    case simdjson::dom::element_type::NULL_VALUE:
      return "null";
    default:
      return "a number";
  }
}

// Looks for objects that have a key twice. A large file has millions of small objects, so nothing is
// allocated for any of them.
class DoubledKeyFinder {
 public:
  // Path to the second of two keys that are the same, from the element on; valid where `find` is true.
  std::string way;

  bool find(simdjson::dom::element element) {
    switch (element.type()) {
      case simdjson::dom::element_type::ARRAY:
        return findInItems(simdjson::dom::array(element));
      case simdjson::dom::element_type::OBJECT:
        return findInFields(simdjson::dom::object(element));
      default:
        return false;
    }
  }

 private:
  struct Key {
    std::uint64_t mark;  // its length and first bytes: other keys mostly differ there
    std::string_view text;
    bool operator==(const Key& other) const { return mark == other.mark && text == other.text; }
    bool operator<(const Key& other) const { return std::tie(mark, text) < std::tie(other.mark, other.text); }
  };
  static constexpr std::size_t kFew = 16;

  std::vector<Key> keys_;  // of the objects on the way down

  static Key keyOf(std::string_view text) {
    std::uint64_t mark = 0;
    std::memcpy(&mark, text.data(), std::min(text.size(), sizeof mark - 1));
    return {mark | static_cast<std::uint64_t>(text.size()) << 56, text};
  }

  bool findInItems(simdjson::dom::array items) {
    std::size_t index = 0;
    for (const simdjson::dom::element item : items) {
      if (find(item)) {
        way.insert(0, fmt::format("[{}]", index));
        return true;
      }
      ++index;
    }
    return false;
  }

  bool findInFields(simdjson::dom::object fields) {
    const std::size_t first = keys_.size();
    for (const auto field : fields) {
      keys_.push_back(keyOf(field.key));
      if (!find(field.value)) continue;
      way.insert(0, fmt::format(".{}", field.key));
      return true;
    }
    if (hasDoubles(std::span(keys_).subspan(first))) {
      std::set<std::string_view> seen;
      for (const auto field : fields) {
        if (seen.insert(field.key).second) continue;
        way = fmt::format(".{}", field.key);
        return true;
      }
    }
    keys_.resize(first);
    return false;
  }

  static bool hasDoubles(std::span<Key> keys) {
    if (keys.size() <= kFew) {
      for (std::size_t i = 1; i < keys.size(); ++i) {
        for (std::size_t j = 0; j < i; ++j) {
          if (keys[i] == keys[j]) return true;
        }
      }
      return false;
    }
    // A million names are faster to sort by their hashes.
    std::vector<std::size_t> hashes;
    hashes.reserve(keys.size());
    for (const Key& key : keys) hashes.push_back(std::hash<std::string_view>{}(key.text));
    std::sort(hashes.begin(), hashes.end());
    if (std::adjacent_find(hashes.begin(), hashes.end()) == hashes.end()) return false;
    std::sort(keys.begin(), keys.end());
    return std::adjacent_find(keys.begin(), keys.end()) != keys.end();
  }
};

bool looksLikeJson(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first == std::string_view::npos || text[first] == '{' || text[first] == '[';
}

}  // namespace

std::string JsonNode::path() const {
  if (parent_ == nullptr) return "the document";
  std::vector<const JsonNode*> way;
  for (const JsonNode* node = this; node->parent_ != nullptr; node = node->parent_) way.push_back(node);
  std::string text;
  for (auto it = way.rbegin(); it != way.rend(); ++it) {
    if ((*it)->index_ >= 0) {
      text += fmt::format("[{}]", (*it)->index_);
    } else {
      if (!text.empty()) text += '.';
      text += (*it)->key_;
    }
  }
  return text;
}

tl::unexpected<Error> JsonNode::fail(std::string message, std::string remedy) const {
  return allot::fail({ErrorCode::kBadInput, *file_, path(), std::move(message), std::move(remedy)});
}

Result<simdjson::dom::object> JsonNode::object() const {
  simdjson::dom::object object;
  if (element_.get(object) != simdjson::SUCCESS) {
    return fail(fmt::format("expected an object, found {}", kindOf(element_)), "write { ... } here");
  }
  return object;
}

Result<simdjson::dom::array> JsonNode::array() const {
  simdjson::dom::array array;
  if (element_.get(array) != simdjson::SUCCESS) {
    return fail(fmt::format("expected a list, found {}", kindOf(element_)), "write [ ... ] here");
  }
  return array;
}

Result<std::string_view> JsonNode::string() const {
  std::string_view text;
  if (element_.get(text) != simdjson::SUCCESS) {
    return fail(fmt::format("expected a string, found {}", kindOf(element_)), "write it in double quotes");
  }
  return text;
}

Result<bool> JsonNode::boolean() const {
  bool flag = false;
  if (element_.get(flag) == simdjson::SUCCESS) return flag;
  double number = -1;
  if (element_.get(number) == simdjson::SUCCESS && (number == 0 || number == 1)) return number == 1;
  return fail(fmt::format("expected true or false, found {}", kindOf(element_)), "write true or false");
}

Result<double> JsonNode::number() const {
  double number = 0;
  if (element_.get(number) != simdjson::SUCCESS || !std::isfinite(number)) {
    return fail(fmt::format("expected a number, found {}", kindOf(element_)), "write a finite number");
  }
  return number;
}

Result<double> JsonNode::nonNegative() const {
  ALLOT_TRY(const double value, number());
  if (value < 0) return fail(fmt::format("{} is negative", value), "write a number of 0 or more");
  return value + 0.0;  // -0 becomes 0
}

Result<std::int64_t> JsonNode::integer() const {
  std::int64_t value = 0;
  if (element_.get(value) == simdjson::SUCCESS) return value;
  double real = 0;
  if (element_.get(real) == simdjson::SUCCESS && real == std::floor(real) && std::fabs(real) < 9.0e15) {
    return static_cast<std::int64_t>(real);
  }
  return fail(fmt::format("expected a whole number, found {}", kindOf(element_)), "write a whole number");
}

Result<std::uint64_t> JsonNode::natural() const {
  std::uint64_t value = 0;
  if (element_.get(value) == simdjson::SUCCESS) return value;
  return fail(fmt::format("expected a whole number of 0 or more, found {}", kindOf(element_)),
              "write a whole number of 0 or more");
}

Result<double> JsonNode::seconds() const {
  double value = 0;
  if (isString()) {
    ALLOT_TRY(const std::string_view text, string());
    auto parsed = parseSeconds(text);
    if (!parsed) return fail(parsed.error().message, parsed.error().remedy);
    value = *parsed;
  } else {
    ALLOT_TRY(value, number());
  }
  if (value < 0) return fail(fmt::format("time {} is negative", value), "write a time of 0 or more");
  if (value > kMaxSeconds)
    return fail(fmt::format("time {} s is absurd", value), "check the unit; plain numbers are seconds");
  return value + 0.0;  // -0 becomes 0
}

Result<std::int64_t> JsonNode::bytes() const {
  if (isString()) {
    ALLOT_TRY(const std::string_view text, string());
    auto parsed = parseBytes(text);
    if (!parsed) return fail(parsed.error().message, parsed.error().remedy);
    return *parsed;
  }
  ALLOT_TRY(const double value, number());
  if (value < 0) return fail(fmt::format("size {} is negative", value), "write a size of 0 or more");
  if (value > static_cast<double>(kMaxBytes)) {
    return fail(fmt::format("size {} is absurd", value), "check the unit; plain numbers are bytes");
  }
  if (value != std::floor(value))
    return fail(fmt::format("size {} is not whole", value), "write whole bytes");
  std::int64_t whole = 0;
  if (element_.get(whole) == simdjson::SUCCESS) return whole;
  return static_cast<std::int64_t>(value);
}

Result<double> JsonNode::bytesPerSecond() const {
  double value = 0;
  if (isString()) {
    ALLOT_TRY(const std::string_view text, string());
    auto parsed = parseBytesPerSecond(text);
    if (!parsed) return fail(parsed.error().message, parsed.error().remedy);
    value = *parsed;
  } else {
    ALLOT_TRY(value, number());
  }
  if (!(value > 0))
    return fail(fmt::format("bandwidth {} is not above 0", value),
                "write bytes per second, or leave the link out");
  if (value < kMinBytesPerSecond || value > kMaxBytesPerSecond) {
    return fail(fmt::format("bandwidth {} is absurd", value),
                "check the unit; plain numbers are bytes per second");
  }
  return value;
}

Result<std::string> JsonNode::label() const {
  std::string_view text;
  if (element_.get(text) == simdjson::SUCCESS) return std::string(text);
  std::int64_t whole = 0;
  if (element_.get(whole) == simdjson::SUCCESS) return std::to_string(whole);
  return fail(fmt::format("expected a name, found {}", kindOf(element_)), "write a string or a whole number");
}

bool JsonNode::has(std::string_view key) const {
  simdjson::dom::element child;
  return element_[key].get(child) == simdjson::SUCCESS;
}

Result<JsonNode> JsonNode::at(std::string_view key) const {
  ALLOT_CHECK(object());
  simdjson::dom::element child;
  if (element_[key].get(child) != simdjson::SUCCESS) {
    return fail(fmt::format("\"{}\" is missing", key), fmt::format("add \"{}\"", key));
  }
  return member(key, child);
}

void JsonNode::warnUnknown(std::initializer_list<std::string_view> known,
                           std::vector<std::string>& warnings) const {
  simdjson::dom::object object;
  if (element_.get(object) != simdjson::SUCCESS || warnings.size() >= kMaxKeysShown) return;
  for (const auto field : object) {
    if (std::find(known.begin(), known.end(), field.key) != known.end()) continue;
    warnings.push_back(fmt::format("{}: {}: unknown key \"{}\" is ignored", *file_, path(), field.key));
    if (warnings.size() >= kMaxKeysShown) return;
  }
}

Result<void> JsonDocument::refuseDoubledKeys() const {
  DoubledKeyFinder finder;
  if (!finder.find(root_)) return {};
  std::string way = std::move(finder.way);
  if (way.starts_with('.')) way.erase(0, 1);
  return fail({ErrorCode::kBadInput, *file_, way, "the key is there twice", "keep one of the two"});
}

Result<JsonDocument> JsonDocument::parse(std::string_view text, const std::string& file, bool allow_yaml,
                                         Keys keys) {
  JsonDocument document;
  document.file_ = std::make_unique<std::string>(file);
  document.parser_ = std::make_unique<simdjson::dom::parser>();
  std::string converted;
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) {
    return fail({ErrorCode::kBadInput, file, "", "the file is empty", "give a file with content"});
  }
  if (allow_yaml && !looksLikeJson(text)) {
    ALLOT_TRY(converted, yamlToJson(text, file));
    text = converted;
  }
  auto error = document.parser_->allocate(text.size(), kMaxDepth);
  if (error == simdjson::SUCCESS)
    error = document.parser_->parse(text.data(), text.size()).get(document.root_);
  if (error != simdjson::SUCCESS) {
    if (error == simdjson::DEPTH_ERROR) {
      return fail({ErrorCode::kBadInput, file, "", fmt::format("nested deeper than {} levels", kMaxDepth),
                   "flatten the file"});
    }
    if (error == simdjson::CAPACITY) {
      return fail({ErrorCode::kBadInput, file, "",
                   fmt::format("{} bytes, more than a JSON file may have", text.size()),
                   "check that it is the right file, or split it"});
    }
    if (error == simdjson::MEMALLOC) {
      return fail({ErrorCode::kBadInput, file, "", "too large for the memory there is",
                   "use a machine with more memory"});
    }
    return fail({ErrorCode::kBadInput, file, placeOfSyntaxError(text),
                 fmt::format("not valid JSON ({})", simdjson::error_message(error)),
                 "correct or re-export the file"});
  }
  if (keys == Keys::kOnce) ALLOT_CHECK(document.refuseDoubledKeys());
  return document;
}

}  // namespace allot
