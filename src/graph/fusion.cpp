#include "graph/fusion.h"

#include <algorithm>

namespace allot {
namespace {

// ONNX Runtime, cpu provider: the fusions that its page "Graph Optimizations in ONNX Runtime" lists as basic
// (Conv with Add, Mul, BatchNormalization; Relu with Clip) and as extended for the cpu (Gemm and Conv with
// activations, MatMul with Add, Gelu with and without bias, layer normalisation with and without skip,
// attention). The fusion of embedding layers is left out: its parts hold tables that a plan may want apart.
constexpr std::string_view kActivation = "Relu|Sigmoid|Tanh|LeakyRelu|Clip|HardSigmoid";

std::vector<FusionRule> ortCpuRules() {
  return {
      {"skip-layer-norm",
       {{"Add"},
        {"ReduceMean", 0},
        {"Sub", 0, 1},
        {"Pow|Mul", 2},
        {"ReduceMean", 3},
        {"Add", 4},
        {"Sqrt", 5},
        {"Div", 2, 6},
        {"Mul", 7},
        {"Add", 8}}},
      {"layer-norm",
       {{"ReduceMean"},
        {"Sub", 0},
        {"Pow|Mul", 1},
        {"ReduceMean", 2},
        {"Add", 3},
        {"Sqrt", 4},
        {"Div", 1, 5},
        {"Mul", 6},
        {"Add", 7}}},
      {"bias-gelu", {{"Add"}, {"Div|Mul", 0}, {"Erf", 1}, {"Add", 2}, {"Mul", 0, 3}, {"Mul", 4}}},
      {"gelu", {{"Div|Mul"}, {"Erf", 0}, {"Add", 1}, {"Mul", 2}, {"Mul", 3}}},
      {"attention", {{"MatMul"}, {"Div|Mul", 0}, {"Add", 1}, {"Softmax", 2}, {"MatMul", 3}}},
      {"attention", {{"MatMul"}, {"Add", 0}, {"Softmax", 1}, {"MatMul", 2}}},
      {"attention", {{"MatMul"}, {"Div|Mul", 0}, {"Softmax", 1}, {"MatMul", 2}}},
      {"attention", {{"MatMul"}, {"Softmax", 0}, {"MatMul", 1}}},
      {"conv-add-activation", {{"Conv"}, {"BatchNormalization", 0}, {"Add", 1}, {kActivation, 2}}},
      {"conv-add-activation", {{"Conv"}, {"Add", 0}, {kActivation, 1}}},
      {"conv-activation", {{"Conv"}, {"BatchNormalization", 0}, {kActivation, 1}}},
      {"skip-layer-norm", {{"Add"}, {"Add", 0}, {"LayerNormalization|SimplifiedLayerNormalization", 1}}},
      {"skip-layer-norm", {{"Add"}, {"LayerNormalization|SimplifiedLayerNormalization", 0}}},
      {"bias-gelu", {{"Add"}, {"Gelu|FastGelu", 0}}},
      {"matmul-add-activation", {{"MatMul"}, {"Add", 0}, {kActivation, 1}}},
      {"gemm-activation", {{"Gemm"}, {kActivation, 0}}},
      {"matmul-add", {{"MatMul"}, {"Add", 0}}},
      {"conv-activation", {{"Conv"}, {kActivation, 0}}},
      {"conv-batch-norm", {{"Conv"}, {"BatchNormalization", 0}}},
      {"conv-add", {{"Conv"}, {"Add", 0}}},
      {"conv-mul", {{"Conv"}, {"Mul", 0}}},
      {"relu-clip", {{"Relu"}, {"Clip", 0}}},
  };
}

bool isOneOf(std::string_view type, std::string_view alternatives) {
  while (!alternatives.empty()) {
    const std::size_t bar = alternatives.find('|');
    if (alternatives.substr(0, bar) == type) return true;
    alternatives = bar == std::string_view::npos ? std::string_view{} : alternatives.substr(bar + 1);
  }
  return false;
}

class Matcher {
 public:
  Matcher(const OpGraph& graph, const FusionRule& rule, const std::vector<std::uint8_t>& taken)
      : graph_(graph), rule_(rule), taken_(taken), op_(rule.steps.size()) {}

  // The ops of the group with this exit, in the order of the steps, or nothing.
  std::vector<OpId> match(OpId exit) {
    if (!fits(exit, op_.size() - 1)) return {};
    op_.back() = exit;
    return read(op_.size() - 1, 0) ? op_ : std::vector<OpId>{};
  }

 private:
  const OpGraph& graph_;
  const FusionRule& rule_;
  const std::vector<std::uint8_t>& taken_;
  std::vector<OpId> op_;  // by step

  bool fits(OpId op, std::size_t step) const {
    return !taken_[op.index()] && std::find(op_.begin(), op_.end(), op) == op_.end() &&
           isOneOf(graph_.type_name[graph_.op_type[op.index()]], rule_.steps[step].types);
  }

  // Finds the ops that `step` reads, from its `which`-th on, then those of the steps before it.
  bool read(std::size_t step, std::size_t which) {
    if (which == 2) return step == 0 ? closed() : read(step - 1, 0);
    const int wanted = which == 0 ? rule_.steps[step].reads : rule_.steps[step].reads_too;
    if (wanted < 0) return read(step, 2);
    OpId& from = op_[static_cast<std::size_t>(wanted)];
    if (!op_[step].valid()) return false;
    const auto inputs = graph_.inputs(op_[step]);
    if (from.valid()) {
      return std::any_of(inputs.begin(), inputs.end(),
                         [&](TensorId t) { return graph_.producer(t) == from; }) &&
             read(step, which + 1);
    }
    for (const TensorId tensor : inputs) {
      const OpId producer = graph_.producer(tensor);
      if (!fits(producer, static_cast<std::size_t>(wanted))) continue;
      from = producer;
      if (read(step, which + 1)) return true;
      from = OpId();
    }
    return false;
  }

  // Nothing outside reads an inner op; every step was found.
  bool closed() const {
    for (std::size_t k = 0; k < op_.size(); ++k) {
      if (!op_[k].valid()) return false;
      if (k + 1 == op_.size()) break;
      for (const TensorId tensor : graph_.outputs(op_[k])) {
        for (const OpId consumer : graph_.consumers(tensor)) {
          if (std::find(op_.begin(), op_.end(), consumer) == op_.end()) return false;
        }
      }
    }
    return true;
  }
};

}  // namespace

std::span<const FusionRule> fusionRules(Fuse backend) {
  static const std::vector<FusionRule> ort_cpu = ortCpuRules();
  return backend == Fuse::kOrtCpu ? std::span<const FusionRule>(ort_cpu) : std::span<const FusionRule>{};
}

std::vector<FusedGroup> findFusedGroups(const OpGraph& graph, std::span<const FusionRule> rules) {
  std::vector<FusedGroup> groups;
  std::vector<std::uint8_t> taken(graph.opCount(), 0);
  for (const FusionRule& rule : rules) {
    for (const OpId exit : graph.topologicalOrder()) {
      std::vector<OpId> ops = Matcher(graph, rule, taken).match(exit);
      if (ops.empty()) continue;
      for (const OpId op : ops) taken[op.index()] = 1;
      groups.push_back({rule.name, std::move(ops)});
    }
  }
  return groups;
}

}  // namespace allot
