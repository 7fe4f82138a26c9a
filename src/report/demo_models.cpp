#include "report/demo_models.h"

#include <fmt/format.h>

#include <cmath>
#include <initializer_list>

#include "allot/catalogue.h"
#include "allot/cost.h"
#include "allot/formats.h"

namespace allot {
namespace {

// Adds ops whose sizes are counted in numbers of one type.
class ModelBuilder {
 public:
  ModelBuilder(std::string name, DataType type, double number_bytes) : type_(type), number_(number_bytes) {
    file_.name = std::move(name);
    file_.graph.model_name = {file_.name};
  }

  OpId op(std::string name, std::string_view type, std::initializer_list<OpId> inputs, double flops,
          double weights, double output) {
    OpGraph& graph = file_.graph;
    const OpId id = graph.addOp(std::move(name));
    const std::size_t i = id.index();
    double read = weights;
    for (const OpId input : inputs) {
      consumers_[input.index()].push_back(id);
      read += output_[input.index()];
    }
    consumers_.emplace_back();
    output_.push_back(output);
    graph.op_type[i] = graph.internType(type);
    graph.op_flops[i] = flops;
    graph.op_weight_bytes[i] = bytes(weights);
    graph.op_read_bytes[i] = bytes(read);
    graph.op_written_bytes[i] = bytes(output);
    graph.op_data_type[i] = type_;
    file_.op_seconds.push_back(std::nan(""));
    file_.op_class_seconds.emplace_back();
    return id;
  }

  // Numbers that an op puts out.
  double output(OpId op) const { return output_[op.index()]; }
  void lookUp(OpId table, double rows) {
    // A look-up reads the rows it needs, not the whole table.
    file_.graph.op_read_bytes[table.index()] = bytes(rows);
  }

  Result<GraphFile> finish() {
    for (std::size_t i = 0; i < consumers_.size(); ++i)
      file_.graph.addTensor(OpId(i), consumers_[i], bytes(output_[i]));
    ALLOT_CHECK(file_.graph.finish());
    return std::move(file_);
  }

 private:
  GraphFile file_;
  DataType type_;
  double number_;
  std::vector<std::vector<OpId>> consumers_;
  std::vector<double> output_;

  std::int64_t bytes(double numbers) const { return static_cast<std::int64_t>(numbers * number_); }
};

class LanguageModel {
 public:
  Result<GraphFile> build() {
    const OpId embed = model_.op("embed_tokens", "Gather", {}, 0, kVocabulary * kHidden, kActivation);
    model_.lookUp(embed, kActivation);
    OpId x = embed;
    for (int i = 0; i < kLayers; ++i) x = layer(fmt::format("layers.{}", i), x);
    const OpId last = norm("norm", x);
    dense("lm_head", last, kHidden, kVocabulary);
    return model_.finish();
  }

 private:
  static constexpr double kHidden = 5120, kInner = 13824, kHeads = 40, kTokens = 512, kVocabulary = 32000;
  static constexpr double kActivation = kTokens * kHidden, kScores = kHeads * kTokens * kTokens;
  static constexpr int kLayers = 40;
  ModelBuilder model_{"language model, 13e9 parameters, 512 tokens", DataType::kFloat16, 2};

  OpId dense(std::string name, OpId input, double in, double out) {
    return model_.op(std::move(name), "MatMul", {input}, 2 * kTokens * in * out, in * out, kTokens * out);
  }
  OpId norm(std::string name, OpId input) {
    return model_.op(std::move(name), "RMSNormalization", {input}, 4 * kActivation, kHidden, kActivation);
  }
  OpId add(std::string name, OpId a, OpId b) {
    return model_.op(std::move(name), "Add", {a, b}, kActivation, 0, kActivation);
  }

  OpId layer(const std::string& layer, OpId x) {
    const std::string attention = layer + ".self_attn.", mlp = layer + ".mlp.";
    const OpId norm1 = norm(layer + ".input_norm", x);
    const OpId q = dense(attention + "q_proj", norm1, kHidden, kHidden);
    const OpId k = dense(attention + "k_proj", norm1, kHidden, kHidden);
    const OpId v = dense(attention + "v_proj", norm1, kHidden, kHidden);
    const OpId rotated_q =
        model_.op(attention + "rotary_q", "RotaryEmbedding", {q}, 3 * kActivation, 0, kActivation);
    const OpId rotated_k =
        model_.op(attention + "rotary_k", "RotaryEmbedding", {k}, 3 * kActivation, 0, kActivation);
    const OpId scores = model_.op(attention + "scores", "MatMul", {rotated_q, rotated_k},
                                  2 * kTokens * kActivation, 0, kScores);
    const OpId softmax = model_.op(attention + "softmax", "Softmax", {scores}, 5 * kScores, 0, kScores);
    const OpId context =
        model_.op(attention + "context", "MatMul", {softmax, v}, 2 * kTokens * kActivation, 0, kActivation);
    const OpId out = dense(attention + "o_proj", context, kHidden, kHidden);
    const OpId middle = add(layer + ".add_attn", x, out);
    const OpId norm2 = norm(layer + ".post_norm", middle);
    const OpId gate = dense(mlp + "gate_proj", norm2, kHidden, kInner);
    const OpId up = dense(mlp + "up_proj", norm2, kHidden, kInner);
    const OpId gated =
        model_.op(mlp + "silu_mul", "Mul", {gate, up}, 6 * kTokens * kInner, 0, kTokens * kInner);
    const OpId down = dense(mlp + "down_proj", gated, kInner, kHidden);
    return add(layer + ".add_mlp", middle, down);
  }
};

// Output channels of a module: 1x1, then 1x1 before 3x3, then 1x1 before 5x5, then 1x1 behind the pool.
struct Module {
  const char* name;
  double plain, reduce3, out3, reduce5, out5, pool;
};

class VisionModel {
 public:
  Result<GraphFile> build() {
    OpId x = convolution("conv1.7x7", none_, 3, 64, 7, 112);
    x = pool("pool1", x, 64, 56);
    x = convolution("conv2.reduce", x, 64, 64, 1, 56);
    x = convolution("conv2.3x3", x, 64, 192, 3, 56);
    x = pool("pool2", x, 192, 28);
    double channels = 192;
    for (const Module& m :
         {Module{"inception3a", 64, 96, 128, 16, 32, 32}, {"inception3b", 128, 128, 192, 32, 96, 64}})
      x = module(m, x, channels, 28);
    x = pool("pool3", x, channels, 14);
    for (const Module& m : {Module{"inception4a", 192, 96, 208, 16, 48, 64},
                            {"inception4b", 160, 112, 224, 24, 64, 64},
                            {"inception4c", 128, 128, 256, 24, 64, 64},
                            {"inception4d", 112, 144, 288, 32, 64, 64},
                            {"inception4e", 256, 160, 320, 32, 128, 128}})
      x = module(m, x, channels, 14);
    x = pool("pool4", x, channels, 7);
    for (const Module& m :
         {Module{"inception5a", 256, 160, 320, 32, 128, 128}, {"inception5b", 384, 192, 384, 48, 128, 128}})
      x = module(m, x, channels, 7);
    const OpId average =
        model_.op("head.pool", "GlobalAveragePool", {x}, model_.output(x), 0, kImages * channels);
    const OpId logits = model_.op("head.fc", "Gemm", {average}, 2 * kImages * channels * 1000,
                                  channels * 1000 + 1000, kImages * 1000);
    model_.op("head.softmax", "Softmax", {logits}, 5 * kImages * 1000, 0, kImages * 1000);
    return model_.finish();
  }

 private:
  static constexpr double kImages = 16;
  ModelBuilder model_{"GoogLeNet, 16 images", DataType::kFloat32, 4};
  OpId none_;

  OpId convolution(const std::string& name, OpId input, double in, double out, double kernel, double side) {
    const double weights = kernel * kernel * in * out, numbers = kImages * out * side * side;
    const double flops = 2 * kernel * kernel * in * numbers;
    const OpId conv = input.valid()
                          ? model_.op(name + ".conv", "Conv", {input}, flops, weights + out, numbers)
                          : model_.op(name + ".conv", "Conv", {}, flops, weights + out, numbers);
    return model_.op(name + ".relu", "Relu", {conv}, numbers, 0, numbers);
  }

  OpId pool(std::string name, OpId input, double channels, double side) {
    const double numbers = kImages * channels * side * side;
    return model_.op(std::move(name), "MaxPool", {input}, 9 * numbers, 0, numbers);
  }

  OpId module(const Module& m, OpId x, double& channels, double side) {
    const std::string at = std::string(m.name) + ".";
    const OpId plain = convolution(at + "1x1", x, channels, m.plain, 1, side);
    const OpId reduce3 = convolution(at + "3x3_reduce", x, channels, m.reduce3, 1, side);
    const OpId out3 = convolution(at + "3x3", reduce3, m.reduce3, m.out3, 3, side);
    const OpId reduce5 = convolution(at + "5x5_reduce", x, channels, m.reduce5, 1, side);
    const OpId out5 = convolution(at + "5x5", reduce5, m.reduce5, m.out5, 5, side);
    const OpId pooled = pool(at + "pool", x, channels, side);
    const OpId proj = convolution(at + "pool_proj", pooled, channels, m.pool, 1, side);
    channels = m.plain + m.out3 + m.out5 + m.pool;
    return model_.op(at + "concat", "Concat", {plain, out3, out5, proj}, 0, 0,
                     kImages * channels * side * side);
  }
};

Result<Problem> priced(Result<GraphFile> model) {
  ALLOT_TRY(GraphFile graph, std::move(model));
  ALLOT_TRY(const Cluster cluster, clusterFromShortForm("1xRTX-3090,2xT4,cpu:16", "pcie3"));
  ALLOT_CHECK(priceGraph(graph, cluster));
  return makeProblem(std::move(graph), cluster);
}

}  // namespace

Result<Problem> demoLanguageModel() {
  return priced(LanguageModel().build());
}

Result<Problem> demoVisionModel() {
  return priced(VisionModel().build());
}

}  // namespace allot
