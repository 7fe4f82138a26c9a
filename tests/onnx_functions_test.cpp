// ONNX: model-local functions are inlined; bodies of If, Loop and Scan stay inside their node.
#include <gtest/gtest.h>

#include "formats/onnx/functions.h"
#include "formats/onnx/parse.h"
#include "onnx_support.h"

namespace allot {
namespace {

using namespace onnx_test;

NodeParts own(std::string name, std::vector<std::string> attributes = {}) {
  return {.name = std::move(name), .domain = "own", .attributes = std::move(attributes)};
}

// x [4] -> calls -> y [4]
GraphParts netOf(std::vector<std::string> nodes) {
  return {.nodes = std::move(nodes),
          .inputs = {valueInfo("x", kFloat, {4})},
          .outputs = {valueInfo("y", kFloat, {4})}};
}

// A model and the bytes that it points into.
struct Inlined {
  std::unique_ptr<std::string> bytes;
  onnx::Model model;
};

Result<Inlined> inlined(std::string bytes) {
  Inlined result{std::make_unique<std::string>(std::move(bytes)), {}};
  ALLOT_TRY(result.model, onnx::parseModel(*result.bytes));
  ALLOT_CHECK(onnx::inlineFunctions(result.model));
  return result;
}

std::string errorOf(const std::string& bytes) {
  Warnings warnings;
  const auto result = readGraph(bytes, "file", {}, warnings);
  EXPECT_FALSE(result);
  return result ? "" : result.error().text();
}

const FunctionParts kTwice{
    .name = "Twice",
    .inputs = {"a"},
    .outputs = {"c"},
    .nodes = {node("Relu", {"a"}, {"b"}, {.name = "first"}), node("Neg", {"b"}, {"c"})}};

TEST(OnnxFunctions, CallsBecomeTheirNodes) {
  const GraphParts net =
      netOf({node("Twice", {"x"}, {"h"}, own("one")), node("Twice", {"h"}, {"y"}, own("two"))});
  const GraphFile file = graphOf(model(net, {function(kTwice)}));
  const OpGraph& graph = file.graph;
  EXPECT_EQ(graph.op_name, (std::vector<std::string>{"one/first", "Neg_h", "two/first", "Neg_y"}));
  EXPECT_GE(bytesBetween(graph, "one/first", "Neg_h"), 0);
  EXPECT_GE(bytesBetween(graph, "Neg_h", "two/first"), 0);
  EXPECT_GE(bytesBetween(graph, "two/first", "Neg_y"), 0);
}

TEST(OnnxFunctions, NestedCalls) {
  const FunctionParts outer{
      .name = "Four",
      .inputs = {"b"},  // a name that the inner function has too
      .outputs = {"d"},
      .nodes = {node("Twice", {"b"}, {"c"}, own("p")), node("Twice", {"c"}, {"d"}, own("q"))}};
  const GraphParts net = netOf({node("Four", {"x"}, {"y"}, own("all"))});
  const OpGraph graph = graphOf(model(net, {function(outer), function(kTwice)})).graph;
  EXPECT_EQ(graph.op_name, (std::vector<std::string>{"all/p/first", "Neg_all/c", "all/q/first", "Neg_y"}));
  EXPECT_GE(bytesBetween(graph, "Neg_all/c", "all/q/first"), 0);
}

TEST(OnnxFunctions, AttributesComeFromTheCallOrTheDefault) {
  const FunctionParts part{
      .name = "Soft",
      .inputs = {"a"},
      .outputs = {"c"},
      .attributes = {"must"},
      .nodes = {node("Softmax", {"a"}, {"b"}, {.attributes = {referenceAttribute("axis", "side")}}),
                node("Softmax", {"b"}, {"c"}, {.attributes = {referenceAttribute("axis", "must")}})},
      .defaults = {attribute("side", 7)}};
  const auto read = [&](std::vector<std::string> attributes) {
    auto result = inlined(
        model(netOf({node("Soft", {"x"}, {"y"}, own("call", std::move(attributes)))}), {function(part)}));
    EXPECT_TRUE(result) << result.error().text();
    return std::move(*result);
  };
  const Inlined with = read({attribute("side", 1), attribute("must", 2)});
  const auto& given = with.model.graph.nodes;
  ASSERT_EQ(given.size(), 2u);
  EXPECT_EQ(given[0].integer("axis", -1), 1);
  EXPECT_EQ(given[1].integer("axis", -1), 2);
  const Inlined without = read({});
  const auto& defaults = without.model.graph.nodes;
  EXPECT_EQ(defaults[0].integer("axis", -1), 7);
  // Neither given nor with a default: as if it were not written.
  EXPECT_EQ(defaults[1].find("axis"), nullptr);
}

TEST(OnnxFunctions, InnerNamesNeverMeetOthers) {
  // "call/b" is what the function's own b would be called.
  const GraphParts net =
      netOf({node("Relu", {"x"}, {"call/b"}), node("Twice", {"call/b"}, {"y"}, own("call"))});
  const auto result = inlined(model(net, {function(kTwice)}));
  ASSERT_TRUE(result) << result.error().text();
  ASSERT_EQ(result->model.graph.nodes.size(), 3u);
  EXPECT_EQ(result->model.graph.nodes[1].inputs[0], "call/b");
  EXPECT_EQ(result->model.graph.nodes[1].outputs[0], "call/b_2");
  EXPECT_EQ(result->model.graph.nodes[2].inputs[0], "call/b_2");
}

TEST(OnnxFunctions, OutputsThatAreInputsAreCopied) {
  const FunctionParts same{.name = "Same", .inputs = {"a"}, .outputs = {"a"}};
  const auto result = inlined(model(netOf({node("Same", {"x"}, {"y"}, own("call"))}), {function(same)}));
  ASSERT_TRUE(result) << result.error().text();
  ASSERT_EQ(result->model.graph.nodes.size(), 1u);
  EXPECT_EQ(result->model.graph.nodes[0].op_type, "Identity");
  EXPECT_EQ(result->model.graph.nodes[0].inputs[0], "x");
  EXPECT_EQ(result->model.graph.nodes[0].outputs[0], "y");
}

TEST(OnnxFunctions, AbsentInputsStayAbsent) {
  const FunctionParts clip{
      .name = "Cut", .inputs = {"a", "low"}, .outputs = {"c"}, .nodes = {node("Clip", {"a", "low"}, {"c"})}};
  const auto result = inlined(model(netOf({node("Cut", {"x"}, {"y"}, own("call"))}), {function(clip)}));
  ASSERT_TRUE(result) << result.error().text();
  EXPECT_EQ(result->model.graph.nodes[0].inputs[1], "");
}

TEST(OnnxFunctions, BodiesInFunctionsAreRenamedToo) {
  const std::string body =
      graph({.name = "body",
             .nodes = {node("Add", {"a", "t"}, {"t2"}), node("Twice", {"t2"}, {"t3"}, own("in"))},
             .initializers = {tensor("t", kFloat, {4})},
             .outputs = {valueInfo("t3", kFloat, {4})}});
  const FunctionParts part{.name = "Choose",
                           .inputs = {"c", "a"},
                           .outputs = {"r"},
                           .nodes = {node("If", {"c"}, {"r"},
                                          {.name = "if",
                                           .attributes = {graphAttribute("then_branch", body),
                                                          graphAttribute("else_branch", body)}})}};
  GraphParts net = netOf({node("Choose", {"flag", "x"}, {"y"}, own("call"))});
  net.inputs.push_back(valueInfo("flag", kBool, {}));
  const auto result = inlined(model(net, {function(part), function(kTwice)}));
  ASSERT_TRUE(result) << result.error().text();
  ASSERT_EQ(result->model.graph.nodes.size(), 1u);
  const onnx::Node& choice = result->model.graph.nodes[0];
  EXPECT_EQ(choice.name, "call/if");
  EXPECT_EQ(choice.inputs[0], "flag");
  const onnx::Graph& then_branch = *choice.find("then_branch")->graph;
  ASSERT_EQ(then_branch.nodes.size(), 3u);
  EXPECT_EQ(then_branch.nodes[0].inputs[0], "x");
  EXPECT_EQ(then_branch.nodes[0].inputs[1], then_branch.initializers[0].name);
  EXPECT_EQ(then_branch.nodes[2].outputs[0], then_branch.outputs[0].name);
  EXPECT_NE(then_branch.outputs[0].name, choice.find("else_branch")->graph->outputs[0].name);
}

TEST(OnnxFunctions, RecursionIsRefused) {
  const FunctionParts a{
      .name = "A", .inputs = {"i"}, .outputs = {"o"}, .nodes = {node("B", {"i"}, {"o"}, own("b"))}};
  const FunctionParts b{
      .name = "B", .inputs = {"i"}, .outputs = {"o"}, .nodes = {node("A", {"i"}, {"o"}, own("a"))}};
  const std::string error =
      errorOf(model(netOf({node("A", {"x"}, {"y"}, own("call"))}), {function(a), function(b)}));
  EXPECT_NE(error.find("own:A -> own:B -> own:A"), std::string::npos) << error;
}

TEST(OnnxFunctions, RecursionThroughAnArgumentIsRefused) {
  const FunctionParts run{.name = "Run",
                          .inputs = {"i"},
                          .outputs = {"o"},
                          .attributes = {"what"},
                          .nodes = {node("If", {"i"}, {"o"},
                                         {.attributes = {referenceAttribute("then_branch", "what"),
                                                         referenceAttribute("else_branch", "what")}})}};
  const std::string body =
      graph({.nodes = {node("Again", {"i"}, {"q"}, own("again"))}, .outputs = {valueInfo("q", kFloat, {4})}});
  const FunctionParts again{.name = "Again",
                            .inputs = {"i"},
                            .outputs = {"o"},
                            .nodes = {node("Run", {"i"}, {"o"}, own("run", {graphAttribute("what", body)}))}};
  const std::string error =
      errorOf(model(netOf({node("Again", {"x"}, {"y"}, own("call"))}), {function(run), function(again)}));
  EXPECT_NE(error.find("calls itself"), std::string::npos) << error;
}

TEST(OnnxFunctions, GrowthIsLimited) {
  // Each calls the one before it twice: 2^30 nodes.
  std::vector<std::string> functions;
  for (int i = 0; i < 30; ++i) {
    const std::string inner = i == 0 ? "Relu" : "F" + std::to_string(i - 1), domain = i == 0 ? "" : "own";
    functions.push_back(function({.name = "F" + std::to_string(i),
                                  .inputs = {"a"},
                                  .outputs = {"c"},
                                  .nodes = {node(inner, {"a"}, {"b"}, {.domain = domain}),
                                            node(inner, {"b"}, {"c"}, {.domain = domain})}}));
  }
  const std::string error = errorOf(model(netOf({node("F29", {"x"}, {"y"}, own("call"))}), functions));
  EXPECT_NE(error.find("more than 10000000 items"), std::string::npos) << error;
}

TEST(OnnxFunctions, DepthIsLimited) {
  std::vector<std::string> functions;
  for (int i = 0; i < 5000; ++i) {
    const std::string inner = i == 0 ? "Relu" : "F" + std::to_string(i - 1), domain = i == 0 ? "" : "own";
    functions.push_back(function({.name = "F" + std::to_string(i),
                                  .inputs = {"a"},
                                  .outputs = {"b"},
                                  .nodes = {node(inner, {"a"}, {"b"}, {.domain = domain})}}));
  }
  EXPECT_NE(errorOf(model(netOf({node("F4999", {"x"}, {"y"}, own("call"))}), functions))
                .find("deep in one another"),
            std::string::npos);
  // Also where the inner ones have been seen before.
  std::vector<std::string> nodes;
  std::string last = "x";
  for (int i = 0; i < 5000; i += 20) {
    nodes.push_back(node("F" + std::to_string(i), {last}, {"v" + std::to_string(i)}, own("")));
    last = "v" + std::to_string(i);
  }
  nodes.push_back(node("Relu", {last}, {"y"}));
  EXPECT_NE(errorOf(model(netOf(nodes), functions)).find("deep in one another"), std::string::npos);
}

// x [2, 8] -> If, whose branches multiply the outer h by a weight inside and one outside.
TEST(OnnxBodies, AreOneOpThatReadsWhatTheyCapture) {
  const auto branch = [](const char* name, const std::string& weight, std::vector<std::string> held) {
    return graph({.name = name,
                  .nodes = {node("MatMul", {"h", weight}, {std::string(name) + "_out"}, {.name = "inner"})},
                  .initializers = std::move(held),
                  .outputs = {valueInfo(std::string(name) + "_out", kFloat, {2, 4})}});
  };
  GraphParts net{
      .nodes = {node("Relu", {"x"}, {"h"}, {.name = "relu"}),
                node("If", {"flag"}, {"z"},
                     {.name = "choice",
                      .attributes = {graphAttribute("then_branch",
                                                    branch("a", "wa", {tensor("wa", kFloat, {8, 4})})),
                                     graphAttribute("else_branch", branch("b", "wb", {}))}}),
                node("Relu", {"z"}, {"y"}, {.name = "after"})},
      .initializers = {tensor("wb", kFloat16, {8, 4})},
      .inputs = {valueInfo("x", kFloat, {2, 8}), valueInfo("flag", kBool, {})},
      .outputs = {valueInfo("y", kFloat, {2, 4})},
      .value_info = {valueInfo("h", kFloat, {2, 8}), valueInfo("z", kFloat, {2, 4})}};
  const OpGraph graph = graphOf(model(net)).graph;
  EXPECT_EQ(graph.op_name, (std::vector<std::string>{"relu", "choice", "after"}));
  EXPECT_EQ(bytesBetween(graph, "relu", "choice"), 2 * 8 * 4);
  EXPECT_EQ(bytesBetween(graph, "choice", "after"), 2 * 4 * 4);
  EXPECT_EQ(weightsOf(graph, "choice"), 8 * 4 * 4 + 8 * 4 * 2);
}

TEST(OnnxBodies, CapturesOfInnerBodiesCount) {
  const auto body = [](std::vector<std::string> nodes, const std::string& output) {
    return graph({.nodes = std::move(nodes), .outputs = {valueInfo(output, kFloat, {4})}});
  };
  const auto choice = [](const std::string& output, const std::string& branch, const std::string& name) {
    return node(
        "If", {"flag"}, {output},
        {.name = name,
         .attributes = {graphAttribute("then_branch", branch), graphAttribute("else_branch", branch)}});
  };
  const std::string inner = body({node("Neg", {"h"}, {"i"})}, "i");
  const std::string outer = body({choice("o", inner, "inner")}, "o");
  // The body stands before what it captures.
  GraphParts net = netOf({choice("y", outer, "outer"), node("Relu", {"x"}, {"h"}, {.name = "relu"})});
  net.inputs.push_back(valueInfo("flag", kBool, {}));
  net.value_info.push_back(valueInfo("h", kFloat, {4}));
  const OpGraph graph = graphOf(model(net)).graph;
  EXPECT_EQ(graph.op_name, (std::vector<std::string>{"relu", "outer"}));
  EXPECT_EQ(bytesBetween(graph, "relu", "outer"), 4 * 4);
}

}  // namespace
}  // namespace allot
