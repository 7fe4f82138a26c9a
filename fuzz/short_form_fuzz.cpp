#include <algorithm>

#include "allot/catalogue.h"
#include "support.h"

// The first line is the list of devices, the second the link.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace allot;
  const std::string_view text = fuzz::textOf(data, size);
  const std::size_t line_break = std::min(text.find('\n'), text.size());
  const std::string_view link = line_break < text.size() ? text.substr(line_break + 1) : std::string_view();
  const auto cluster = clusterFromShortForm(text.substr(0, line_break), link);
  if (!cluster) {
    fuzz::require(!cluster.error().message.empty() && !cluster.error().remedy.empty(),
                  "an error has a remedy");
    fuzz::require(cluster.error().text().find('\n') == std::string::npos, "an error is one line");
    return 0;
  }
  Warnings warnings;
  const auto again = readCluster(clusterYaml(*cluster, {}), "input", warnings);
  fuzz::require(again.has_value(), "the commented file can be read");
  fuzz::require(writeCluster(*again) == writeCluster(*cluster), "the commented file means the same cluster");
  return 0;
}
