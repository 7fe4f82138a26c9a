// ONNX models as operator graphs: ops, weights, tensors, groups, functions, bodies and dimensions.
#include <gtest/gtest.h>

#include "onnx_support.h"

namespace allot {
namespace {

using namespace onnx_test;

GraphFile read(const std::string& bytes, const std::map<std::string, std::int64_t>& dims = {}) {
  ReadOptions options;
  options.dims = dims;
  return graphOf(bytes, options);
}

std::string typeOf(const OpGraph& graph, std::string_view op) {
  return graph.type_name[graph.op_type[opNamed(graph, op).index()]];
}

bool together(const OpGraph& graph, std::string_view a, std::string_view b) {
  const GroupId group = graph.op_group[opNamed(graph, a).index()];
  return group.valid() && group == graph.op_group[opNamed(graph, b).index()];
}

TEST(OnnxReader, ReadsASmallNet) {
  const std::string bytes = model(smallNet());
  EXPECT_EQ(recogniseFormat(bytes, "file"), Format::kOnnx);
  const GraphFile file = read(bytes);
  const OpGraph& graph = file.graph;
  EXPECT_EQ(file.name, "net");
  EXPECT_EQ(graph.op_name, (std::vector<std::string>{"product", "bias", "Relu_y"}));
  EXPECT_EQ(typeOf(graph, "product"), "MatMul");
  EXPECT_EQ(weightsOf(graph, "product"), 8 * 4 * 4);
  EXPECT_EQ(weightsOf(graph, "bias"), 4 * 4);
  EXPECT_EQ(weightsOf(graph, "Relu_y"), 0);
  EXPECT_EQ(bytesBetween(graph, "product", "bias"), 2 * 4 * 4);
  EXPECT_EQ(bytesBetween(graph, "bias", "Relu_y"), 2 * 4 * 4);
  // The graph's output is a tensor that no op reads.
  ASSERT_EQ(graph.tensorCount(), 3u);
  EXPECT_EQ(graph.tensor_bytes[2], 2 * 4 * 4);
  EXPECT_TRUE(graph.tensor_consumers[2].empty());
  EXPECT_EQ(graph.op_data_type[0], DataType::kFloat32);
  EXPECT_EQ(graph.op_written_bytes[0], 2 * 4 * 4);
  EXPECT_EQ(graph.op_cost_unknown[0], 0);
  EXPECT_TRUE(file.unknown_shapes.empty());
  EXPECT_EQ(file.op_seconds.size(), 3u);
}

TEST(OnnxReader, WrittenGraphCanBeReadAgain) {
  const GraphFile file = read(model(smallNet()));
  const std::string written = writeGraph(file);
  EXPECT_EQ(writeGraph(graphOf(written)), written);
}

TEST(OnnxReader, GivesReadableUniqueNames) {
  GraphParts net{
      .nodes = {node("Relu", {"x"}, {"a"}, {.name = "r"}), node("Relu", {"a"}, {"b"}, {.name = "r"}),
                node("Relu", {"b"}, {"c"}), node("Relu", {"c"}, {"d"}, {.name = "Relu_c"}),
                node("Relu", {"d"}, {"y"}, {.name = "r_2"})},
      .inputs = {valueInfo("x", kFloat, {4})},
      .outputs = {valueInfo("y", kFloat, {4})}};
  // The names of the file stay; what is repeated or made up gives way to them.
  EXPECT_EQ(read(model(net)).graph.op_name,
            (std::vector<std::string>{"r", "r_3", "Relu_c_2", "Relu_c", "r_2"}));
}

TEST(OnnxReader, SortsNodes) {
  GraphParts net{
      .nodes = {node("Relu", {"b"}, {"y"}, {.name = "last"}), node("Relu", {"a"}, {"b"}, {.name = "mid"}),
                node("Relu", {"x"}, {"a"}, {.name = "first"})},
      .inputs = {valueInfo("x", kFloat, {4})},
      .outputs = {valueInfo("y", kFloat, {4})}};
  EXPECT_EQ(read(model(net)).graph.op_name, (std::vector<std::string>{"first", "mid", "last"}));
}

TEST(OnnxReader, DomainsAreInTheTypes) {
  GraphParts net{.nodes = {node("Odd", {"x"}, {"h"}, {.name = "odd", .domain = "com.example"}),
                           node("Relu", {"h"}, {"y"}, {.name = "relu", .domain = "ai.onnx"})},
                 .inputs = {valueInfo("x", kFloat, {4})},
                 .outputs = {valueInfo("y", kFloat, {4})}};
  const GraphFile file = read(model(net));
  EXPECT_EQ(typeOf(file.graph, "odd"), "com.example:Odd");
  EXPECT_EQ(typeOf(file.graph, "relu"), "Relu");
  EXPECT_EQ(file.graph.op_cost_unknown[0], 1);
  EXPECT_EQ(file.unknown_shapes, std::vector<std::string>{"h"});
}

TEST(OnnxReader, ConstantsBelongToTheirReaders) {
  GraphParts net = smallNet();
  // The weight comes transposed, the bias from a Constant node.
  net.nodes[0] = node("MatMul", {"x", "wt"}, {"h"}, {.name = "product"});
  net.nodes.insert(
      net.nodes.begin(),
      node("Constant", {}, {"b"}, {.attributes = {tensorAttribute("value", tensor("", kFloat, {4}))}}));
  net.nodes.insert(net.nodes.begin(), node("Transpose", {"w"}, {"wt"}));
  net.initializers = {tensor("w", kFloat, {4, 8})};
  net.value_info.push_back(valueInfo("wt", kFloat, {8, 4}));
  const OpGraph graph = read(model(net)).graph;
  EXPECT_EQ(graph.op_name, (std::vector<std::string>{"product", "bias", "Relu_y"}));
  EXPECT_EQ(weightsOf(graph, "product"), 8 * 4 * 4);
  EXPECT_EQ(weightsOf(graph, "bias"), 4 * 4);
}

TEST(OnnxReader, InitialisersThatAreInputsToo) {
  GraphParts net = smallNet();
  net.inputs.push_back(valueInfo("w", kFloat, {8, 4}));
  net.inputs.push_back(valueInfo("b", kFloat, {4}));
  const OpGraph graph = read(model(net)).graph;
  EXPECT_EQ(weightsOf(graph, "product"), 8 * 4 * 4);
  EXPECT_EQ(graph.opCount(), 3u);
}

TEST(OnnxReader, QuantisedWeightsStayQuantised) {
  GraphParts net = smallNet();
  net.nodes[0] = node("MatMul", {"x", "wf"}, {"h"}, {.name = "product"});
  net.nodes.insert(net.nodes.begin(), node("DequantizeLinear", {"w", "scale"}, {"wf"}));
  net.initializers = {tensor("w", kInt8, {8, 4}), tensor("scale", kFloat, {}), tensor("b", kFloat, {4})};
  net.value_info.push_back(valueInfo("wf", kFloat, {8, 4}));
  const OpGraph graph = read(model(net)).graph;
  EXPECT_EQ(graph.opCount(), 3u);
  EXPECT_EQ(weightsOf(graph, "product"), 8 * 4 + 4);
}

TEST(OnnxReader, UnusedNodesAreDropped) {
  GraphParts net = smallNet();
  net.nodes.push_back(node("Relu", {"s"}, {"t"}, {.name = "unread"}));
  net.nodes.push_back(node("Relu", {"t"}, {"u"}, {.name = "unread too"}));
  EXPECT_EQ(read(model(net)).graph.opCount(), 3u);
}

TEST(OnnxReader, ShapesThatFollowFromDimensionsVanish) {
  GraphParts net{.nodes = {node("Relu", {"x"}, {"h"}, {.name = "work"}),
                           node("Shape", {"h"}, {"shape"}, {.name = "shape of h"}),
                           node("Relu", {"h"}, {"g"}, {.name = "more"}),
                           node("Reshape", {"g", "shape"}, {"y"}, {.name = "reshape"})},
                 .inputs = {valueInfo("x", kFloat, {"n", 4})},
                 .outputs = {valueInfo("y", kFloat, {"n", 4})},
                 .value_info = {valueInfo("h", kFloat, {"n", 4}), valueInfo("g", kFloat, {"n", 4})}};
  const OpGraph graph = read(model(net), {{"n", 3}}).graph;
  EXPECT_EQ(graph.op_name, (std::vector<std::string>{"work", "more", "reshape"}));
  EXPECT_EQ(bytesBetween(graph, "work", "more"), 3 * 4 * 4);
  EXPECT_TRUE(graph.group_name.empty());
}

TEST(OnnxReader, ShapesThatDependOnDataStayWithTheirReaders) {
  GraphParts net{.nodes = {node("NonZero", {"x"}, {"found"}, {.name = "find"}),
                           node("Shape", {"found"}, {"shape"}, {.name = "count"}),
                           node("Relu", {"z"}, {"r"}, {.name = "relu"}),
                           node("Expand", {"r", "shape"}, {"y"}, {.name = "expand"})},
                 .inputs = {valueInfo("x", kFloat, {4}), valueInfo("z", kFloat, {1})},
                 .outputs = {valueInfo("y", kFloat, {1, ""})},
                 .value_info = {valueInfo("r", kFloat, {1})}};
  const GraphFile file = read(model(net));
  EXPECT_TRUE(together(file.graph, "count", "expand"));
  EXPECT_FALSE(together(file.graph, "count", "find"));
  EXPECT_FALSE(together(file.graph, "count", "relu"));
  EXPECT_EQ(file.unknown_shapes.size() > 0, true);
}

TEST(OnnxReader, MissingDimensionsAreListedWithTheCommand) {
  GraphParts net{
      .nodes = {node("Relu", {"x"}, {"y"})},
      .inputs = {valueInfo("x", kFloat, {"batch", "sequence", "", 4}), valueInfo("mask", kFloat, {"batch"})},
      .outputs = {valueInfo("y", kFloat, {"batch", "sequence", "", 4})}};
  Warnings warnings;
  const auto failed = readGraph(model(net), "file", {}, warnings);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().text(),
            "file: inputs: dimensions without a value: batch (axis 0 of x), sequence (axis 1 of x), x.2 "
            "(axis 2 of x); "
            "add --dim batch=1 --dim sequence=128 --dim x.2=1");
  const GraphFile file = read(model(net), {{"batch", 2}, {"sequence", 8}, {"x.2", 3}});
  EXPECT_EQ(file.graph.tensor_bytes[0], 2 * 8 * 3 * 4 * 4);
}

TEST(OnnxReader, DimensionsMayBeExpressions) {
  GraphParts net{.nodes = {node("Relu", {"x"}, {"y"})},
                 .inputs = {valueInfo("x", kFloat, {"past", "past + 2*(n - 1)", "batch-size"})},
                 .outputs = {valueInfo("y", kFloat, {"past", "past + 2*(n - 1)", "batch-size"})}};
  const GraphFile file = read(model(net), {{"past", 5}, {"n", 3}, {"batch-size", 7}});
  EXPECT_EQ(file.graph.tensor_bytes[0], 5 * 9 * 7 * 4);
  // The whole text may be given instead.
  const GraphFile other = read(model(net), {{"past", 5}, {"past + 2*(n - 1)", 2}, {"batch-size", 7}});
  EXPECT_EQ(other.graph.tensor_bytes[0], 5 * 2 * 7 * 4);
}

TEST(OnnxReader, UnknownDimensionsOfTheCommandAreErrors) {
  GraphParts net = smallNet();
  net.inputs = {valueInfo("x", kFloat, {"batch", 8})};
  ReadOptions options;
  options.dims = {{"batch", 2}, {"sequence", 8}};
  Warnings warnings;
  const auto failed = readGraph(model(net), "file", options, warnings);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().text(),
            "file: --dim sequence: the model has no dimension \"sequence\"; use one of batch");
  options.dims = {{"batch", -2}};
  EXPECT_FALSE(readGraph(model(net), "file", options, warnings));
  options.dims = {{"batch", 2}};
  EXPECT_FALSE(
      readGraph(R"({"schema": "allot.graph/1", "ops": [{"name": "a"}]})", "file", options, warnings));
}

TEST(OnnxReader, OldAndNewVersionsOfTheOperators) {
  Warnings warnings;
  EXPECT_TRUE(readGraph(model(graph(smallNet()), {}, 28), "file", {}, warnings));
  EXPECT_TRUE(warnings.empty());
  EXPECT_TRUE(readGraph(model(graph(smallNet()), {}, 40), "file", {}, warnings));
  EXPECT_EQ(warnings.size(), 1u);
  GraphParts net = smallNet();
  net.nodes[1] = node("Fresh", {"h", "b"}, {"s"}, {.name = "new one"});
  EXPECT_TRUE(readGraph(model(graph(net), {}, 28), "file", {}, warnings));
  const auto failed = readGraph(model(graph(net), {}, 40), "file", {}, warnings);
  ASSERT_FALSE(failed);
  for (const char* word : {"version 40", "Fresh", "new one", "28"})
    EXPECT_NE(failed.error().text().find(word), std::string::npos) << failed.error().text();
}

}  // namespace
}  // namespace allot
