#include "config_file.h"

#include <fmt/format.h>

#include "base/file_io.h"
#include "base/json_reader.h"

namespace allot::cli {

Result<void> applyConfigFile(const std::string& path, Options& options) {
  ALLOT_TRY(const std::string text, readFile(path));
  ALLOT_TRY(const JsonDocument document, JsonDocument::parse(text, path, true));
  const JsonNode root = document.root();
  ALLOT_TRY(const auto fields, root.object());
  for (const auto field : fields) {
    const JsonNode child = root.member(field.key, field.value);
    std::string value;
    if (child.isBool()) {
      ALLOT_TRY(const bool flag, child.boolean());
      value = flag ? "true" : "false";
    } else if (child.isNumber()) {
      ALLOT_TRY(const double number, child.number());
      value = fmt::format("{}", number);
    } else {
      ALLOT_TRY(value, child.label());
    }
    auto done = setOption(options, field.key, value);
    if (!done) return child.fail(done.error().message, done.error().remedy);
  }
  return {};
}

}  // namespace allot::cli
