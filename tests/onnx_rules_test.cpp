// Shapes by operator family, the awkward cases of each.
#include <gtest/gtest.h>

#include <limits>
#include <ostream>

#include "onnx_builder.h"

namespace allot::onnx_test {
namespace {

constexpr std::int64_t kFar = std::numeric_limits<std::int64_t>::max();
using Shapes = std::vector<Shape>;

// An operator on float inputs of the given shapes, then on vectors of integers; what comes out.
struct Case {
  std::string_view op;
  Shapes floats;
  std::vector<std::vector<std::int64_t>> integers;
  Attributes attributes;
  Shapes expected;
  std::int64_t opset = 17;
  std::string_view domain = {};
};

std::ostream& operator<<(std::ostream& out, const Case& which) {
  return out << which.op << " opset " << which.opset << " of " << ::testing::PrintToString(which.floats);
}

class OnnxShape : public ::testing::TestWithParam<Case> {};

TEST_P(OnnxShape, follows) {
  const Case& which = GetParam();
  Builder builder(which.opset);
  std::vector<std::string_view> inputs;
  for (const Shape& shape : which.floats) inputs.push_back(builder.input(shape));
  for (const auto& values : which.integers) inputs.push_back(builder.ints(values));
  builder.op(which.op, inputs, which.attributes, which.expected.size(), which.domain);
  const auto types = builder.infer();
  ASSERT_TRUE(types) << types.error().text();
  for (std::size_t at = 0; at < which.expected.size(); ++at) {
    const Value& value = types->values.at(builder.model.graph.nodes[0].outputs[at]);
    ASSERT_TRUE(value.shape) << "output " << at;
    EXPECT_EQ(*value.shape, which.expected[at]) << "output " << at;
    EXPECT_NE(value.element, ElementType::kUndefined);
  }
}

const std::vector<Case> kElementwise = {
    {"Relu", {{2, 3}}, {}, {}, {{2, 3}}},
    {"Relu", {{}}, {}, {}, {{}}},
    {"Relu", {{0, 3}}, {}, {}, {{0, 3}}},
    {"Add", {{2, 3, 4}, {3, 1}}, {}, {}, {{2, 3, 4}}},
    {"Add", {{5}, {}}, {}, {}, {{5}}},
    {"Add", {{1, 3}, {4, 1}}, {}, {}, {{4, 3}}},
    {"Add", {{0, 1}, {1, 7}}, {}, {}, {{0, 7}}},
    {"Add", {{2, 3, 4}, {3}}, {}, {number("axis", 1), number("broadcast", 1)}, {{2, 3, 4}}, 6},
    {"Max", {{2, 1}, {1, 3}, {4, 1, 1}}, {}, {}, {{4, 2, 3}}},
    {"Where", {{2, 1}, {1, 3}, {1}}, {}, {}, {{2, 3}}},
    {"PRelu", {{2, 3, 4}, {3, 1}}, {}, {}, {{2, 3, 4}}},
    {"Dropout", {{2, 3}}, {}, {}, {{2, 3}, {2, 3}}},
    {"BatchNormalization",
     {{2, 3, 4}, {3}, {3}, {3}, {3}},
     {},
     {number("training_mode", 1)},
     {{2, 3, 4}, {3}, {3}}},
    {"LayerNormalization", {{2, 3, 4}, {4}}, {}, {number("axis", 1)}, {{2, 3, 4}, {2, 1, 1}, {2, 1, 1}}},
    {"SoftmaxCrossEntropyLoss", {{2, 5}, {2}}, {}, {text("reduction", "none")}, {{2}, {2, 5}}},
    {"SoftmaxCrossEntropyLoss", {{2, 5}, {2}}, {}, {}, {{}, {2, 5}}},
};

const std::vector<Case> kMoving = {
    {"Reshape", {{2, 3, 4}}, {{0, -1}}, {}, {{2, 12}}},
    {"Reshape", {{2, 3, 4}}, {}, {list("shape", {4, -1})}, {{4, 6}}, 1},
    {"Reshape", {{0, 3}}, {{3, 0}}, {number("allowzero", 1)}, {{3, 0}}},
    {"Reshape", {{1, 1}}, {{}}, {}, {{}}},
    {"Flatten", {{2, 3, 4}}, {}, {}, {{2, 12}}},
    {"Flatten", {{2, 3, 4}}, {}, {number("axis", 0)}, {{1, 24}}},
    {"Flatten", {{2, 3, 4}}, {}, {number("axis", -1)}, {{6, 4}}},
    {"Flatten", {{2, 3, 4}}, {}, {number("axis", 3)}, {{24, 1}}},
    {"Squeeze", {{1, 3, 1}}, {}, {}, {{3}}},
    {"Squeeze", {{1, 3, 1}}, {}, {list("axes", {0})}, {{3, 1}}, 11},
    {"Squeeze", {{1, 3, 1}}, {{-1}}, {}, {{1, 3}}},
    {"Unsqueeze", {{3}}, {}, {list("axes", {0, 2})}, {{1, 3, 1}}, 11},
    {"Unsqueeze", {{3}}, {{-1, 0}}, {}, {{1, 3, 1}}},
    {"Transpose", {{2, 3, 4}}, {}, {}, {{4, 3, 2}}},
    {"Transpose", {{2, 3, 4}}, {}, {list("perm", {0, 2, 1})}, {{2, 4, 3}}},
    {"Concat", {{2, 3}, {2, 0}, {2, 5}}, {}, {number("axis", -1)}, {{2, 8}}},
    {"Split", {{7, 2}}, {}, {}, {{3, 2}, {3, 2}, {1, 2}}, 18},
    {"Split", {{7, 2}}, {{2, 5}}, {}, {{2, 2}, {5, 2}}},
    {"Split", {{2, 7}}, {}, {list("split", {2, 5}), number("axis", 1)}, {{2, 2}, {2, 5}}, 11},
    {"Slice", {{10, 20}}, {{1, 2}, {kFar, -1}}, {}, {{9, 17}}},
    {"Slice", {{10, 20}}, {{-1}, {-kFar}, {0}, {-3}}, {}, {{4, 20}}},
    {"Slice", {{10, 20}}, {{5}, {2}, {1}}, {}, {{10, 0}}},
    {"Slice", {{10, 20}}, {{-kFar - 1}, {-2}}, {}, {{8, 20}}},
    {"Slice", {{10, 20}}, {{kFar}, {-kFar - 1}, {1}, {-kFar - 1}}, {}, {{10, 1}}},
    {"Slice", {{10, 20}}, {}, {list("starts", {0}), list("ends", {5}), list("axes", {1})}, {{10, 5}}, 9},
    {"Slice", {{10}}, {{0}, {10}, {0}, {kFar}}, {}, {{1}}},
    {"Expand", {{3, 1}}, {{2, 1, 6}}, {}, {{2, 3, 6}}},
    {"Expand", {{3, 4}}, {{1}}, {}, {{3, 4}}},
    {"Tile", {{2, 3}}, {{2, 0}}, {}, {{4, 0}}},
    {"Pad", {{2, 3}}, {{0, 1, 0, 2}}, {}, {{2, 6}}},
    {"Pad", {{2, 3}}, {}, {list("pads", {1, 0, -1, 0})}, {{2, 3}}, 10},
    {"Pad", {{2, 3}}, {}, {list("paddings", {1, 0, 0, 0})}, {{3, 3}}, 1},
    {"DepthToSpace", {{1, 8, 2, 3}}, {}, {number("blocksize", 2)}, {{1, 2, 4, 6}}},
    {"SpaceToDepth", {{1, 2, 4, 6}}, {}, {number("blocksize", 2)}, {{1, 8, 2, 3}}},
    {"Gather", {{5, 4}}, {{0, 2, 2}}, {number("axis", 1)}, {{5, 3}}},
    {"ReduceSum", {{2, 3, 4}}, {{1}}, {}, {{2, 1, 4}}},
    {"ReduceSum", {{2, 3, 4}}, {}, {}, {{1, 1, 1}}},
    {"ReduceSum", {{2, 3, 4}}, {}, {number("noop_with_empty_axes", 1)}, {{2, 3, 4}}},
    {"ReduceMean", {{2, 3, 4}}, {}, {list("axes", {-1, 0}), number("keepdims", 0)}, {{3}}},
    {"ReduceMax", {{2, 3}}, {}, {number("keepdims", 0)}, {{}}},
    {"ArgMax", {{2, 3, 4}}, {}, {number("axis", -1), number("keepdims", 0)}, {{2, 3}}},
    {"TopK", {{2, 9}}, {{4}}, {}, {{2, 4}, {2, 4}}},
    {"TopK", {{2, 9}}, {}, {number("k", 3), number("axis", 0)}, {{3, 9}, {3, 9}}, 9},
    {"Trilu", {{4, 4}}, {}, {}, {{4, 4}}},
};

const std::vector<Case> kWindows = {
    {"Conv",
     {{1, 3, 224, 224}, {64, 3, 7, 7}},
     {},
     {list("strides", {2, 2}), list("pads", {3, 3, 3, 3})},
     {{1, 64, 112, 112}}},
    {"Conv", {{1, 8, 10}, {16, 1, 3}}, {}, {number("group", 8), list("dilations", {3})}, {{1, 16, 4}}},
    {"Conv",
     {{1, 3, 11, 11}, {4, 3, 3, 3}},
     {},
     {text("auto_pad", "SAME_UPPER"), list("strides", {2, 2})},
     {{1, 4, 6, 6}}},
    {"Conv",
     {{1, 3, 11, 11}, {4, 3, 3, 3}},
     {},
     {text("auto_pad", "VALID"), list("pads", {1, 1, 1, 1})},
     {{1, 4, 9, 9}}},
    {"Conv", {{1, 3, 2, 2}, {4, 3, 5, 5}}, {}, {}, {{1, 4, 0, 0}}},
    {"ConvTranspose",
     {{1, 8, 5, 5}, {8, 4, 3, 3}},
     {},
     {list("strides", {2, 2}), list("pads", {1, 1, 1, 1}), list("output_padding", {1, 1}),
      number("group", 2)},
     {{1, 8, 10, 10}}},
    {"ConvTranspose",
     {{1, 8, 5}, {8, 4, 3}},
     {},
     {list("output_shape", {12}), list("strides", {2})},
     {{1, 4, 12}}},
    {"MaxPool",
     {{1, 3, 112, 112}},
     {},
     {list("kernel_shape", {3, 3}), list("strides", {2, 2}), list("pads", {1, 1, 1, 1})},
     {{1, 3, 56, 56}, {1, 3, 56, 56}}},
    {"MaxPool",
     {{1, 3, 5, 6}},
     {},
     {list("kernel_shape", {2, 2}), list("strides", {2, 2}), number("ceil_mode", 1)},
     {{1, 3, 3, 3}}},
    // Rounding up would start a third window in the padding.
    {"AveragePool",
     {{1, 1, 3}},
     {},
     {list("kernel_shape", {1}), list("strides", {2}), list("pads", {0, 1}), number("ceil_mode", 1)},
     {{1, 1, 2}}},
    // Global pools of exporters: one window, however far it reaches beyond the input.
    {"AveragePool",
     {{1, 8, 7, 7}},
     {},
     {list("kernel_shape", {2560, 2560}), list("strides", {2560, 2560}), number("ceil_mode", 1)},
     {{1, 8, 1, 1}}},
    {"LpPool", {{1, 8, 3}}, {}, {list("kernel_shape", {5}), list("strides", {3})}, {{1, 8, 1}}},
    {"MaxPool",
     {{1, 8, 3}},
     {},
     {list("kernel_shape", {3}), list("strides", {2}), list("dilations", {2}), number("ceil_mode", 1)},
     {{1, 8, 0}}},
    {"MaxPool",
     {{1, 8, 3}},
     {},
     {list("kernel_shape", {4}), list("strides", {2}), number("ceil_mode", 1), text("auto_pad", "VALID")},
     {{1, 8, 1}}},
    {"GlobalAveragePool", {{2, 3, 7, 9}}, {}, {}, {{2, 3, 1, 1}}},
    {"NhwcConv", {{1, 10, 10, 3}, {8, 3, 3, 3}}, {}, {}, {{1, 8, 8, 8}}, 17, "com.microsoft"},
    {"Upsample",
     {{1, 2, 3, 4}},
     {},
     {[] {
       Attribute out;
       out.name = "scales";
       out.floats = {1, 1, 2, 1.5F};
       return out;
     }()},
     {{1, 2, 6, 6}},
     7},
};

const std::vector<Case> kProducts = {
    {"MatMul", {{2, 1, 3, 4}, {5, 4, 6}}, {}, {}, {{2, 5, 3, 6}}},
    {"MatMul", {{4}, {4}}, {}, {}, {{}}},
    {"MatMul", {{4}, {2, 4, 6}}, {}, {}, {{2, 6}}},
    {"MatMul", {{2, 3, 4}, {4}}, {}, {}, {{2, 3}}},
    {"MatMul", {{3, 0}, {0, 6}}, {}, {}, {{3, 6}}},
    {"Gemm", {{4, 3}, {5, 4}, {5}}, {}, {number("transA", 1), number("transB", 1)}, {{3, 5}}},
    {"Einsum", {{2, 3, 4}, {2, 4, 5}}, {}, {text("equation", "bij, bjk -> bik")}, {{2, 3, 5}}},
    {"Einsum", {{2, 3, 4}, {4, 5}}, {}, {text("equation", "...ij,jk->...ik")}, {{2, 3, 5}}},
    {"Einsum", {{3, 3}}, {}, {text("equation", "ii")}, {{}}},
    {"Einsum", {{2, 3}, {3, 4}}, {}, {text("equation", "ij,jk")}, {{2, 4}}},
    {"LSTM",
     {{7, 2, 5}, {2, 12, 5}, {2, 12, 3}},
     {},
     {text("direction", "bidirectional"), number("hidden_size", 3)},
     {{7, 2, 2, 3}, {2, 2, 3}, {2, 2, 3}}},
    {"GRU", {{2, 7, 5}, {1, 9, 5}, {1, 9, 3}}, {}, {number("layout", 1)}, {{2, 7, 1, 3}, {2, 1, 3}}},
    {"Attention",
     {{2, 10, 32}, {2, 12, 16}, {2, 12, 16}},
     {},
     {number("q_num_heads", 4), number("kv_num_heads", 2)},
     {{2, 10, 32}},
     23},
    {"Attention", {{2, 4, 10, 8}, {2, 2, 12, 8}, {2, 2, 12, 6}}, {}, {}, {{2, 4, 10, 6}}, 23},
    {"Attention",
     {{2, 10, 32}, {32, 96}, {96}},
     {},
     {number("num_heads", 4)},
     {{2, 10, 32}, {2, 2, 4, 10, 8}},
     17,
     "com.microsoft"},
    {"MultiHeadAttention",
     {{2, 10, 32}, {2, 12, 32}, {2, 12, 32}},
     {},
     {number("num_heads", 4)},
     {{2, 10, 32}, {2, 4, 12, 8}, {2, 4, 12, 8}},
     17,
     "com.microsoft"},
    {"SkipLayerNormalization",
     {{2, 3, 4}, {2, 3, 4}, {4}},
     {},
     {},
     {{2, 3, 4}, {2, 3, 1}, {2, 3, 1}, {2, 3, 4}},
     17,
     "com.microsoft"},
    {"MatMulNBits",
     {{2, 3, 64}, {128, 2, 16}, {256}},
     {},
     {number("K", 64), number("N", 128), number("bits", 4), number("block_size", 32)},
     {{2, 3, 128}},
     17,
     "com.microsoft"},
    {"FusedMatMul",
     {{2, 4, 3}, {2, 5, 4}},
     {},
     {number("transA", 1), number("transB", 1)},
     {{2, 3, 5}},
     17,
     "com.microsoft"},
};

INSTANTIATE_TEST_SUITE_P(elementwise, OnnxShape, ::testing::ValuesIn(kElementwise));
INSTANTIATE_TEST_SUITE_P(moving, OnnxShape, ::testing::ValuesIn(kMoving));
INSTANTIATE_TEST_SUITE_P(windows, OnnxShape, ::testing::ValuesIn(kWindows));
INSTANTIATE_TEST_SUITE_P(products, OnnxShape, ::testing::ValuesIn(kProducts));

}  // namespace
}  // namespace allot::onnx_test
