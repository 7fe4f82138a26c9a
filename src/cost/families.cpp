#include "cost/families.h"

#include <algorithm>
#include <array>
#include <string>

namespace allot {
namespace {

// Words that a type's name contains, in lower case; the first row that matches decides.
struct Rule {
  std::string_view word;
  OpFamily family;
};

constexpr std::array kRules = std::to_array<Rule>({
    // Before the rules whose words they contain.
    {"layernorm", OpFamily::kNormalisation},
    {"matmulnbits", OpFamily::kMatmul},
    {"convinteger", OpFamily::kConvolution},
    {"convert", OpFamily::kElementwise},
    {"rotary", OpFamily::kElementwise},
    {"upsample", OpFamily::kElementwise},
    {"quantizelinear", OpFamily::kElementwise},
    {"attention", OpFamily::kAttention},
    {"flash", OpFamily::kAttention},
    {"conv", OpFamily::kConvolution},
    {"matmul", OpFamily::kMatmul},
    {"gemm", OpFamily::kMatmul},
    {"linear", OpFamily::kMatmul},
    {"einsum", OpFamily::kMatmul},
    {"addmm", OpFamily::kMatmul},
    {"bmm", OpFamily::kMatmul},
    {"dense", OpFamily::kMatmul},
    {"lstm", OpFamily::kMatmul},
    {"gru", OpFamily::kMatmul},
    {"rnn", OpFamily::kMatmul},
    {"moe", OpFamily::kMatmul},
    {"norm", OpFamily::kNormalisation},
    {"softmax", OpFamily::kNormalisation},
    {"lrn", OpFamily::kNormalisation},
    {"embed", OpFamily::kGather},
    {"gather", OpFamily::kGather},
    {"scatter", OpFamily::kGather},
    {"index", OpFamily::kGather},
});

// Element-wise ops whose names contain a word of the rules.
constexpr std::array<std::string_view, 4> kElementwiseTypes{"hardswish", "nonzero", "eyelike", "onehot"};

int bitsOf(DataType type) {
  switch (type) {
    case DataType::kFloat16:
    case DataType::kBFloat16:
      return 16;
    case DataType::kFloat8:
    case DataType::kInt8:
      return 8;
    case DataType::kFloat4:
    case DataType::kInt4:
      return 4;
    default:
      return 32;
  }
}

Efficiency matmulEfficiency(int bits) {
  if (bits == 32) return {.compute = 0.84, .memory = 0.71, .overlap = 0.45, .launches = 1, .dense = true};
  if (bits == 16) return {.compute = 0.88, .memory = 0.91, .overlap = 0.57, .launches = 1, .dense = true};
  if (bits == 8) return {.compute = 0.72, .memory = 0.84, .overlap = 0.00, .launches = 2, .dense = true};
  return {.compute = 0.65, .memory = 0.99, .overlap = 0.69, .launches = 3, .dense = true};
}

}  // namespace

std::string_view name(OpFamily family) {
  constexpr std::array<std::string_view, 6> kNames{"matmul",        "convolution", "attention",
                                                   "normalisation", "gather",      "elementwise"};
  return kNames[static_cast<std::size_t>(family)];
}

bool isProduct(OpFamily family) {
  return family == OpFamily::kMatmul || family == OpFamily::kConvolution || family == OpFamily::kAttention;
}

OpFamily familyOf(std::string_view op_type) {
  // A domain ends at the last separator: "com.microsoft::Attention", "aten.addmm", "ai.onnx/Conv".
  const std::size_t separator = op_type.find_last_of(":/.");
  if (separator != std::string_view::npos && separator + 1 < op_type.size())
    op_type.remove_prefix(separator + 1);
  std::string lower(op_type.substr(0, 64));
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  // "QLinearAdd" is an addition.
  if (lower.starts_with("qlinear")) lower.erase(0, 7);
  if (std::find(kElementwiseTypes.begin(), kElementwiseTypes.end(), lower) != kElementwiseTypes.end())
    return OpFamily::kElementwise;
  for (const Rule& rule : kRules) {
    if (lower.find(rule.word) != std::string::npos) return rule.family;
  }
  return OpFamily::kElementwise;
}

Efficiency efficiencyOf(OpFamily family, DataType type) {
  const int bits = bitsOf(type);
  switch (family) {
    case OpFamily::kMatmul:
      return matmulEfficiency(bits);
    case OpFamily::kConvolution:
      // In fp32 Winograd's method makes up for what is lost, and the power limit does not show. TF32 moves
      // the same bytes, with the arithmetic of products. Narrower types are not measured: taken as products.
      if (type == DataType::kTf32)
        return {.compute = 0.84, .memory = 0.49, .overlap = 0.00, .launches = 1, .dense = true};
      if (bits == 32)
        return {.compute = 1.00, .memory = 0.49, .overlap = 0.00, .launches = 1, .dense = false};
      return matmulEfficiency(bits);
    case OpFamily::kAttention:
      return {.compute = 0.56, .memory = 0.88, .overlap = 0.00, .launches = 4, .dense = true};
    case OpFamily::kNormalisation:
      return {.compute = 0.73, .memory = 0.76, .overlap = 0.11, .launches = 1, .dense = false};
    case OpFamily::kGather:
      return {.compute = 0.71, .memory = 0.62, .overlap = 0.04, .launches = 1, .dense = false};
    case OpFamily::kElementwise:
      return {.compute = 1.00, .memory = 0.80, .overlap = 1.00, .launches = 1, .dense = false};
  }
  return {};
}

}  // namespace allot
