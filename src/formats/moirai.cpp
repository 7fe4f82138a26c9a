// moirai-v1: every device has times of its own, every edge a matrix of transfer times.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "formats/foreign_parts.h"

namespace allot {
namespace {

class Reader {
 public:
  Reader(const JsonNode& root, const ReadOptions& options) : root_(root), options_(options) {}

  Result<Problem> read() {
    ALLOT_TRY(problem_.name, documentName(root_));
    ALLOT_TRY(factor_, namedTimeUnit(root_, options_, 1e-3));
    ALLOT_TRY(const JsonNode devices, root_.at("devices"));
    ALLOT_CHECK(devices.forEach([&](const JsonNode& node) { return readDevice(node, devices); }));
    if (problem_.deviceCount() == 0) return devices.fail("there are no devices", "give at least one device");
    ALLOT_TRY(const JsonNode nodes, root_.at("nodes"));
    ALLOT_CHECK(nodes.forEach([&](const JsonNode& node) { return readNode(node); }));
    if (ids_.size() == 0) return nodes.fail("there are no nodes", "give at least one node");
    ALLOT_TRY(const JsonNode edges, root_.at("edges"));
    ALLOT_CHECK(edges.forEach([&](const JsonNode& edge) { return readEdge(edge); }));
    for (Transfer& transfer : transfers_) addTensor(transfer);
    problem_.modes.goal = Goal::kLatency;
    ALLOT_CHECK(problem_.finish());
    return std::move(problem_);
  }

 private:
  struct Transfer {
    OpId producer;
    std::vector<OpId> consumers;
    std::vector<double> matrix;
  };

  const JsonNode& root_;
  const ReadOptions& options_;
  double factor_ = 1;
  Problem problem_;
  ForeignNodes ids_;
  EdgeSet edges_;
  std::vector<Transfer> transfers_;
  // With merge_edges: the transfer of a producer that has this matrix.
  std::map<std::pair<OpId, std::vector<double>>, std::size_t> merged_;

  Result<void> readDevice(const JsonNode& node, const JsonNode& list) {
    Cluster& cluster = problem_.cluster;
    const std::size_t index = cluster.deviceCount();
    if (index >= static_cast<std::size_t>(kMaxForeignDevices)) {
      return list.fail("so many devices are absurd", fmt::format("use at most {}", kMaxForeignDevices));
    }
    ALLOT_CHECK(node.object());
    if (node.has("id")) {
      ALLOT_TRY(const JsonNode id, node.at("id"));
      ALLOT_TRY(const std::int64_t number, id.integer());
      if (number != static_cast<std::int64_t>(index)) {
        return id.fail(fmt::format("device {} at position {}", number, index),
                       "list the devices as 0, 1, 2, ...: times follow this order");
      }
    }
    Device device{fmt::format("dev{}", index), ClassId(index), std::nullopt, HostId()};
    if (node.has("memory")) {
      ALLOT_TRY(const JsonNode memory, node.at("memory"));
      if (!memory.isNull()) {
        ALLOT_TRY(device.memory_bytes, memory.bytes());
      }
    }
    cluster.classes.push_back({.name = device.name});
    cluster.devices.push_back(std::move(device));
    return {};
  }

  Result<void> readNode(const JsonNode& node) {
    ALLOT_TRY(const JsonNode id, node.at("id"));
    ALLOT_TRY(const OpId op, ids_.add(id, problem_.graph));
    ALLOT_TRY(const JsonNode times, node.at("time"));
    std::size_t count = 0;
    ALLOT_CHECK(times.forEach([&](const JsonNode& item) -> Result<void> {
      ++count;
      double seconds = kCannotRun;
      if (!item.isNull()) {
        ALLOT_TRY(seconds, scaledSeconds(item, factor_));
      }
      problem_.op_seconds.push_back(seconds);
      return {};
    }));
    if (count != problem_.deviceCount()) {
      return times.fail(fmt::format("{} times for {} devices", count, problem_.deviceCount()),
                        "give one time per device, null where it cannot run");
    }
    if (node.has("mem")) {
      ALLOT_TRY(const JsonNode memory, node.at("mem"));
      ALLOT_TRY(problem_.graph.op_memory_bytes[op.index()], memory.bytes());
    }
    return {};
  }

  Result<std::vector<double>> readMatrix(const JsonNode& node) const {
    const std::size_t devices = problem_.deviceCount();
    std::vector<double> matrix;
    std::size_t rows = 0;
    ALLOT_CHECK(node.forEach([&](const JsonNode& row) -> Result<void> {
      ++rows;
      ALLOT_CHECK(row.forEach([&](const JsonNode& cell) -> Result<void> {
        ALLOT_TRY(const double seconds, scaledSeconds(cell, factor_));
        matrix.push_back(seconds);
        return {};
      }));
      if (matrix.size() == rows * devices) return {};
      return row.fail(fmt::format("{} times for {} devices", matrix.size() - (rows - 1) * devices, devices),
                      "give one per device");
    }));
    if (rows != devices)
      return node.fail(fmt::format("{} rows for {} devices", rows, devices), "give one row per device");
    return matrix;
  }

  Result<void> readEdge(const JsonNode& edge) {
    ALLOT_TRY(const JsonNode source, edge.at("src"));
    ALLOT_TRY(const JsonNode target, edge.at("dst"));
    ALLOT_TRY(const auto ends, ids_.ends(source, target));
    ALLOT_CHECK(edges_.add(edge, ends.first, ends.second));
    ALLOT_TRY(const JsonNode time, edge.at("time"));
    ALLOT_TRY(std::vector<double> matrix, readMatrix(time));
    if (options_.merge_edges) {
      const auto [entry, fresh] = merged_.emplace(std::pair{ends.first, matrix}, transfers_.size());
      if (!fresh) {
        transfers_[entry->second].consumers.push_back(ends.second);
        return {};
      }
    }
    transfers_.push_back({ends.first, {ends.second}, std::move(matrix)});
    return {};
  }

  void addTensor(Transfer& transfer) {
    const std::size_t devices = problem_.deviceCount();
    bool all_zero = true;
    for (std::size_t cell = 0; cell < transfer.matrix.size(); ++cell) {
      const bool same_device = cell / devices == cell % devices;
      all_zero = all_zero && (same_device || transfer.matrix[cell] == 0);
    }
    std::sort(transfer.consumers.begin(), transfer.consumers.end());
    problem_.addTensor(transfer.producer, transfer.consumers, 0, all_zero ? 0.0 : std::nan(""));
    if (all_zero) return;
    problem_.tensor_matrix.back() = static_cast<std::int32_t>(problem_.matrices.size() / (devices * devices));
    problem_.matrices.insert(problem_.matrices.end(), transfer.matrix.begin(), transfer.matrix.end());
  }
};

}  // namespace

Result<Problem> readMoirai(const JsonNode& root, const ReadOptions& options, Warnings&) {
  return Reader(root, options).read();
}

}  // namespace allot
