// Parts that the readers of foreign formats share: numbers in the file's own unit, nodes named by id, counts
// of devices.
#pragma once

#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/json_reader.h"
#include "formats/foreign.h"

namespace allot {

// Foreign files give a count, not a list, so that one wrong digit could ask for gigabytes of tables.
inline constexpr std::int64_t kMaxForeignDevices = 4096;

// A number in the file's unit of time, turned into seconds; never negative, never absurd.
Result<double> scaledSeconds(const JsonNode& node, double factor);
// Value of a number in a unit of `factor` seconds. Divides, because 0.539 / 1000 is the double next to
// 0.000539 and 0.539 * 0.001 is not.
inline double toSeconds(double value, double factor) {
  return factor == 1 ? value : value / (1 / factor);
}

// The unit that the file names in `time_unit` ("ms", "s", "us" or "abstract" = s), overridden by the options.
Result<double> namedTimeUnit(const JsonNode& root, const ReadOptions& options, double standard);

// A size that need not be whole, rounded up.
Result<double> roundedBytes(const JsonNode& node);

// `name` of the document, or "".
Result<std::string> documentName(const JsonNode& root);

// A count of devices between 0 and kMaxForeignDevices.
Result<std::int64_t> deviceTally(const JsonNode& root, std::string_view key);

void addDevices(Cluster& cluster, ClassId cls, std::string_view prefix, std::int64_t count,
                std::optional<std::int64_t> memory_bytes);

// Ops by the id that the file gives them.
class ForeignNodes {
 public:
  // Adds the op of a node; fails when the id is there already.
  Result<OpId> add(const JsonNode& id_node, OpGraph& graph);
  Result<OpId> find(const JsonNode& id_node) const;
  // Both ends of an edge; a self loop is an error.
  Result<std::pair<OpId, OpId>> ends(const JsonNode& from, const JsonNode& to) const;
  std::size_t size() const { return ops_.size(); }

 private:
  std::unordered_map<std::string, OpId> ops_;
};

// Refuses a second edge between the same ops, where each edge is a transfer of its own.
class EdgeSet {
 public:
  Result<void> add(const JsonNode& edge, OpId from, OpId to);

 private:
  std::unordered_set<std::uint64_t> seen_;
};

}  // namespace allot
