#include "formats/onnx/cost.h"

#include <algorithm>
#include <unordered_set>

#include "formats/onnx/op_table.h"
#include "formats/onnx/rules.h"

namespace allot::onnx {
namespace {

const Value* valueIn(const Values& values, std::string_view name) {
  if (name.empty()) return nullptr;
  const auto found = values.find(name);
  return found != values.end() ? &found->second : nullptr;
}

std::int64_t saturated(std::int64_t a, std::int64_t b) {
  std::int64_t out = 0;
  return __builtin_add_overflow(a, b, &out) ? kMostElements : std::min(out, kMostElements);
}

// Bytes of a value, taken from `cost.known` where they cannot be told.
std::int64_t bytesOf(const Value* value, NodeCost& cost) {
  // A sequence or optional is a handle; its tensors move when someone takes them out.
  if (value != nullptr && value->kind != Type::Kind::kTensor && value->kind != Type::Kind::kNone) return 0;
  const auto bytes = value != nullptr ? value->bytes() : std::nullopt;
  if (!bytes) cost.known = false;
  return bytes.value_or(0);
}

bool isQuantizedProduct(std::string_view op) {
  return op.starts_with("QLinear") || op.ends_with("Integer") || op == "QGemm" || op == "QAttention" ||
         op == "MatMulIntegerToFloat" || op == "DynamicQuantizeMatMul" || op == "DynamicQuantizeLSTM";
}

ElementType arithmeticOf(const CostSite& site) {
  if (isQuantizedProduct(site.node->op_type)) return ElementType::kInt8;
  // Packed weights are unpacked to the type of the activations.
  const Value* made = site.outputs.empty() ? nullptr : site.outputs[0];
  const ElementType out = made != nullptr ? made->element : ElementType::kUndefined;
  for (const Value* value : site.inputs) {
    if (value == nullptr) continue;
    const bool floats = value->element == ElementType::kFloat || value->element == ElementType::kFloat16 ||
                        value->element == ElementType::kBFloat16 || value->element == ElementType::kDouble;
    const bool out_floats = out == ElementType::kFloat || out == ElementType::kFloat16 ||
                            out == ElementType::kBFloat16 || out == ElementType::kDouble;
    if (floats && !out_floats) return value->element;
  }
  if (out != ElementType::kUndefined) return out;
  return site.in(0) != nullptr ? site.in(0)->element : ElementType::kUndefined;
}

// Share of stacked expert weights that `tokens * k` choices can reach.
double expertShare(const CostSite& site) {
  const Shape* router = site.shape(1);
  if (router == nullptr || router->empty() || router->back() <= 0) return 1;
  const double tokens = site.elements(1) / static_cast<double>(router->back());
  const double chosen = tokens * static_cast<double>(std::max<std::int64_t>(site.node->integer("k", 1), 1));
  return std::min(1.0, chosen / static_cast<double>(router->back()));
}

void addTraffic(const CostSite& site, Traffic traffic, NodeCost& cost) {
  if (traffic == Traffic::kView) return;
  std::int64_t written = 0;
  for (std::size_t at = 0; at < site.outputs.size(); ++at) {
    if (at < site.node->outputs.size() && !site.node->outputs[at].empty()) {
      written = saturated(written, bytesOf(site.outputs[at], cost));
    }
  }
  cost.written_bytes = saturated(cost.written_bytes, written);
  if (traffic == Traffic::kOutputs) return;
  // Few inputs are compared one by one; hostile nodes have tens of thousands.
  constexpr std::size_t kFew = 16;
  std::unordered_set<std::string_view> seen;
  for (std::size_t at = 0; at < site.inputs.size(); ++at) {
    const std::string_view name = site.node->inputs[at];
    if (name.empty()) continue;
    const auto earlier = site.node->inputs.begin() + static_cast<std::ptrdiff_t>(at);
    if (site.inputs.size() > kFew ? !seen.insert(name).second
                                  : std::find(site.node->inputs.begin(), earlier, name) != earlier)
      continue;
    if (at == 0 && traffic == Traffic::kOutput) {
      const auto whole = site.inputs[0] != nullptr ? site.inputs[0]->bytes() : std::nullopt;
      cost.read_bytes = saturated(cost.read_bytes, whole ? std::min(*whole, written) : written);
      continue;
    }
    std::int64_t bytes = bytesOf(site.inputs[at], cost);
    const Shape* table = site.shape(at);
    if (traffic == Traffic::kEmbedding && table != nullptr && table->size() == 2)
      bytes = std::min(bytes, written);
    if (traffic == Traffic::kExperts && at >= 2) {
      bytes = static_cast<std::int64_t>(static_cast<double>(bytes) * expertShare(site));
    }
    cost.read_bytes = saturated(cost.read_bytes, bytes);
  }
}

void addCost(NodeCost& sum, const NodeCost& more, std::int64_t times) {
  const double share = static_cast<double>(times);
  if (more.flops * share > sum.flops && more.arithmetic != ElementType::kUndefined)
    sum.arithmetic = more.arithmetic;
  const auto scaled = [times](std::int64_t bytes) {
    std::int64_t out = 0;
    return __builtin_mul_overflow(bytes, times, &out) ? kMostElements : out;
  };
  sum.flops += more.flops * share;
  sum.read_bytes = saturated(sum.read_bytes, scaled(more.read_bytes));
  sum.written_bytes = saturated(sum.written_bytes, scaled(more.written_bytes));
  sum.workspace_bytes = std::max(sum.workspace_bytes, more.workspace_bytes);
  sum.known = sum.known && more.known;
}

// All nodes of a body, once. What depends on constants or shapes alone is computed beforehand.
NodeCost costOfBody(const Model& model, const Graph& body, const InferredTypes& types) {
  NodeCost sum;
  const auto values = types.bodies.find(&body);
  if (values == types.bodies.end()) {
    sum.known = false;
    return sum;
  }
  for (const Node& node : body.nodes) {
    bool constant = !node.outputs.empty();
    for (const std::string_view name : node.outputs) {
      const Value* value = valueIn(values->second, name);
      constant = constant && value != nullptr && value->constant;
    }
    if (constant || isShapeArithmetic(node, values->second)) continue;
    addCost(sum, costOf(model, node, values->second, types), 1);
  }
  return sum;
}

std::optional<std::int64_t> tripsOf(const Node& node, const Graph& body, const CostSite& site,
                                    const InferredTypes& types) {
  if (node.op_type == "SequenceMap") {
    const Value* first = site.in(0);
    return first != nullptr && first->length >= 0 ? std::optional(first->length) : std::nullopt;
  }
  if (node.op_type == "Scan") {
    const std::int64_t scanned = node.integer("num_scan_inputs", 0);
    if (scanned < 1 || static_cast<std::size_t>(scanned) > node.inputs.size()) return std::nullopt;
    const std::size_t first = node.inputs.size() - static_cast<std::size_t>(scanned);
    const Attribute* axes = node.find("scan_input_axes");
    const Shape* shape = site.shape(first);
    if (shape == nullptr) return std::nullopt;
    const auto axis = axisOf(axes != nullptr && !axes->ints.empty() ? axes->ints[0] : 0, shape->size());
    return axis ? std::optional((*shape)[*axis]) : std::nullopt;
  }
  const auto one = [](const Value* value) -> std::optional<std::int64_t> {
    if (value == nullptr || !value->integers || value->integers->size() != 1) return std::nullopt;
    return value->integers->front();
  };
  const bool asked = node.inputs.size() < 2 || node.inputs[1].empty();
  const auto begins = asked ? std::optional<std::int64_t>(1) : one(site.in(1));
  if (begins && *begins == 0) return 0;
  const auto trips = one(site.in(0));
  const auto values = types.bodies.find(&body);
  if (!trips || !begins || values == types.bodies.end() || body.outputs.empty()) return std::nullopt;
  const auto goes_on = one(valueIn(values->second, body.outputs[0].name));
  if (!goes_on || *goes_on == 0) return std::nullopt;
  return std::clamp<std::int64_t>(*trips, 0, kMostDim);
}

NodeCost controlCost(const Model& model, const CostSite& site, const InferredTypes& types) {
  const Node& node = *site.node;
  NodeCost cost;
  bool any = false;
  for (const Attribute& attribute : node.attributes) {
    if (attribute.graph == nullptr) continue;
    const NodeCost body = costOfBody(model, *attribute.graph, types);
    if (node.op_type == "If") {
      const double have =
          cost.flops + static_cast<double>(cost.read_bytes) + static_cast<double>(cost.written_bytes);
      const double more =
          body.flops + static_cast<double>(body.read_bytes) + static_cast<double>(body.written_bytes);
      const bool known = (!any || cost.known) && body.known;
      if (!any || more > have) cost = body;
      cost.known = known;
    } else {
      const auto trips = tripsOf(node, *attribute.graph, site, types);
      addCost(cost, body, trips.value_or(1));
      if (!trips) cost.known = false;
    }
    any = true;
  }
  if (!any) cost.known = false;
  return cost;
}

}  // namespace

const Shape* CostSite::shape(std::size_t index) const {
  const Value* value = in(index);
  return value != nullptr && value->shape ? &*value->shape : nullptr;
}

const Shape* CostSite::made(std::size_t index) const {
  return index < outputs.size() && outputs[index] != nullptr && outputs[index]->shape
             ? &*outputs[index]->shape
             : nullptr;
}

double CostSite::elements(std::size_t input) const {
  const Value* value = in(input);
  const auto count = value != nullptr ? value->elements() : std::nullopt;
  return count ? static_cast<double>(*count) : -1;
}

double CostSite::madeElements(std::size_t output) const {
  const auto count =
      output < outputs.size() && outputs[output] != nullptr ? outputs[output]->elements() : std::nullopt;
  return count ? static_cast<double>(*count) : -1;
}

namespace {

// ONNX Runtime selects from either side into a tensor of its own before it merges both.
std::int64_t whereWorkspace(const CostSite& site) {
  if (site.row == nullptr || site.row != findOp("", "Where")) return 0;
  std::int64_t bytes = 0;
  for (const std::size_t side : {1, 2}) {
    const Value *condition = site.in(0), *value = site.in(side);
    if (condition == nullptr || value == nullptr || !condition->shape || !value->shape) continue;
    Shape shape = *condition->shape;
    if (!broadcastInto(shape, *value->shape)) continue;
    const std::int64_t elements = product(shape);
    if (elements > kMostElements / 256) return kMostElements;
    if (elements > 0) bytes += elements * bitsOf(value->element) / 8;
  }
  return bytes;
}

}  // namespace

NodeCost costOf(const Model& model, const Node& node, const Values& values, const InferredTypes& types) {
  CostSite site;
  site.node = &node;
  site.row = findOp(node.domain, node.op_type);
  site.inputs.reserve(node.inputs.size());
  site.outputs.reserve(node.outputs.size());
  for (const std::string_view name : node.inputs) site.inputs.push_back(valueIn(values, name));
  for (const std::string_view name : node.outputs) site.outputs.push_back(valueIn(values, name));
  const Traffic traffic = site.row != nullptr ? site.row->traffic : Traffic::kAll;
  if (traffic == Traffic::kControl) return controlCost(model, site, types);
  NodeCost cost;
  addTraffic(site, traffic, cost);
  if (site.row == nullptr || site.row->flops == nullptr) {
    cost.known = false;
  } else {
    const double flops = site.row->flops(site);
    if (flops >= 0) {
      cost.flops = flops;
    } else {
      cost.known = false;
    }
  }
  cost.arithmetic = arithmeticOf(site);
  cost.workspace_bytes = std::max<std::int64_t>(attentionWorkspace(site), whereWorkspace(site));
  // FlexAttention runs its subgraphs on the scores besides.
  for (const Attribute& attribute : node.attributes) {
    if (attribute.graph != nullptr) addCost(cost, costOfBody(model, *attribute.graph, types), 1);
  }
  return cost;
}

}  // namespace allot::onnx
