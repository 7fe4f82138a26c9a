#include "report/demo_problem.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>

namespace allot {
namespace {

struct Speed {
  double flops_per_second, bytes_per_second;
};

constexpr std::int64_t kGiB = std::int64_t{1} << 30;
constexpr double kHidden = 8192, kTokens = 512, kVocabulary = 32000,
                 kHalf = 2;  // kHalf: bytes of a 16-bit number
constexpr int kBlocks = 8;
// What large kernels reach in practice, not what the data sheets say.
constexpr Speed kSpeeds[] = {{60e12, 750e9}, {18e12, 300e9}, {1.2e12, 60e9}};

class Builder {
 public:
  Result<Problem> build() {
    problem_.name = "demo: language model, 8 blocks";
    problem_.costs = "estimated";
    addCluster();
    OpId x = embeddings();
    for (int block = 0; block < kBlocks; ++block) x = addBlock(fmt::format("block{}", block), x);
    const OpId norm = op("final.norm", {x}, 6 * activation_, 0, activation_);
    op("final.head", {norm}, 2 * kTokens * kHidden * kVocabulary, kHidden * kVocabulary,
       kTokens * kVocabulary);
    for (std::size_t i = 0; i < problem_.opCount(); ++i) {
      if (!consumers_[i].empty()) {
        problem_.addTensor(OpId(i), consumers_[i], static_cast<std::int64_t>(output_[i] * kHalf),
                           std::nan(""));
      }
    }
    ALLOT_CHECK(problem_.finish());
    return std::move(problem_);
  }

 private:
  Problem problem_;
  std::vector<std::vector<OpId>> consumers_;
  std::vector<double> output_;  // numbers, not bytes
  double activation_ = kTokens * kHidden;

  void addCluster() {
    Cluster& cluster = problem_.cluster;
    cluster.name = "one large GPU, two small ones, one CPU";
    cluster.classes = {{"large", DeviceKind::kAccelerator, 4e-6, 1},
                       {"small", DeviceKind::kAccelerator, 4e-6, 1},
                       {"cpu", DeviceKind::kCpu, 0, 1}};
    cluster.devices = {{"gpu-large", ClassId(0), 10 * kGiB, {}},
                       {"gpu-small-0", ClassId(1), 6 * kGiB, {}},
                       {"gpu-small-1", ClassId(1), 6 * kGiB, {}},
                       {"cpu", ClassId(2), 64 * kGiB, {}}};
    const auto link = [&](std::string_view from, std::string_view to, double latency, double bandwidth) {
      const auto a = cluster.parseEnd(from), b = cluster.parseEnd(to);
      cluster.links.push_back({a->first, b->first, a->second, b->second, latency, bandwidth});
    };
    link("*", "*", 12e-6, 6e9);
    link("gpu-large", "cpu", 8e-6, 12e9);
    link("cpu", "gpu-large", 8e-6, 12e9);
    link("gpu-small-0", "gpu-small-1", 10e-6, 10e9);
    link("gpu-small-1", "gpu-small-0", 10e-6, 10e9);
  }

  // `weights` and `output` are counts of numbers.
  OpId op(std::string name, std::initializer_list<OpId> inputs, double flops, double weights, double output) {
    OpGraph& graph = problem_.graph;
    const OpId id = graph.addOp(std::move(name));
    double moved = weights + output;
    for (const OpId input : inputs) {
      consumers_[input.index()].push_back(id);
      moved += output_[input.index()];
    }
    consumers_.emplace_back();
    output_.push_back(output);
    graph.op_flops[id.index()] = flops;
    graph.op_weight_bytes[id.index()] = static_cast<std::int64_t>(weights * kHalf);
    graph.op_memory_bytes[id.index()] = static_cast<std::int64_t>(output * kHalf);
    for (const Speed& speed : kSpeeds) {
      problem_.op_seconds.push_back(
          std::max(flops / speed.flops_per_second, moved * kHalf / speed.bytes_per_second));
    }
    return id;
  }

  OpId dense(std::string name, OpId input, double in, double out) {
    return op(std::move(name), {input}, 2 * kTokens * in * out, in * out, kTokens * out);
  }

  OpId embeddings() {
    const OpId tokens = op("embed.tokens", {}, activation_, kVocabulary * kHidden, activation_);
    const OpId positions = op("embed.positions", {}, activation_, kTokens * kHidden, activation_);
    return op("embed.add", {tokens, positions}, activation_, 0, activation_);
  }

  OpId addBlock(const std::string& block, OpId x) {
    const double scores = 64 * kTokens * kTokens;  // heads x tokens x tokens
    const OpId norm = op(block + ".norm1", {x}, 6 * activation_, kHidden, activation_);
    const OpId q = dense(block + ".query", norm, kHidden, kHidden);
    const OpId k = dense(block + ".key", norm, kHidden, kHidden);
    const OpId v = dense(block + ".value", norm, kHidden, kHidden);
    const OpId score = op(block + ".scores", {q, k}, 2 * kTokens * activation_, 0, scores);
    const OpId soft = op(block + ".softmax", {score}, 5 * scores, 0, scores);
    const OpId context = op(block + ".context", {soft, v}, 2 * kTokens * activation_, 0, activation_);
    const OpId out = dense(block + ".out", context, kHidden, kHidden);
    const OpId add = op(block + ".add1", {x, out}, activation_, 0, activation_);
    const OpId norm2 = op(block + ".norm2", {add}, 6 * activation_, kHidden, activation_);
    const OpId up = dense(block + ".up", norm2, kHidden, 4 * kHidden);
    const OpId act = op(block + ".gelu", {up}, 8 * 4 * activation_, 0, 4 * activation_);
    const OpId down = dense(block + ".down", act, 4 * kHidden, kHidden);
    return op(block + ".add2", {add, down}, activation_, 0, activation_);
  }
};

}  // namespace

Result<Problem> demoProblem() {
  return Builder().build();
}

}  // namespace allot
