#include "formats/foreign_parts.h"

#include <fmt/format.h>

#include <cmath>

namespace allot {

Result<double> scaledSeconds(const JsonNode& node, double factor) {
  ALLOT_TRY(const double value, node.nonNegative());
  const double seconds = toSeconds(value, factor);
  if (seconds > kMaxSeconds)
    return node.fail(fmt::format("time {} s is absurd", seconds),
                     "check the number, or the unit with --time-unit");
  return seconds;
}

Result<double> namedTimeUnit(const JsonNode& root, const ReadOptions& options, double standard) {
  if (!options.time_unit && root.has("time_unit")) {
    ALLOT_TRY(const JsonNode node, root.at("time_unit"));
    ALLOT_TRY(const std::string_view unit, node.string());
    // Converters append remarks, as in "ms (assumed)".
    const std::string_view word = unit.substr(0, unit.find(' '));
    if (word == "ms") return 1e-3;
    if (word == "us") return 1e-6;
    if (word == "s" || word == "abstract") return 1.0;
    return node.fail(fmt::format("unknown unit \"{}\"", unit),
                     "use \"ms\", \"us\", \"s\" or \"abstract\", or say it with --time-unit");
  }
  return timeUnitFactor(options, standard);
}

Result<double> roundedBytes(const JsonNode& node) {
  ALLOT_TRY(const double value, node.nonNegative());
  if (value > static_cast<double>(kMaxBytes))
    return node.fail(fmt::format("size {} is absurd", value), "write a size in bytes");
  return std::ceil(value);
}

Result<std::string> documentName(const JsonNode& root) {
  if (!root.has("name")) return std::string();
  ALLOT_TRY(const JsonNode node, root.at("name"));
  return node.label();
}

Result<std::int64_t> deviceTally(const JsonNode& root, std::string_view key) {
  ALLOT_TRY(const JsonNode node, root.at(key));
  ALLOT_TRY(const std::int64_t count, node.integer());
  if (count < 0) return node.fail(fmt::format("{} is negative", count), "write a number of 0 or more");
  if (count > kMaxForeignDevices) {
    return node.fail(fmt::format("{} devices are absurd", count),
                     fmt::format("use at most {}", kMaxForeignDevices));
  }
  return count;
}

void addDevices(Cluster& cluster, ClassId cls, std::string_view prefix, std::int64_t count,
                std::optional<std::int64_t> memory_bytes) {
  for (std::int64_t i = 0; i < count; ++i) {
    cluster.devices.push_back({fmt::format("{}{}", prefix, i), cls, memory_bytes, HostId()});
  }
}

Result<OpId> ForeignNodes::add(const JsonNode& id_node, OpGraph& graph) {
  ALLOT_TRY(const std::string id, id_node.label());
  if (!ops_.emplace(id, OpId(graph.opCount())).second) {
    return id_node.fail(fmt::format("node \"{}\" is there twice", id), "give each node its own id");
  }
  return graph.addOp(id);
}

Result<OpId> ForeignNodes::find(const JsonNode& id_node) const {
  ALLOT_TRY(const std::string id, id_node.label());
  const auto found = ops_.find(id);
  if (found != ops_.end()) return found->second;
  return id_node.fail(fmt::format("unknown node \"{}\"", id), "name the id of one of \"nodes\"");
}

Result<std::pair<OpId, OpId>> ForeignNodes::ends(const JsonNode& from, const JsonNode& to) const {
  ALLOT_TRY(const OpId source, find(from));
  ALLOT_TRY(const OpId target, find(to));
  if (source == target) return to.fail("an edge from a node to itself", "remove the self loop");
  return std::pair{source, target};
}

Result<void> EdgeSet::add(const JsonNode& edge, OpId from, OpId to) {
  const std::uint64_t pair = (static_cast<std::uint64_t>(from.value) << 32) | to.value;
  if (seen_.insert(pair).second) return {};
  return edge.fail("the edge is there twice", "leave one of them out");
}

}  // namespace allot
