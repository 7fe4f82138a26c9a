// msr-fiddle/piper: layers with times per tensor-parallel degree and variant. Allot takes degree 1 without
// recomputation.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "formats/foreign_parts.h"

namespace allot {
namespace {

// Some public files are in milliseconds without saying so; a sample that takes longer than this is
// suspicious.
constexpr double kSuspiciousSeconds = 10;

class Reader {
 public:
  Reader(const JsonNode& root, double factor) : root_(root), factor_(factor) {}

  Result<Problem> read() {
    ALLOT_TRY(problem_.name, documentName(root_));
    ALLOT_CHECK(readDevices());
    ALLOT_CHECK(checkBatch());
    ALLOT_TRY(const JsonNode nodes, root_.at("nodes"));
    ALLOT_CHECK(nodes.forEach([&](const JsonNode& node) { return readNode(node); }));
    if (ids_.size() == 0) return nodes.fail("there are no nodes", "give at least one node");
    ALLOT_TRY(const JsonNode edges, root_.at("edges"));
    ALLOT_CHECK(edges.forEach([&](const JsonNode& edge) { return readEdge(edge); }));
    problem_.modes.goal = Goal::kThroughput;
    ALLOT_CHECK(problem_.finish());
    return std::move(problem_);
  }

 private:
  const JsonNode& root_;
  double factor_;
  Problem problem_;
  ForeignNodes ids_;
  EdgeSet edges_;

  Result<void> readDevices() {
    Cluster& cluster = problem_.cluster;
    ALLOT_TRY(const JsonNode count_node, root_.at("maxDevices"));
    ALLOT_TRY(const std::int64_t count, deviceTally(root_, "maxDevices"));
    if (count == 0) return count_node.fail("there are no devices", "set maxDevices above 0");
    ALLOT_TRY(const JsonNode memory_node, root_.at("maxMemoryPerDevice"));
    ALLOT_TRY(const std::int64_t memory, memory_node.bytes());
    cluster.classes = {{.name = "acc"}};
    addDevices(cluster, ClassId(0), "acc", count, memory);
    ALLOT_TRY(const JsonNode bandwidth, root_.at("bandwidth"));
    Link link;
    ALLOT_TRY(link.bandwidth_bytes_per_second, bandwidth.bytesPerSecond());
    cluster.links = {link};
    return {};
  }

  // The batch size bounds replication in Piper's own planner; Allot only checks that it makes sense.
  Result<void> checkBatch() const {
    const std::string_view key = root_.has("maxBatchSize") ? "maxBatchSize" : "mbsInBatch";
    if (!root_.has(key)) return {};
    ALLOT_TRY(const JsonNode node, root_.at(key));
    ALLOT_TRY(const std::int64_t batch, node.integer());
    if (batch < 1)
      return node.fail(fmt::format("batch size {} is not above 0", batch),
                       "write a whole number of 1 or more");
    return {};
  }

  // Calls read(variant) with the one called "vanilla", or the first.
  template <class Fn>
  Result<void> withVariant(const JsonNode& variants, Fn&& read) {
    ALLOT_TRY(const auto items, variants.array());
    if (items.size() == 0) return variants.fail("there is no variant", "give at least \"vanilla\"");
    std::int64_t chosen = 0, index = 0;
    for (const auto element : items) {
      const JsonNode variant = variants.item(index, element);
      ALLOT_CHECK(variant.object());
      std::string_view id;
      if (variant.has("id")) {
        ALLOT_TRY(const JsonNode id_node, variant.at("id"));
        ALLOT_TRY(id, id_node.string());
      }
      if (id == "vanilla") {
        chosen = index;
        break;
      }
      ++index;
    }
    return read(variants.item(chosen, items.at(static_cast<std::size_t>(chosen)).value()));
  }

  Result<void> readNode(const JsonNode& node) {
    ALLOT_TRY(const JsonNode id, node.at("id"));
    ALLOT_TRY(const OpId op, ids_.add(id, problem_.graph));
    ALLOT_TRY(const JsonNode degrees, node.at("TMPCs"));
    ALLOT_TRY(const JsonNode variants, degrees.at("1"));
    return withVariant(variants, [&](const JsonNode& variant) { return readVariant(variant, op.index()); });
  }

  Result<void> readVariant(const JsonNode& variant, std::size_t op) {
    ALLOT_TRY(const JsonNode time, variant.at("timePerSample"));
    ALLOT_TRY(const double seconds, scaledSeconds(time, factor_));
    problem_.op_seconds.push_back(seconds);
    ALLOT_TRY(const JsonNode size_node, variant.at("parameterSize"));
    ALLOT_TRY(const double weights, roundedBytes(size_node));
    ALLOT_TRY(const JsonNode a_node, variant.at("memoryUsageA"));
    ALLOT_TRY(const double a, roundedBytes(a_node));
    ALLOT_TRY(const JsonNode b_node, variant.at("memoryUsageB"));
    ALLOT_TRY(const double b, roundedBytes(b_node));
    const double memory = std::max(0.0, a + b - weights);
    if (memory > static_cast<double>(kMaxBytes))
      return a_node.fail(fmt::format("size {} is absurd", memory), "write sizes in bytes");
    problem_.graph.op_weight_bytes[op] = static_cast<std::int64_t>(weights);
    problem_.graph.op_memory_bytes[op] = static_cast<std::int64_t>(memory);
    return {};
  }

  Result<void> readEdge(const JsonNode& edge) {
    ALLOT_TRY(const JsonNode source, edge.at("sourceId"));
    ALLOT_TRY(const JsonNode target, edge.at("destId"));
    ALLOT_TRY(const auto ends, ids_.ends(source, target));
    ALLOT_CHECK(edges_.add(edge, ends.first, ends.second));
    ALLOT_TRY(const JsonNode cost, edge.at("communicationCost"));
    ALLOT_TRY(const double bytes, roundedBytes(cost));
    const OpId consumer[] = {ends.second};
    problem_.addTensor(ends.first, consumer, static_cast<std::int64_t>(bytes), std::nan(""));
    return {};
  }
};

}  // namespace

Result<Problem> readPiper(const JsonNode& root, const ReadOptions& options, Warnings& warnings) {
  ALLOT_TRY(const double factor, timeUnitFactor(options, 1));
  ALLOT_TRY(Problem problem, Reader(root, factor).read());
  double total = 0;
  for (const double seconds : problem.op_seconds) total += seconds;
  if (!options.time_unit && total > kSuspiciousSeconds) {
    warnings.push_back(fmt::format(
        "the times add up to {:.4g} s per sample; if the file is in milliseconds, say --time-unit ms",
        total));
  }
  return problem;
}

}  // namespace allot
