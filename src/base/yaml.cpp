// YAML for files that people write by hand, turned into JSON so that there is one reader for both.
#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <charconv>
#include <cmath>

#include "base/json_reader.h"
#include "base/json_writer.h"

namespace allot {
namespace {

// YAML is for small files; aliases could otherwise unfold without limit.
constexpr std::size_t kMaxYamlBytes = std::size_t{16} << 20;
constexpr std::size_t kMaxYamlNodes = 2'000'000;
constexpr int kMaxYamlDepth = 64;
// An alias may repeat a long text as well as a deep tree.
constexpr std::size_t kMaxYamlTextBytes = std::size_t{64} << 20;

class Converter {
 public:
  std::string error;

  bool convert(const YAML::Node& node, int depth) {
    if (++nodes_ > kMaxYamlNodes) return stop(node, "unfolds to too many values");
    if (depth > kMaxYamlDepth) return stop(node, "is nested too deeply");
    switch (node.Type()) {
      case YAML::NodeType::Map:
        return convertMap(node, depth);
      case YAML::NodeType::Sequence:
        writer_.beginArray();
        for (const auto& item : node) {
          if (!convert(item, depth + 1)) return false;
        }
        writer_.endArray();
        return true;
      case YAML::NodeType::Scalar:
        return convertScalar(node);
      default:
        writer_.null();
        return true;
    }
  }

  std::string take() { return writer_.take(); }

 private:
  JsonWriter writer_{0};
  std::size_t nodes_ = 0;
  std::size_t text_bytes_ = 0;

  bool stop(const YAML::Node& node, std::string_view why) {
    error = fmt::format("line {}: {}", node.Mark().line + 1, why);
    return false;
  }

  bool convertMap(const YAML::Node& node, int depth) {
    writer_.beginObject();
    for (const auto& entry : node) {
      if (!entry.first.IsScalar()) return stop(node, "has a key that is not a plain word");
      if ((text_bytes_ += entry.first.Scalar().size()) > kMaxYamlTextBytes)
        return stop(node, "unfolds to too much text");
      writer_.key(entry.first.Scalar());
      if (!convert(entry.second, depth + 1)) return false;
    }
    writer_.endObject();
    return true;
  }

  bool convertScalar(const YAML::Node& node) {
    const std::string& text = node.Scalar();
    if ((text_bytes_ += text.size()) > kMaxYamlTextBytes) return stop(node, "unfolds to too much text");
    const bool quoted = node.Tag() == "!";
    if (quoted) {
      writer_.value(text);
    } else if (text == "null" || text == "~" || text.empty()) {
      writer_.null();
    } else if (text == "true" || text == "false") {
      writer_.value(text == "true");
    } else {
      convertPlain(text);
    }
    return true;
  }

  void convertPlain(const std::string& text) {
    const char* end = text.data() + text.size();
    std::int64_t whole = 0;
    if (auto [stop_at, code] = std::from_chars(text.data(), end, whole);
        code == std::errc{} && stop_at == end) {
      writer_.value(whole);
      return;
    }
    double real = 0;
    if (auto [stop_at, code] = std::from_chars(text.data(), end, real);
        code == std::errc{} && stop_at == end && std::isfinite(real)) {
      writer_.value(real);
      return;
    }
    writer_.value(text);
  }
};

}  // namespace

Result<std::string> yamlToJson(std::string_view text, const std::string& file) {
  const auto bad = [&](std::string where, std::string message) {
    return fail(
        {ErrorCode::kBadInput, file, std::move(where), std::move(message), "give a JSON or YAML file"});
  };
  if (text.size() > kMaxYamlBytes) return bad("", "too large for YAML; files above 16 MiB must be JSON");
  int depth = 0;
  for (const char c : text) {
    depth += (c == '[' || c == '{') - (c == ']' || c == '}');
    if (depth > kMaxYamlDepth) return bad("", "nested too deeply");
  }
  // yaml-cpp reports by exceptions; none may leave this file.
  try {
    Converter converter;
    if (!converter.convert(YAML::Load(std::string(text)), 0)) return bad("", converter.error);
    return converter.take();
  } catch (const YAML::Exception& exception) {
    return bad(exception.mark.is_null() ? "" : fmt::format("line {}", exception.mark.line + 1),
               fmt::format("not valid JSON or YAML ({})", exception.msg));
  } catch (const std::exception& exception) {
    return bad("", fmt::format("not valid JSON or YAML ({})", exception.what()));
  }
}

}  // namespace allot
