// Graphs of msr-fiddle/dnn-partitioning: k accelerators and l CPU cores, times in milliseconds, one transfer
// cost per node.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "formats/foreign_parts.h"

namespace allot {
namespace {

constexpr ClassId kAcc{std::size_t{0}}, kCpu{std::size_t{1}};
// Costs of edges that leave one node carry the same tensor; files may differ in the last digits only.
constexpr double kCostTolerance = 1e-6;

Result<bool> flagAt(const JsonNode& node, std::string_view key, bool absent) {
  if (!node.has(key)) return absent;
  ALLOT_TRY(const JsonNode child, node.at(key));
  return child.boolean();
}

class Reader {
 public:
  Reader(const JsonNode& root, double factor) : root_(root), factor_(factor) {}

  Result<Problem> read() {
    ALLOT_TRY(problem_.name, documentName(root_));
    ALLOT_CHECK(readDevices());
    ALLOT_TRY(const JsonNode nodes, root_.at("nodes"));
    ALLOT_CHECK(nodes.forEach([&](const JsonNode& node) { return readNode(node); }));
    if (ids_.size() == 0) return nodes.fail("there are no nodes", "give at least one node");
    out_.resize(ids_.size());
    ALLOT_TRY(const JsonNode edges, root_.at("edges"));
    ALLOT_CHECK(edges.forEach([&](const JsonNode& edge) { return readEdge(edge); }));
    for (std::size_t i = 0; i < out_.size(); ++i) {
      auto& [consumers, cost] = out_[i];
      if (consumers.empty()) continue;
      std::sort(consumers.begin(), consumers.end());
      consumers.erase(std::unique(consumers.begin(), consumers.end()), consumers.end());
      problem_.addTensor(OpId(i), consumers, 0, toSeconds(cost, factor_));
    }
    problem_.modes.goal = Goal::kThroughput;
    ALLOT_CHECK(problem_.finish());
    return std::move(problem_);
  }

 private:
  struct Output {
    std::vector<OpId> consumers;
    double cost = 0;  // in the file's unit
  };

  const JsonNode& root_;
  double factor_;
  Problem problem_;
  ForeignNodes ids_;
  std::unordered_map<std::string, GroupId> groups_;
  std::vector<Output> out_;

  Result<void> readDevices() {
    Cluster& cluster = problem_.cluster;
    cluster.classes = {{.name = "acc"}, {.name = "cpu", .kind = DeviceKind::kCpu}};
    ALLOT_TRY(const std::int64_t accelerators, deviceTally(root_, "maxFPGAs"));
    ALLOT_TRY(const std::int64_t cpus, deviceTally(root_, "maxCPUs"));
    if (accelerators + cpus == 0)
      return root_.fail("there are no devices", "set maxFPGAs or maxCPUs above 0");
    if (accelerators + cpus > kMaxForeignDevices) {
      return root_.fail(fmt::format("{} devices are absurd", accelerators + cpus),
                        fmt::format("use at most {}", kMaxForeignDevices));
    }
    std::optional<std::int64_t> memory;
    if (accelerators > 0) {
      ALLOT_TRY(const JsonNode node, root_.at("maxSizePerFPGA"));
      ALLOT_TRY(memory, node.bytes());
    }
    addDevices(cluster, kAcc, "acc", accelerators, memory);
    addDevices(cluster, kCpu, "cpu", cpus, std::nullopt);
    return {};
  }

  Result<void> readNode(const JsonNode& node) {
    OpGraph& graph = problem_.graph;
    ALLOT_TRY(const JsonNode id, node.at("id"));
    ALLOT_TRY(const OpId op, ids_.add(id, graph));
    ALLOT_TRY(const bool supported, flagAt(node, "supportedOnFpga", true));
    double acc_seconds = kCannotRun;
    if (supported) {
      ALLOT_TRY(const JsonNode time, node.at("fpgaLatency"));
      ALLOT_TRY(acc_seconds, scaledSeconds(time, factor_));
    }
    ALLOT_TRY(const JsonNode time, node.at("cpuLatency"));
    ALLOT_TRY(const double cpu_seconds, scaledSeconds(time, factor_));
    problem_.op_seconds.push_back(acc_seconds);
    problem_.op_seconds.push_back(cpu_seconds);
    if (node.has("size")) {
      ALLOT_TRY(const JsonNode size, node.at("size"));
      ALLOT_TRY(graph.op_memory_bytes[op.index()], size.bytes());
    }
    ALLOT_TRY(const bool backward, flagAt(node, "isBackwardNode", false));
    if (backward) graph.op_phase[op.index()] = Phase::kBackward;
    return readColour(node, op);
  }

  Result<void> readColour(const JsonNode& node, OpId op) {
    if (!node.has("colorClass")) return {};
    ALLOT_TRY(const JsonNode colour, node.at("colorClass"));
    if (colour.isNull()) return {};
    ALLOT_TRY(const std::string label, colour.label());
    OpGraph& graph = problem_.graph;
    const auto [entry, fresh] = groups_.emplace(label, GroupId(graph.group_name.size()));
    if (fresh) graph.group_name.push_back(label);
    graph.op_group[op.index()] = entry->second;
    return {};
  }

  Result<void> readEdge(const JsonNode& edge) {
    ALLOT_TRY(const JsonNode source, edge.at("sourceId"));
    ALLOT_TRY(const JsonNode target, edge.at("destId"));
    ALLOT_TRY(const auto ends, ids_.ends(source, target));
    ALLOT_TRY(const JsonNode cost_node, edge.at("cost"));
    ALLOT_CHECK(scaledSeconds(cost_node, factor_));
    ALLOT_TRY(const double cost, cost_node.nonNegative());
    Output& out = out_[ends.first.index()];
    if (out.consumers.empty()) {
      out.cost = cost;
    } else if (std::fabs(cost - out.cost) > kCostTolerance) {
      return cost_node.fail(
          fmt::format("node \"{}\" sends its output for {} here and for {} on an earlier edge",
                      problem_.graph.op_name[ends.first.index()], cost, out.cost),
          "give all edges that leave one node the same cost");
    }
    out.consumers.push_back(ends.second);
    return {};
  }
};

}  // namespace

Result<Problem> readDnnPartitioning(const JsonNode& root, const ReadOptions& options, Warnings&) {
  ALLOT_TRY(const double factor, timeUnitFactor(options, 1e-3));
  return Reader(root, factor).read();
}

}  // namespace allot
