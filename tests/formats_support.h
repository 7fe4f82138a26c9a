// What tests of files share: reading that must succeed, and comparison to the last bit.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <string>
#include <vector>

#include "allot/formats.h"
#include "base/file_io.h"

namespace allot {

inline ReadOptions forced(Format format) {
  ReadOptions options;
  options.format = format;
  return options;
}

inline ReadOptions inUnit(const char* unit) {
  ReadOptions options;
  options.time_unit = unit;
  return options;
}

inline ReadOptions merging() {
  ReadOptions options;
  options.merge_edges = true;
  return options;
}

inline std::string textOf(const std::string& path) {
  auto text = readFile(path);
  EXPECT_TRUE(text) << text.error().text();
  return text ? *text : std::string();
}

inline std::string data(const std::string& name) {
  return textOf(std::string(ALLOT_SOURCE_DIR) + "/tests/data/" + name);
}

inline Problem problemOf(const std::string& text, const ReadOptions& options = {},
                         const Cluster* cluster = nullptr) {
  Warnings warnings;
  auto problem = readProblem(text, "file", options, cluster, warnings);
  EXPECT_TRUE(problem) << problem.error().text();
  return problem ? std::move(*problem) : Problem();
}

inline GraphFile graphOf(const std::string& text, const ReadOptions& options = {}) {
  Warnings warnings;
  auto graph = readGraph(text, "file", options, warnings);
  EXPECT_TRUE(graph) << graph.error().text();
  return graph ? std::move(*graph) : GraphFile();
}

inline Cluster clusterOf(const std::string& text) {
  Warnings warnings;
  auto cluster = readCluster(text, "file", warnings);
  EXPECT_TRUE(cluster) << cluster.error().text();
  return cluster ? std::move(*cluster) : Cluster();
}

// Equal to the last bit, NaN included.
inline void expectSameBits(const std::vector<double>& a, const std::vector<double>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(std::bit_cast<std::uint64_t>(a[i]), std::bit_cast<std::uint64_t>(b[i]))
        << i << ": " << a[i] << " and " << b[i];
  }
}

inline void expectSameGraph(const OpGraph& a, const OpGraph& b) {
  EXPECT_EQ(a.op_name, b.op_name);
  ASSERT_EQ(a.opCount(), b.opCount());
  for (std::size_t i = 0; i < a.opCount(); ++i)
    EXPECT_EQ(a.type_name[a.op_type[i]], b.type_name[b.op_type[i]]);
  EXPECT_EQ(a.op_model, b.op_model);
  EXPECT_EQ(a.op_phase, b.op_phase);
  EXPECT_EQ(a.op_group, b.op_group);
  EXPECT_EQ(a.op_memory_bytes, b.op_memory_bytes);
  EXPECT_EQ(a.op_weight_bytes, b.op_weight_bytes);
  EXPECT_EQ(a.op_workspace_bytes, b.op_workspace_bytes);
  EXPECT_EQ(a.op_activation_bytes, b.op_activation_bytes);
  EXPECT_EQ(a.op_read_bytes, b.op_read_bytes);
  EXPECT_EQ(a.op_written_bytes, b.op_written_bytes);
  EXPECT_EQ(a.op_data_type, b.op_data_type);
  EXPECT_EQ(a.op_cost_unknown, b.op_cost_unknown);
  EXPECT_EQ(a.group_name, b.group_name);
  EXPECT_EQ(a.model_name, b.model_name);
  EXPECT_EQ(a.tensor_producer, b.tensor_producer);
  EXPECT_EQ(a.tensor_bytes, b.tensor_bytes);
  EXPECT_EQ(a.tensor_consumers.begin, b.tensor_consumers.begin);
  EXPECT_EQ(a.tensor_consumers.items, b.tensor_consumers.items);
  EXPECT_EQ(a.block_name, b.block_name);
  EXPECT_EQ(a.block_bytes, b.block_bytes);
  EXPECT_EQ(a.block_readers.begin, b.block_readers.begin);
  EXPECT_EQ(a.block_readers.items, b.block_readers.items);
  EXPECT_EQ(a.input_bytes, b.input_bytes);
  EXPECT_EQ(a.input_readers.begin, b.input_readers.begin);
  EXPECT_EQ(a.input_readers.items, b.input_readers.items);
  EXPECT_EQ(a.order_hint, b.order_hint);
  expectSameBits(a.op_flops, b.op_flops);
}

inline void expectSameProblem(const Problem& a, const Problem& b) {
  expectSameGraph(a.graph, b.graph);
  expectSameBits(a.op_seconds, b.op_seconds);
  expectSameBits(a.model_weight, b.model_weight);
  expectSameBits(a.model_release, b.model_release);
  expectSameBits(a.tensor_seconds, b.tensor_seconds);
  expectSameBits(a.matrices, b.matrices);
  EXPECT_EQ(a.tensor_matrix, b.tensor_matrix);
  EXPECT_EQ(a.constraints.pin, b.constraints.pin);
  EXPECT_EQ(a.constraints.forbid, b.constraints.forbid);
  EXPECT_EQ(a.constraints.together, b.constraints.together);
  EXPECT_EQ(a.constraints.order, b.constraints.order);
  EXPECT_EQ(writeProblem(a), writeProblem(b));
}

inline OpId opNamed(const OpGraph& graph, std::string_view name) {
  const auto found = std::find(graph.op_name.begin(), graph.op_name.end(), name);
  EXPECT_NE(found, graph.op_name.end()) << name;
  return OpId(static_cast<std::size_t>(found - graph.op_name.begin()));
}

inline std::vector<std::string> consumerNames(const OpGraph& graph, std::size_t tensor) {
  std::vector<std::string> names;
  for (const OpId op : graph.tensor_consumers[tensor]) names.push_back(graph.op_name[op.index()]);
  return names;
}

}  // namespace allot
