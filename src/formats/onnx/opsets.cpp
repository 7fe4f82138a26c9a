#include "formats/onnx/opsets.h"

#include <fmt/format.h>

#include "formats/onnx/functions.h"

namespace allot::onnx {
namespace {

// Operators of the domain ai.onnx that any version up to kNewestOpset has (docs/Operators.md of ONNX 1.23).
// With a blank before and after each.
constexpr std::string_view kOperators =
    " Abs Acos Acosh Add AffineGrid And ArgMax ArgMin Asin Asinh Atan Atanh Attention AveragePool "
    "BatchNormalization Bernoulli BitCast BitShift BitwiseAnd BitwiseNot BitwiseOr BitwiseXor "
    "BlackmanWindow Cast CastLike Ceil Celu CenterCropPad Clip Col2Im Compress Concat "
    "ConcatFromSequence Constant ConstantOfShape Conv ConvInteger ConvTranspose Cos Cosh CumProd "
    "CumSum DFT DeformConv DepthToSpace DequantizeLinear Det Div Dropout DynamicQuantizeLinear Einsum "
    "Elu Equal Erf Exp Expand EyeLike Flatten Floor GRU Gather GatherElements GatherND Gelu Gemm "
    "GlobalAveragePool GlobalLpPool GlobalMaxPool Greater GreaterOrEqual GridSample "
    "GroupNormalization HammingWindow HannWindow HardSigmoid HardSwish Hardmax Identity If "
    "ImageDecoder InstanceNormalization IsInf IsNaN LRN LSTM LayerNormalization LeakyRelu Less "
    "LessOrEqual Log LogSoftmax Loop LpNormalization LpPool MatMul MatMulInteger Max MaxPool "
    "MaxRoiPool MaxUnpool Mean MeanVarianceNormalization MelWeightMatrix Min Mish Mod Mul Multinomial "
    "Neg NegativeLogLikelihoodLoss NonMaxSuppression NonZero Not OneHot Optional OptionalGetElement "
    "OptionalHasElement Or PRelu Pad Pow QLinearConv QLinearMatMul QuantizeLinear RMSNormalization "
    "RNN RandomNormal RandomNormalLike RandomUniform RandomUniformLike Range Reciprocal ReduceL1 "
    "ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum "
    "ReduceSumSquare RegexFullMatch Relu Reshape Resize ReverseSequence RoiAlign RotaryEmbedding "
    "Round STFT Scan Scatter ScatterElements ScatterND Selu SequenceAt SequenceConstruct "
    "SequenceEmpty SequenceErase SequenceInsert SequenceLength SequenceMap Shape Shrink Sigmoid Sign "
    "Sin Sinh Size Slice Softmax SoftmaxCrossEntropyLoss Softplus Softsign SpaceToDepth Split "
    "SplitToSequence Sqrt Squeeze StringConcat StringNormalizer StringSplit Sub Sum Swish Tan Tanh "
    "TensorScatter TfIdfVectorizer ThresholdedRelu Tile TopK Transpose Trilu Unique Unsqueeze "
    "Upsample Where Xor ";

bool isKnown(std::string_view op_type) {
  return op_type.find(' ') == std::string_view::npos &&
         kOperators.find(fmt::format(" {} ", op_type)) != std::string_view::npos;
}

// The first node of the standard domain that passes the test, bodies included, or null.
template <class Test>
const Node* findStandard(const Graph& graph, const Test& test) {
  for (const Node& node : graph.nodes) {
    if (node.domain.empty() && test(node)) return &node;
    for (const Attribute& attribute : node.attributes) {
      const Node* found = attribute.graph ? findStandard(*attribute.graph, test) : nullptr;
      for (const auto& body : attribute.graphs) {
        if (found == nullptr) found = findStandard(*body, test);
      }
      if (found != nullptr) return found;
    }
  }
  return nullptr;
}

}  // namespace

Result<void> checkOpsets(const Model& model, Warnings& warnings) {
  std::int64_t version = 0;
  for (const Opset& opset : model.opsets) {
    if (opset.domain.empty()) version = opset.version;
  }
  // Models of the first two versions of the format had no such field.
  if (version == 0 && model.ir_version > 0 && model.ir_version < 3) return {};
  if (version < 1) {
    if (findStandard(model.graph, [](const Node&) { return true; }) == nullptr) return {};
    return badInput("opset_import", "no version of ai.onnx is given",
                    "check that the file is complete, or export the model again");
  }
  if (version <= kNewestOpset) return {};
  const auto unknown_type = [](const Node& node) { return !isKnown(node.op_type); };
  if (const Node* unknown = findStandard(model.graph, unknown_type))
    return badInput(
        "opset_import",
        fmt::format("version {} of ai.onnx with the operator {} (node \"{}\"); the newest known is {}",
                    version, unknown->op_type, labelOf(*unknown), kNewestOpset),
        fmt::format("export the model with opset {}", kNewestOpset));
  warnings.push_back(
      fmt::format("opset {} of ai.onnx is newer than {}, the newest known; all its operators are "
                  "known and read as of {}",
                  version, kNewestOpset, kNewestOpset));
  return {};
}

}  // namespace allot::onnx
