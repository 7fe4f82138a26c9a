// Shapes of models that contradict themselves or make no sense: refused or not known, and no crash.
#include <gtest/gtest.h>

#include <limits>

#include "formats/onnx/op_table.h"
#include "onnx_builder.h"

namespace allot::onnx_test {
namespace {

constexpr std::int64_t kFar = std::numeric_limits<std::int64_t>::max();
using Shapes = std::vector<Shape>;

TEST(OnnxNonsense, contradictionsNameTheNode) {
  const std::vector<std::pair<std::string_view, Shapes>> wrong = {{"Add", {{2, 3}, {4, 3}}},
                                                                  {"MatMul", {{2, 3}, {4, 3}}},
                                                                  {"Gemm", {{2, 3}, {4, 3}}},
                                                                  {"Concat", {{2, 3}, {2}}},
                                                                  {"Conv", {{1, 3, 8, 8}, {4, 2, 3, 3}}}};
  for (const auto& [op, shapes] : wrong) {
    Builder builder;
    std::vector<std::string_view> inputs;
    for (const Shape& shape : shapes) inputs.push_back(builder.input(shape));
    builder.op(op, inputs, {number("axis", 0)});
    const auto types = builder.infer();
    ASSERT_FALSE(types) << op;
    EXPECT_EQ(types.error().code, ErrorCode::kBadInput);
    EXPECT_NE(types.error().text().find(op), std::string::npos) << types.error().text();
    EXPECT_EQ(types.error().text().find('\n'), std::string::npos);
  }
}

TEST(OnnxNonsense, absurdDimensionsAreRefused) {
  for (const std::int64_t size : {std::int64_t{1} << 62, kFar, std::int64_t{-1} << 40}) {
    Builder builder;
    builder.op("Relu", {builder.weight({size, 4})});
    EXPECT_FALSE(builder.infer()) << size;
    Builder bound;
    bound.op("Relu", {bound.input({-1, 4})});
    EXPECT_FALSE(bound.infer({{"s1", size}})) << size;
  }
  // Many plausible dimensions make a size that saturates.
  Builder builder;
  const auto y = builder.op("Relu", {builder.input({1LL << 40, 1LL << 40, 1LL << 40})});
  const auto types = builder.infer();
  ASSERT_TRUE(types);
  EXPECT_EQ(types->values.at(y).elements(), kMostElements);
  EXPECT_EQ(types->values.at(y).bytes(), kMostElements);
  Builder tiled;
  tiled.op("Tile", {tiled.input({1LL << 40}), tiled.ints({1LL << 40})});
  EXPECT_FALSE(tiled.infer());
}

// Every operator with too few inputs, odd ranks and attributes of the wrong kind: unknown or refused, no
// crash.
TEST(OnnxNonsense, nothingCrashesOnNonsense) {
  const Shapes odd = {
      {}, {0}, {1}, {3}, {2, 3}, {0, 5}, {1, 2, 3}, {2, 3, 4, 5}, {1, 1, 1, 1, 1}, {1LL << 40, 1LL << 40, 2}};
  const std::vector<std::string_view> names = {"axis",
                                               "axes",
                                               "to",
                                               "perm",
                                               "kernel_shape",
                                               "strides",
                                               "pads",
                                               "dilations",
                                               "group",
                                               "shape",
                                               "k",
                                               "num_heads",
                                               "q_num_heads",
                                               "kv_num_heads",
                                               "equation",
                                               "blocksize",
                                               "body",
                                               "then_branch",
                                               "else_branch",
                                               "num_scan_inputs",
                                               "hidden_size",
                                               "value",
                                               "dtype",
                                               "split",
                                               "starts",
                                               "ends",
                                               "N",
                                               "K",
                                               "output_shape",
                                               "batch_dims",
                                               "scan_input_axes",
                                               "ngram_indexes",
                                               "layout",
                                               "pooled_shape",
                                               "output_padding"};
  std::size_t known = 0;
  for (const OpRow* row : allOps()) {
    for (std::size_t round = 0; round < 60; ++round) {
      Builder builder(round % 3 == 0 ? 23 : round % 3 == 1 ? 11 : 1);
      std::vector<std::string_view> inputs;
      for (std::size_t at = 0; at < round % 8; ++at) {
        switch ((round + at) % 5) {
          case 0:
            inputs.push_back(builder.ints({0, -1, kFar}));
            break;
          case 1:
            inputs.push_back("");
            break;
          case 2:
            inputs.push_back("missing");
            break;
          default:
            inputs.push_back(builder.input(odd[(round * 7 + at * 3) % odd.size()]));
        }
      }
      Attributes attributes;
      for (std::size_t at = 0; at < names.size() && round % 4 != 0; ++at) {
        switch ((at + round) % 5) {
          case 0:
            attributes.push_back(number(names[at], -7));
            break;
          case 1:
            attributes.push_back(list(names[at], {kFar, -kFar - 1, 0}));
            break;
          case 2:
            attributes.push_back(text(names[at], "ij->,..."));
            break;
          case 3:
            attributes.push_back(list(names[at], {1, 0}));
            break;
          default:
            attributes.push_back(body(names[at], std::make_shared<Graph>()));
        }
      }
      builder.op(row->name, inputs, attributes, round % 5, row->domain);
      const auto types = builder.infer();
      if (!types) continue;
      for (const auto& [name, value] : types->values) {
        for (const std::int64_t dim : value.shape.value_or(Shape{})) ASSERT_GE(dim, 0) << row->name;
      }
      const NodeCost cost = costOf(builder.model, builder.model.graph.nodes[0], types->values, *types);
      EXPECT_GE(cost.flops, 0) << row->name;
      EXPECT_GE(cost.read_bytes, 0) << row->name;
      EXPECT_GE(cost.written_bytes, 0) << row->name;
      known += cost.known ? 1 : 0;
    }
  }
  EXPECT_GT(known, 0U);
}

TEST(OnnxNonsense, deepBodiesEnd) {
  Builder builder;
  const auto x = builder.input({2});
  auto inner = std::make_shared<Graph>();
  inner->nodes.push_back(builder.make("Relu", {x}));
  inner->outputs.push_back({inner->nodes[0].outputs[0], {}});
  for (int depth = 0; depth < 200; ++depth) {
    auto outer = std::make_shared<Graph>();
    outer->nodes.push_back(builder.make("Loop", {"", "", x}, {body("body", inner)}, 1));
    outer->inputs = {{builder.fresh(), {}}, {builder.fresh(), {}}, {builder.fresh(), {}}};
    outer->outputs = {{outer->inputs[1].name, {}}, {outer->nodes[0].outputs[0], {}}};
    inner = outer;
  }
  builder.op("Loop", {"", "", x}, {body("body", inner)});
  (void)builder.infer();
}

}  // namespace
}  // namespace allot::onnx_test
