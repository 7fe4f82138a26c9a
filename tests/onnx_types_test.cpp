// Folding of small values, control flow, declared types.
#include <gtest/gtest.h>

#include <limits>

#include "onnx_builder.h"

namespace allot::onnx_test {
namespace {

constexpr std::int64_t kFar = std::numeric_limits<std::int64_t>::max();

TEST(OnnxTypes, quantisedTypesFollowZeroPoints) {
  Builder builder;
  const auto x = builder.input({2, 8});
  const auto scale = builder.weight({});
  const auto q = builder.op("QuantizeLinear", {x, scale, builder.weight({}, ElementType::kInt8)});
  const auto back = builder.op("DequantizeLinear", {q, scale});
  const auto product = builder.op("MatMulInteger", {q, builder.weight({8, 5}, ElementType::kInt8)});
  const auto types = builder.infer();
  ASSERT_TRUE(types);
  EXPECT_EQ(types->values.at(q).element, ElementType::kInt8);
  EXPECT_EQ(types->values.at(q).bytes(), 16);
  EXPECT_EQ(types->values.at(back).element, ElementType::kFloat);
  EXPECT_EQ(types->values.at(product).element, ElementType::kInt32);
  EXPECT_EQ(types->values.at(product).shape, (Shape{2, 5}));
}

TEST(OnnxTypes, resizeTakesSizesOrScales) {
  Builder builder;
  const auto x = builder.input({1, 3, 10, 10});
  const auto by_scale = builder.op("Resize", {x, "", builder.floats({1, 1, 2, 0.5F})});
  const auto by_size = builder.op("Resize", {x, "", "", builder.ints({1, 3, 7, 8})});
  const auto old = builder.op("Resize", {x, builder.floats({1, 1, 3, 3})});
  const auto types = builder.infer();
  ASSERT_TRUE(types);
  EXPECT_EQ(types->values.at(by_scale).shape, (Shape{1, 3, 20, 5}));
  EXPECT_EQ(types->values.at(by_size).shape, (Shape{1, 3, 7, 8}));
  EXPECT_EQ(types->values.at(old).shape, (Shape{1, 3, 30, 30}));
}

// The way exporters write view(batch, -1, heads, size).
TEST(OnnxTypes, targetOfReshapeFollowsFromShapeArithmetic) {
  Builder builder;
  const auto x = builder.input({-1, -2, 768});
  const auto shape = builder.op("Shape", {x});
  const auto batch = builder.op("Gather", {shape, builder.scalar(0)});
  const auto front = builder.op("Slice", {shape, builder.ints({-kFar - 1}), builder.ints({2})});
  const auto sequence = builder.op("Slice", {front, builder.ints({1}), builder.ints({2})});
  const auto row = builder.op("Unsqueeze", {batch, builder.ints({0})});
  const auto target =
      builder.op("Concat", {row, sequence, builder.ints({12}), builder.ints({64})}, {number("axis", 0)});
  const auto y = builder.op("Reshape", {x, target});
  const auto types = builder.infer({{"s1", 4}, {"s2", 128}});
  ASSERT_TRUE(types);
  EXPECT_EQ(types->values.at(y).shape, (Shape{4, 128, 12, 64}));
  EXPECT_EQ(types->values.at(target).integers, (std::vector<std::int64_t>{4, 128, 12, 64}));
  for (std::size_t node = 0; node < 6; ++node) {
    EXPECT_TRUE(isShapeArithmetic(builder.model.graph.nodes[node], types->values)) << node;
  }
  EXPECT_FALSE(isShapeArithmetic(builder.model.graph.nodes[6], types->values));
  EXPECT_FALSE(types->values.at(target).constant);
  // With one dimension left open the rest is not guessed: nothing of y is said.
  const auto open = builder.infer({{"s1", 4}});
  ASSERT_TRUE(open);
  EXPECT_FALSE(open->values.at(y).shape);
  EXPECT_FALSE(open->values.at(target).integers);
}

TEST(OnnxTypes, floorOfQuotientThroughFloats) {
  Builder builder;
  const auto x = builder.input({1, 3, 37, 53});
  const auto shape = builder.op("Shape", {x}, {number("start", 2)});
  const auto real = builder.op("Cast", {shape}, {number("to", 1)});
  const auto half = builder.op("Div", {real, builder.floats({2})});
  const auto whole = builder.op("Cast", {builder.op("Floor", {half})}, {number("to", 7)});
  const auto sizes = builder.op("Concat", {builder.ints({1, 3}), whole}, {number("axis", 0)});
  const auto y = builder.op("Resize", {x, "", "", sizes});
  const auto types = builder.infer();
  ASSERT_TRUE(types);
  EXPECT_EQ(types->values.at(y).shape, (Shape{1, 3, 18, 26}));
}

TEST(OnnxTypes, foldsWhatExportersWrite) {
  Builder builder;
  const auto x = builder.input({2, 5});
  const auto two = builder.scalar(2);
  const auto size = builder.op("Size", {x});
  const auto mod = builder.op("Mod", {builder.scalar(-7), builder.scalar(3)});
  const auto range = builder.op("Range", {builder.scalar(1), size, builder.scalar(3)});
  const auto ones = builder.op("ConstantOfShape", {builder.ints({3})}, {[&] {
                                 Attribute out;
                                 out.name = "value";
                                 out.tensor = std::make_shared<Tensor>(builder.tensorOf({1}, {1}));
                                 return out;
                               }()});
  const auto chosen = builder.op("Where", {builder.op("Less", {range, builder.scalar(5)}), range, ones});
  const auto product = builder.op("ReduceProd", {chosen, builder.ints({0})}, {number("keepdims", 0)});
  const auto turned = builder.op(
      "Slice", {range, builder.ints({-1}), builder.ints({-kFar}), builder.ints({0}), builder.ints({-1})});
  const auto placed =
      builder.op("ScatterND", {ones, builder.op("Unsqueeze", {builder.ints({2}), builder.ints({1})}),
                               builder.op("Reshape", {two, builder.ints({1})})});
  const auto nonzero = builder.op("NonZero", {builder.op("Sub", {range, builder.scalar(4)})});
  const auto types = builder.infer();
  ASSERT_TRUE(types) << types.error().text();
  const auto values = [&](std::string_view name) {
    return types->values.at(name).integers.value_or(std::vector<std::int64_t>{-99});
  };
  using Ints = std::vector<std::int64_t>;
  EXPECT_EQ(values(size), Ints{10});
  EXPECT_EQ(values(mod), Ints{2});
  EXPECT_EQ(values(range), (Ints{1, 4, 7}));
  EXPECT_EQ(values(chosen), (Ints{1, 4, 1}));
  EXPECT_EQ(values(product), Ints{4});
  EXPECT_EQ(values(turned), (Ints{7, 4, 1}));
  EXPECT_EQ(values(placed), (Ints{1, 1, 2}));
  EXPECT_EQ(values(nonzero), (Ints{0, 2}));
  EXPECT_TRUE(types->values.at(placed).constant);
  EXPECT_FALSE(types->values.at(range).constant);
  EXPECT_TRUE(types->values.at(range).description);
}

TEST(OnnxTypes, constantsSpreadOverAnySize) {
  Builder builder;
  const auto w = builder.weight({1000, 1000});
  const auto turned = builder.op("Transpose", {w});
  const auto noise = builder.op("RandomNormalLike", {w});
  const auto mixed = builder.op("MatMul", {builder.input({1, 1000}), turned});
  const auto types = builder.infer();
  ASSERT_TRUE(types);
  EXPECT_TRUE(types->values.at(turned).constant);
  EXPECT_FALSE(types->values.at(noise).constant);
  EXPECT_FALSE(types->values.at(mixed).constant);
}

TEST(OnnxTypes, valueInfoSaysWhatDataDecides) {
  Builder builder;
  const auto x = builder.input({4, 4});
  const auto places = builder.op("NonZero", {x});
  const auto turned = builder.op("Transpose", {places});
  auto types = builder.infer();
  ASSERT_TRUE(types);
  EXPECT_FALSE(types->values.at(places).shape);
  EXPECT_FALSE(types->values.at(places).bytes());
  builder.model.graph.value_info.push_back(builder.info(places, ElementType::kInt64, {2, -9}));
  types = builder.infer({{"s9", 5}});
  ASSERT_TRUE(types);
  EXPECT_EQ(types->values.at(places).shape, (Shape{2, 5}));
  EXPECT_EQ(types->values.at(turned).shape, (Shape{5, 2}));
}

TEST(OnnxTypes, staleSizesGiveWayButRanksMustAgree) {
  Builder builder;
  const auto y = builder.op("Relu", {builder.input({8, 3})});
  builder.model.graph.value_info.push_back(builder.info(y, ElementType::kFloat, {1, 3}));
  auto types = builder.infer();
  ASSERT_TRUE(types);
  EXPECT_EQ(types->values.at(y).shape, (Shape{8, 3}));
  builder.model.graph.value_info[0] = builder.info(y, ElementType::kFloat, {1, 3, 1});
  types = builder.infer();
  ASSERT_FALSE(types);
  EXPECT_EQ(types.error().code, ErrorCode::kBadInput);
  EXPECT_NE(types.error().text().find(y), std::string::npos);
}

TEST(OnnxTypes, ifTakesWhatBothBranchesSay) {
  Builder builder;
  const auto x = builder.input({2, 1, 5});
  const auto branch = [&](Node node) {
    auto graph = std::make_shared<Graph>();
    graph->outputs.push_back({node.outputs[0], {}});
    graph->nodes.push_back(std::move(node));
    return graph;
  };
  const auto wide = branch(builder.make("Concat", {x, x}, {number("axis", 0)}));
  const auto same = branch(builder.make("Identity", {x}));
  // Taken or not, this branch cannot run: it squeezes an axis of 5.
  const auto broken = branch(builder.make("Squeeze", {x}, {list("axes", {2})}));
  const auto asked = builder.input({}, ElementType::kBool);
  const auto open = builder.op("If", {asked}, {body("then_branch", wide), body("else_branch", same)});
  const auto agreed = builder.op("If", {asked}, {body("then_branch", same), body("else_branch", same)});
  const auto known = builder.op("If", {builder.scalar(0, ElementType::kBool)},
                                {body("then_branch", broken), body("else_branch", same)});
  const auto types = builder.infer();
  ASSERT_TRUE(types) << types.error().text();
  EXPECT_FALSE(types->values.at(open).shape);
  EXPECT_EQ(types->values.at(agreed).shape, (Shape{2, 1, 5}));
  EXPECT_EQ(types->values.at(known).shape, (Shape{2, 1, 5}));
  EXPECT_EQ(types->bodies.at(same.get()).at(x).shape, (Shape{2, 1, 5}));
}

TEST(OnnxTypes, loopCarriesAndStacks) {
  Builder builder;
  const auto x = builder.input({2, 3});
  const auto grown = builder.input({1, 3});
  auto graph = std::make_shared<Graph>();
  const auto turn = builder.fresh();
  const auto condition = builder.fresh();
  const auto state = builder.fresh();
  const auto more = builder.fresh();
  graph->inputs = {{turn, {}}, {condition, {}}, {state, {}}, {more, {}}};
  graph->nodes.push_back(builder.make("Identity", {condition}));
  graph->nodes.push_back(builder.make("Relu", {state}));
  graph->nodes.push_back(builder.make("Concat", {more, x}, {number("axis", 0)}));
  graph->nodes.push_back(builder.make("Transpose", {state}));
  for (const Node& node : graph->nodes) graph->outputs.push_back({node.outputs[0], {}});
  builder.op("Loop", {builder.scalar(7), "", x, grown}, {body("body", graph)}, 3);
  const auto types = builder.infer();
  ASSERT_TRUE(types) << types.error().text();
  const auto& outputs = builder.model.graph.nodes[0].outputs;
  EXPECT_EQ(types->values.at(outputs[0]).shape, (Shape{2, 3}));
  EXPECT_FALSE(types->values.at(outputs[1]).shape);
  EXPECT_EQ(types->values.at(outputs[2]).shape, (Shape{7, 3, 2}));
}

TEST(OnnxTypes, scanCutsAndStacks) {
  Builder builder;
  auto graph = std::make_shared<Graph>();
  const auto state = builder.fresh();
  const auto slice = builder.fresh();
  graph->inputs = {{state, {}}, {slice, {}}};
  graph->nodes.push_back(builder.make("Add", {state, slice}));
  graph->nodes.push_back(builder.make("Unsqueeze", {slice}, {list("axes", {0})}));
  for (const Node& node : graph->nodes) graph->outputs.push_back({node.outputs[0], {}});
  builder.op("Scan", {builder.input({5}), builder.input({5, 9})},
             {body("body", graph), number("num_scan_inputs", 1), list("scan_input_axes", {1}),
              list("scan_output_axes", {-1})},
             2);
  const auto types = builder.infer();
  ASSERT_TRUE(types) << types.error().text();
  const auto& outputs = builder.model.graph.nodes[0].outputs;
  EXPECT_EQ(types->values.at(outputs[0]).shape, (Shape{5}));
  EXPECT_EQ(types->values.at(outputs[1]).shape, (Shape{1, 5, 9}));
}

TEST(OnnxTypes, sequencesKeepTheirElements) {
  Builder builder;
  const auto x = builder.input({6, 4});
  const auto parts = builder.op("SplitToSequence", {x, builder.scalar(2)});
  const auto second = builder.op("SequenceAt", {parts, builder.scalar(1)});
  const auto whole = builder.op("ConcatFromSequence", {parts}, {number("axis", 1)});
  const auto stacked = builder.op("ConcatFromSequence", {parts}, {number("axis", 0), number("new_axis", 1)});
  const auto types = builder.infer();
  ASSERT_TRUE(types);
  EXPECT_EQ(types->values.at(parts).kind, Type::Kind::kSequence);
  EXPECT_EQ(types->values.at(second).kind, Type::Kind::kTensor);
  EXPECT_EQ(types->values.at(second).shape, (Shape{2, 4}));
  EXPECT_EQ(types->values.at(whole).shape, (Shape{2, 12}));
  EXPECT_EQ(types->values.at(stacked).shape, (Shape{3, 2, 4}));
}

}  // namespace
}  // namespace allot::onnx_test
