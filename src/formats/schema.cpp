#include "formats/schema.h"

#include <fmt/format.h>

namespace allot {

Result<void> expectSchema(const JsonNode& root, std::string_view schema) {
  ALLOT_TRY(const JsonNode node, root.at("schema"));
  ALLOT_TRY(const std::string_view found, node.string());
  if (found == schema) return {};
  const std::string_view stem = schema.substr(0, schema.find('/') + 1);
  if (found.starts_with(stem)) {
    return node.fail(fmt::format("\"{}\" is another version", found),
                     fmt::format("this Allot reads \"{}\"", schema));
  }
  return node.fail(fmt::format("\"{}\" where \"{}\" is needed", found, schema),
                   "give the right kind of file");
}

}  // namespace allot
