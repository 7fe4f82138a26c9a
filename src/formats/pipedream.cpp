#include "formats/pipedream.h"

#include <algorithm>

namespace allot {
namespace {

constexpr std::string_view kBackward = ".bwd";

std::string_view typeOf(std::string_view description) {
  std::string_view type = description.substr(0, description.find('('));
  while (type.ends_with(' ')) type.remove_suffix(1);
  return type;
}

}  // namespace

const std::uint32_t* PipeDreamProfile::find(const std::string& id) const {
  const auto found = layer_by_id_.find(id);
  return found == layer_by_id_.end() ? nullptr : &found->second;
}

bool PipeDreamProfile::add(Layer layer) {
  // "x.bwd" would be taken for the backward op of "x".
  const bool like_backward =
      layer.id.ends_with(kBackward) && find(layer.id.substr(0, layer.id.size() - kBackward.size()));
  if (like_backward || find(layer.id + std::string(kBackward))) return false;
  if (!layer_by_id_.emplace(layer.id, static_cast<std::uint32_t>(layers_.size())).second) return false;
  layers_.push_back(std::move(layer));
  return true;
}

Result<GraphFile> PipeDreamProfile::graph(std::string name) const {
  GraphFile file;
  file.name = std::move(name);
  file.goal = Goal::kThroughput;
  OpGraph& graph = file.graph;
  std::vector<OpId> backward(layers_.size());
  for (const Layer& layer : layers_) {
    const std::size_t op = graph.addOp(layer.id).index();
    graph.op_type[op] = graph.internType(typeOf(layer.description));
    graph.op_weight_bytes[op] = layer.param_bytes;
    file.op_seconds.push_back(layer.isInput() ? 0 : layer.forward_seconds);
  }
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const Layer& layer = layers_[i];
    if (layer.isInput()) continue;
    backward[i] = graph.addOp(layer.id + std::string(kBackward));
    const std::size_t op = backward[i].index();
    const GroupId group(graph.group_name.size());
    graph.group_name.push_back(layer.id);
    graph.op_group[i] = graph.op_group[op] = group;
    graph.op_phase[op] = Phase::kBackward;
    graph.op_type[op] = graph.op_type[i];
    file.op_seconds.push_back(layer.backward_seconds);
  }
  file.op_class_seconds.resize(graph.opCount());

  std::vector<std::pair<std::uint32_t, std::uint32_t>> edges = edges_;
  std::sort(edges.begin(), edges.end());
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  std::vector<OpId> consumers;
  auto edge = edges.begin();
  for (std::uint32_t i = 0; i < layers_.size(); ++i) {
    consumers.clear();
    for (; edge != edges.end() && edge->first == i; ++edge) consumers.emplace_back(edge->second);
    if (backward[i].valid()) consumers.push_back(backward[i]);
    if (!consumers.empty()) graph.addTensor(OpId(i), consumers, layers_[i].out_bytes);
  }
  for (const auto& [from, to] : edges) {
    if (!backward[from].valid() || !backward[to].valid()) continue;
    const OpId consumer[] = {backward[from]};
    graph.addTensor(backward[to], consumer, layers_[from].out_bytes);
  }
  const auto finished = graph.finish();
  if (finished) return file;
  // A cycle is in the layers as well; name it in the edges of the file, not in the gradients made from them.
  OpGraph forward;
  for (const Layer& layer : layers_) forward.addOp(layer.id);
  for (const auto& [from, to] : edges) {
    const OpId consumer[] = {OpId(to)};
    forward.addTensor(OpId(from), consumer, 0);
  }
  ALLOT_CHECK(forward.finish());
  return fail(finished.error());
}

}  // namespace allot
