// What ONNX models say of memory: blocks of shared weights, model inputs, live memory and the reference
// order.
#include <gtest/gtest.h>

#include <cstring>
#include <map>

#include "formats/onnx/same_content.h"
#include "graph/memory_order.h"
#include "onnx_support.h"

namespace allot {
namespace {

using namespace onnx_test;

GraphFile read(const GraphParts& parts) {
  return graphOf(model(parts));
}

// Blocks by name: bytes, and the names of their readers.
std::map<std::string, std::pair<std::int64_t, std::vector<std::string>>> blocksOf(const OpGraph& graph) {
  std::map<std::string, std::pair<std::int64_t, std::vector<std::string>>> blocks;
  for (std::size_t b = 0; b < graph.block_bytes.size(); ++b) {
    auto& [bytes, readers] = blocks[graph.block_name[b]];
    bytes = graph.block_bytes[b];
    for (const OpId op : graph.block_readers[b]) readers.push_back(graph.op_name[op.index()]);
  }
  return blocks;
}

// Two products by weights n x n, the second by what `second` says.
GraphParts twoProducts(std::int64_t n, const std::string& second = "w") {
  return {.nodes = {node("MatMul", {"x", "w"}, {"h"}, {.name = "one"}),
                    node("Relu", {"h"}, {"r"}, {.name = "between"}),
                    node("MatMul", {"r", second}, {"y"}, {.name = "two"})},
          .initializers = {tensor("w", kFloat, {n, n})},
          .inputs = {valueInfo("x", kFloat, {1, n})},
          .outputs = {valueInfo("y", kFloat, {1, n})},
          .value_info = {valueInfo("h", kFloat, {1, n}), valueInfo("r", kFloat, {1, n})}};
}

using Readers = std::vector<std::string>;

TEST(OnnxMemory, SharedWeightsAreBlocksOfAnySize) {
  for (const std::int64_t n : {2, 100, 1000}) {
    const OpGraph graph = read(twoProducts(n)).graph;
    const auto blocks = blocksOf(graph);
    ASSERT_EQ(blocks.size(), 1u);
    EXPECT_EQ(blocks.at("w"), std::pair(n * n * 4, Readers({"one", "two"})));
    EXPECT_EQ(weightsOf(graph, "one"), 0);
    EXPECT_EQ(weightsOf(graph, "two"), 0);
    EXPECT_TRUE(graph.group_name.empty());  // nothing forces them onto one device
  }
}

TEST(OnnxMemory, AMaskThatManyOpsReadIsOneBlock) {
  GraphParts net{.initializers = {tensor("mask", kFloat, {500, 500})},
                 .inputs = {valueInfo("x", kFloat, {500, 500})},
                 .outputs = {valueInfo("x6", kFloat, {500, 500})}};
  for (int i = 0; i < 6; ++i)
    net.nodes.push_back(node("Add", {i == 0 ? "x" : "x" + std::to_string(i), "mask"},
                             {"x" + std::to_string(i + 1)}, {.name = "layer" + std::to_string(i)}));
  const OpGraph graph = read(net).graph;
  ASSERT_EQ(graph.block_bytes, std::vector<std::int64_t>{1'000'000});
  EXPECT_EQ(graph.block_readers[0].size(), 6u);
}

TEST(OnnxMemory, WhatIsOnlyMovedCastOrUnpackedIsTheSameBlock) {
  for (const char* op : {"Identity", "Transpose", "Cast"}) {
    GraphParts net = twoProducts(100, "v");
    NodeParts parts;
    if (std::string(op) == "Cast") parts.attributes = {attribute("to", kFloat)};
    net.nodes.insert(net.nodes.begin(), node(op, {"w"}, {"v"}, parts));
    const auto blocks = blocksOf(read(net).graph);
    ASSERT_EQ(blocks.size(), 1u) << op;
    EXPECT_EQ(blocks.at("w"), std::pair(std::int64_t{40'000}, Readers({"one", "two"}))) << op;
  }
}

TEST(OnnxMemory, ACastBlockTakesWhatItsLargerFormTakes) {
  GraphParts net = twoProducts(100, "v");
  net.nodes[0] = node("Gather", {"w", "i"}, {"h"}, {.name = "one"});
  net.nodes.insert(net.nodes.begin(), node("Cast", {"w"}, {"v"}, {.attributes = {attribute("to", kFloat)}}));
  net.nodes[2] = node("Cast", {"h"}, {"r"}, {.name = "between", .attributes = {attribute("to", kFloat)}});
  net.initializers = {tensor("w", kFloat16, {100, 100})};
  net.inputs = {valueInfo("i", kInt64, {1})};
  net.value_info = {valueInfo("h", kFloat16, {1, 100}), valueInfo("r", kFloat, {1, 100})};
  const auto blocks = blocksOf(read(net).graph);
  ASSERT_EQ(blocks.size(), 1u);
  EXPECT_EQ(blocks.at("w"), std::pair(std::int64_t{40'000}, Readers({"one", "two"})));
}

TEST(OnnxMemory, QuantisedWeightsAreShared) {
  GraphParts net = twoProducts(100, "v2");
  net.nodes[0] = node("MatMul", {"x", "v1"}, {"h"}, {.name = "one"});
  for (const char* made : {"v1", "v2"})
    net.nodes.insert(net.nodes.begin(), node("DequantizeLinear", {"w", "scale"}, {made}));
  net.initializers = {tensor("w", kInt8, {100, 100}), tensor("scale", kFloat, {})};
  const auto blocks = blocksOf(read(net).graph);
  ASSERT_EQ(blocks.size(), 1u);
  EXPECT_EQ(blocks.at("w"), std::pair(std::int64_t{10'004}, Readers({"one", "two"})));
}

std::string bytesOf(std::size_t floats, float value) {
  std::vector<float> data(floats, value);
  data.back() = 7;
  std::string text(4 * floats, '\0');
  std::memcpy(text.data(), data.data(), text.size());
  return text;
}

TEST(OnnxMemory, TheSameContentTwiceIsOneBlock) {
  GraphParts net = twoProducts(100, "copy");
  net.initializers = {tensor("w", kFloat, {100, 100}, bytesOf(10'000, 1)),
                      tensor("copy", kFloat, {100, 100}, bytesOf(10'000, 1))};
  const auto blocks = blocksOf(read(net).graph);
  ASSERT_EQ(blocks.size(), 1u);
  EXPECT_EQ(blocks.at("w").first, 40'000);
  // Other content, however alike at the places that are sampled, is another block.
  std::string other = bytesOf(10'000, 1);
  other[1000] ^= 1;
  net.initializers.back() = tensor("copy", kFloat, {100, 100}, other);
  const OpGraph graph = read(net).graph;
  EXPECT_TRUE(graph.block_bytes.empty());
  EXPECT_EQ(weightsOf(graph, "one") + weightsOf(graph, "two"), 80'000);
}

TEST(OnnxMemory, ARangeOfAnExternalFileIsTheSameContent) {
  onnx::Tensor a;
  a.type = onnx::ElementType::kFloat;
  a.dims = {1000};
  a.external = true;
  a.location = "w.bin";
  onnx::Tensor b = a, c = a, d = a;
  b.location = "./w.bin";
  c.offset = 4000;
  d.location = "v.bin";
  const onnx::Tensor* const all[] = {&a, &b, &c, &d};
  EXPECT_EQ(onnx::firstWithSameContent(all), (std::vector<std::uint32_t>{0, 0, 2, 3}));
}

TEST(OnnxMemory, InputsAreReadWhereTheyAreNeeded) {
  GraphParts net = smallNet();
  net.nodes.push_back(node("Add", {"y", "x2"}, {"z"}, {.name = "late"}));
  net.inputs.push_back(valueInfo("x2", kFloat, {2, 4}));
  net.inputs.push_back(valueInfo("unread", kFloat, {1000}));
  net.inputs.push_back(valueInfo("b", kFloat, {4}));  // an initialiser too
  net.outputs = {valueInfo("z", kFloat, {2, 4})};
  const GraphFile file = read(net);
  EXPECT_EQ(file.graph.input_bytes, (std::vector<std::int64_t>{64, 32}));
  ASSERT_EQ(file.graph.modelInputs(opNamed(file.graph, "late")).size(), 1u);
  EXPECT_EQ(file.graph.modelInputs(opNamed(file.graph, "product")).size(), 1u);
  EXPECT_EQ(file.graph.modelInputs(opNamed(file.graph, "bias")).size(), 0u);
}

TEST(OnnxMemory, LiveIsTheDefaultAndTheGraphFileKeepsIt) {
  const GraphFile file = read(smallNet());
  EXPECT_EQ(file.memory, MemoryModel::kLive);
  const GraphFile again = graphOf(writeGraph(file));
  EXPECT_EQ(again.memory, MemoryModel::kLive);
  expectSameGraph(file.graph, again.graph);
  EXPECT_EQ(again.graph.order_hint.size(), 3u);
  const Cluster cluster =
      clusterOf(R"({"schema": "allot.cluster/1", "classes": [{"name": "t4", "device": "t4"}],
    "devices": [{"name": "g", "class": "t4"}]})");
  Problem problem = problemOf(writeGraph(file), {}, &cluster);
  EXPECT_TRUE(problem.liveMemory());
  EXPECT_EQ(problem.residentBytes(OpId(0)), 128);
  Modes calls;
  calls.goal = Goal::kLatency;
  calls.model = LatencyModel::kSubgraphCalls;
  ASSERT_TRUE(problem.setModes(calls));
  EXPECT_FALSE(problem.liveMemory());
}

// k branches, each a wide tensor that shrinks: declared side by side, they are best run one after another.
GraphParts branches(int count) {
  GraphParts net{.inputs = {valueInfo("x", kFloat, {1, 4})}, .outputs = {valueInfo("y", kFloat, {1, 4})}};
  Names ends;
  for (int i = 0; i < count; ++i) {
    const std::string wide = "w" + std::to_string(i);
    net.initializers.push_back(tensor("up" + std::to_string(i), kFloat, {4, 1000}));
    net.nodes.push_back(node("MatMul", {"x", "up" + std::to_string(i)}, {wide}));
    net.value_info.push_back(valueInfo(wide, kFloat, {1, 1000}));
  }
  for (int i = 0; i < count; ++i) {
    const std::string narrow = "n" + std::to_string(i);
    net.initializers.push_back(tensor("down" + std::to_string(i), kFloat, {1000, 4}));
    net.nodes.push_back(node("MatMul", {"w" + std::to_string(i), "down" + std::to_string(i)}, {narrow}));
    net.value_info.push_back(valueInfo(narrow, kFloat, {1, 4}));
    ends.push_back(narrow);
  }
  net.nodes.push_back(node("Sum", ends, {"y"}));
  return net;
}

TEST(OnnxMemory, TheOrderHintHoldsLittle) {
  const OpGraph graph = read(branches(8)).graph;
  std::vector<OpId> declared;
  for (std::size_t i = 0; i < graph.opCount(); ++i) declared.push_back(OpId(i));
  EXPECT_EQ(livePeak(graph, declared), 16 + 8 * 4000);
  EXPECT_EQ(livePeak(graph, graph.referenceOrder()), 16 + 7 * 16 + 4000);
}

}  // namespace
}  // namespace allot
