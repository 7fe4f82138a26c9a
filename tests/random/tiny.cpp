#include "random/tiny.h"

#include <cmath>
#include <nlohmann/json.hpp>

namespace allot::tiny {
namespace {

using Json = nlohmann::ordered_json;

std::string numbered(char letter, int number) {
  return letter + std::to_string(number);
}

std::vector<OpId> ids(const std::vector<int>& ops) {
  std::vector<OpId> list;
  for (const int op : ops) list.emplace_back(op);
  return list;
}

std::vector<int> numbers(std::span<const OpId> ops) {
  std::vector<int> list;
  for (const OpId op : ops) list.push_back(static_cast<int>(op.value));
  return list;
}

Json names(const std::vector<int>& ops) {
  Json list = Json::array();
  for (const int op : ops) list.push_back(numbered('o', op));
  return list;
}

Json time(double seconds) {
  return seconds == kNone ? Json(nullptr) : Json(seconds);
}

std::string endName(LinkEnd kind, std::uint32_t index) {
  switch (kind) {
    case LinkEnd::kDevice:
      return numbered('d', static_cast<int>(index));
    case LinkEnd::kClass:
      return numbered('c', static_cast<int>(index));
    case LinkEnd::kHost:
      return numbered('h', static_cast<int>(index));
    case LinkEnd::kAny:
      break;
  }
  return "*";
}

Json opJson(const Tiny& tiny, int index) {
  const Op& op = tiny.ops[static_cast<std::size_t>(index)];
  Json item{{"name", numbered('o', index)}, {"time", Json::array()}};
  for (const double seconds : op.seconds) item["time"].push_back(time(seconds));
  if (op.memory != 0) item["memory"] = op.memory;
  if (op.activations != 0) item["activations"] = op.activations;
  Json weights = Json::array();
  for (std::size_t b = 0; b < tiny.blocks.size(); ++b) {
    for (const int reader : tiny.blocks[b].readers) {
      if (reader == index)
        weights.push_back({{"name", numbered('b', static_cast<int>(b))}, {"bytes", tiny.blocks[b].bytes}});
    }
  }
  if (weights.empty()) {
    if (op.weights != 0) item["weights"] = op.weights;
  } else {
    if (op.weights != 0) weights.push_back({{"name", "own-" + numbered('o', index)}, {"bytes", op.weights}});
    item["weights"] = weights;
  }
  if (op.workspace != 0) item["workspace"] = op.workspace;
  if (tiny.models.size() > 1) item["model"] = numbered('m', op.model);
  if (op.phase != Phase::kForward) item["phase"] = std::string(name(op.phase));
  if (op.group >= 0) item["group"] = numbered('g', op.group);
  return item;
}

Json tensorJson(const Tiny& tiny, const Tensor& tensor) {
  Json item{{"from", numbered('o', tensor.from)}, {"to", names(tensor.to)}, {"bytes", tensor.bytes}};
  if (!tensor.matrix.empty()) {
    const std::size_t devices = tiny.devices.size();
    item["time"] = Json::array();
    for (std::size_t a = 0; a < devices; ++a) {
      Json row = Json::array();
      for (std::size_t b = 0; b < devices; ++b) row.push_back(tensor.matrix[a * devices + b]);
      item["time"].push_back(row);
    }
  } else if (!std::isnan(tensor.seconds)) {
    item["time"] = tensor.seconds;
  }
  return item;
}

Json optionsJson(const Modes& modes) {
  Json json = Json::object();
  const Options options{modes, {}};
  for (const OptionSpec& spec : optionTable()) {
    if (!isModeOf(spec.scope, *modes.goal) || spec.name == "goal") continue;
    const std::string text = spec.get(options);
    if (text.empty() || text == spec.get(Options{})) continue;
    double number = 0;
    std::size_t used = 0;
    try {
      number = std::stod(text, &used);
    } catch (const std::exception&) {
      used = 0;
    }
    if (text == "true" || text == "on")
      json[std::string(spec.name)] = true;
    else if (used == text.size())
      json[std::string(spec.name)] = number;
    else
      json[std::string(spec.name)] = text;
  }
  return json;
}

Json constraintsJson(const Tiny& tiny) {
  Json json = Json::object();
  for (const auto& [op, device] : tiny.pin) json["pin"][numbered('o', op)] = numbered('d', device);
  for (const auto& [op, device] : tiny.forbid)
    json["forbid"].push_back({numbered('o', op), numbered('d', device)});
  for (const auto& set : tiny.together) json["together"].push_back(names(set));
  for (const auto& [first, then] : tiny.order) json["order"].push_back(names({first, then}));
  return json;
}

}  // namespace

Result<Problem> toProblem(const Tiny& tiny) {
  Problem problem;
  problem.name = "tiny";
  Cluster& cluster = problem.cluster;
  for (int h = 0; h < tiny.hosts; ++h) cluster.host_name.push_back(numbered('h', h));
  for (std::size_t c = 0; c < tiny.classes.size(); ++c) {
    DeviceClass& cls = cluster.classes.emplace_back();
    cls.name = numbered('c', static_cast<int>(c));
    cls.kind = tiny.classes[c].cpu ? DeviceKind::kCpu : DeviceKind::kAccelerator;
    cls.launch_seconds = tiny.classes[c].launch;
  }
  for (std::size_t d = 0; d < tiny.devices.size(); ++d) {
    allot::Device& device = cluster.devices.emplace_back();
    device.name = numbered('d', static_cast<int>(d));
    device.cls = ClassId(static_cast<std::size_t>(tiny.devices[d].cls));
    if (tiny.devices[d].memory >= 0) device.memory_bytes = tiny.devices[d].memory;
    if (tiny.devices[d].host >= 0) device.host = HostId(static_cast<std::size_t>(tiny.devices[d].host));
  }
  cluster.links = tiny.links;
  OpGraph& graph = problem.graph;
  int groups = 0;
  for (std::size_t m = 0; m < tiny.models.size(); ++m) {
    graph.model_name.push_back(numbered('m', static_cast<int>(m)));
    problem.model_weight.push_back(tiny.models[m].weight);
    problem.model_release.push_back(tiny.models[m].release);
  }
  for (std::size_t i = 0; i < tiny.ops.size(); ++i) {
    const Op& op = tiny.ops[i];
    graph.addOp(numbered('o', static_cast<int>(i)));
    graph.op_model[i] = ModelId(static_cast<std::size_t>(op.model));
    graph.op_phase[i] = op.phase;
    if (op.group >= 0) graph.op_group[i] = GroupId(static_cast<std::size_t>(op.group));
    groups = std::max(groups, op.group + 1);
    graph.op_memory_bytes[i] = op.memory;
    graph.op_activation_bytes[i] = op.activations;
    graph.op_weight_bytes[i] = op.weights;
    graph.op_workspace_bytes[i] = op.workspace;
    problem.op_seconds.insert(problem.op_seconds.end(), op.seconds.begin(), op.seconds.end());
  }
  for (int g = 0; g < groups; ++g) graph.group_name.push_back(numbered('g', g));
  const std::size_t cells = tiny.devices.size() * tiny.devices.size();
  for (const Tensor& tensor : tiny.tensors) {
    problem.addTensor(OpId(static_cast<std::size_t>(tensor.from)), ids(tensor.to), tensor.bytes,
                      tensor.seconds);
    if (tensor.matrix.empty()) continue;
    problem.tensor_matrix.back() = static_cast<std::int32_t>(problem.matrices.size() / cells);
    problem.matrices.insert(problem.matrices.end(), tensor.matrix.begin(), tensor.matrix.end());
  }
  for (std::size_t b = 0; b < tiny.blocks.size(); ++b)
    graph.addBlock(numbered('b', static_cast<int>(b)), tiny.blocks[b].bytes, ids(tiny.blocks[b].readers));
  for (const Shared& input : tiny.inputs) graph.addInput(input.bytes, ids(input.readers));
  graph.order_hint = ids(tiny.order_hint);
  const auto at = [](int i) { return static_cast<std::size_t>(i); };
  for (const auto& [op, device] : tiny.pin)
    problem.constraints.pin.emplace_back(OpId(at(op)), DeviceId(at(device)));
  for (const auto& [op, device] : tiny.forbid)
    problem.constraints.forbid.emplace_back(OpId(at(op)), DeviceId(at(device)));
  for (const auto& [first, then] : tiny.order)
    problem.constraints.order.emplace_back(OpId(at(first)), OpId(at(then)));
  for (const auto& set : tiny.together) problem.constraints.together.push_back(ids(set));
  problem.modes = tiny.modes;
  ALLOT_CHECK(problem.finish());
  return problem;
}

Tiny fromProblem(const Problem& problem) {
  using Table = Problem::ShortTime::Table;
  Tiny tiny;
  tiny.modes = problem.modes;
  tiny.hosts = static_cast<int>(problem.cluster.host_name.size());
  for (const DeviceClass& cls : problem.cluster.classes)
    tiny.classes.push_back({cls.kind == DeviceKind::kCpu, cls.launch_seconds});
  for (const allot::Device& device : problem.cluster.devices)
    tiny.devices.push_back({static_cast<int>(device.cls.value), device.memory_bytes.value_or(-1),
                            device.host.valid() ? static_cast<int>(device.host.value) : -1});
  tiny.links = problem.cluster.links;
  for (std::size_t m = 0; m < problem.graph.modelCount(); ++m)
    tiny.models.push_back({problem.model_weight[m], problem.model_release[m]});
  const OpGraph& graph = problem.graph;
  const std::size_t classes = tiny.classes.size();
  const std::vector<double> seconds = problem.givenTimes(Table::kOp);
  for (std::size_t i = 0; i < problem.opCount(); ++i) {
    Op& op = tiny.ops.emplace_back();
    for (std::size_t c = 0; c < classes; ++c) op.seconds.push_back(seconds[i * classes + c]);
    op.memory = graph.op_memory_bytes[i];
    op.activations = graph.op_activation_bytes[i];
    op.weights = graph.op_weight_bytes[i];
    op.workspace = graph.op_workspace_bytes[i];
    op.model = static_cast<int>(graph.op_model[i].value);
    op.phase = graph.op_phase[i];
    op.group = graph.op_group[i].valid() ? static_cast<int>(graph.op_group[i].value) : -1;
  }
  const std::vector<double> single = problem.givenTimes(Table::kTensor);
  const std::vector<double> matrices = problem.givenTimes(Table::kMatrix);
  const std::size_t cells = tiny.devices.size() * tiny.devices.size();
  for (std::size_t t = 0; t < problem.firstOrderTensor(); ++t) {
    Tensor& tensor = tiny.tensors.emplace_back();
    tensor.from = static_cast<int>(graph.tensor_producer[t].value);
    tensor.to = numbers(graph.tensor_consumers[t]);
    tensor.bytes = graph.tensor_bytes[t];
    tensor.seconds = single[t];
    if (problem.tensor_matrix[t] < 0) continue;
    const auto begin = matrices.begin() + problem.tensor_matrix[t] * static_cast<std::ptrdiff_t>(cells);
    tensor.matrix.assign(begin, begin + static_cast<std::ptrdiff_t>(cells));
  }
  for (std::size_t b = 0; b < graph.block_bytes.size(); ++b)
    tiny.blocks.push_back({graph.block_bytes[b], numbers(graph.block_readers[b])});
  for (std::size_t b = 0; b < graph.input_bytes.size(); ++b)
    tiny.inputs.push_back({graph.input_bytes[b], numbers(graph.input_readers[b])});
  tiny.order_hint = numbers(graph.order_hint);
  for (const auto& [op, device] : problem.constraints.pin) tiny.pin.emplace_back(op.value, device.value);
  for (const auto& [op, device] : problem.constraints.forbid)
    tiny.forbid.emplace_back(op.value, device.value);
  for (const auto& [first, then] : problem.constraints.order)
    tiny.order.emplace_back(first.value, then.value);
  for (const auto& set : problem.constraints.together) tiny.together.push_back(numbers(set));
  return tiny;
}

std::string toJson(const Tiny& tiny) {
  Json json{{"schema", "allot.problem/1"}};
  for (std::size_t c = 0; c < tiny.classes.size(); ++c) {
    json["classes"].push_back({{"name", numbered('c', static_cast<int>(c))},
                               {"kind", tiny.classes[c].cpu ? "cpu" : "accelerator"},
                               {"launch", tiny.classes[c].launch}});
  }
  for (std::size_t d = 0; d < tiny.devices.size(); ++d) {
    const Device& device = tiny.devices[d];
    Json item{{"name", numbered('d', static_cast<int>(d))}, {"class", numbered('c', device.cls)}};
    if (device.memory >= 0) item["memory"] = device.memory;
    if (device.host >= 0) item["host"] = numbered('h', device.host);
    json["devices"].push_back(item);
  }
  for (std::size_t m = 0; m < tiny.models.size(); ++m) {
    json["models"].push_back({{"name", numbered('m', static_cast<int>(m))},
                              {"weight", tiny.models[m].weight},
                              {"release", tiny.models[m].release}});
  }
  for (std::size_t i = 0; i < tiny.ops.size(); ++i) json["ops"].push_back(opJson(tiny, static_cast<int>(i)));
  json["tensors"] = Json::array();
  for (const Tensor& tensor : tiny.tensors) json["tensors"].push_back(tensorJson(tiny, tensor));
  for (const Shared& input : tiny.inputs)
    json["tensors"].push_back({{"to", names(input.readers)}, {"bytes", input.bytes}});
  if (!tiny.order_hint.empty()) json["order_hint"] = names(tiny.order_hint);
  for (const Link& link : tiny.links) {
    Json item{{"from", endName(link.from_kind, link.from)}, {"to", endName(link.to_kind, link.to)}};
    item["latency"] = link.latency_seconds;
    if (std::isfinite(link.bandwidth_bytes_per_second)) item["bandwidth"] = link.bandwidth_bytes_per_second;
    json["links"].push_back(item);
  }
  if (Json constraints = constraintsJson(tiny); !constraints.empty()) json["constraints"] = constraints;
  json["goal"] = std::string(name(*tiny.modes.goal));
  if (Json options = optionsJson(tiny.modes); !options.empty()) json["options"] = options;
  return json.dump() + "\n";
}

}  // namespace allot::tiny
