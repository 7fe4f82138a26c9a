#include "formats/onnx/types.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "formats/onnx/op_table.h"

namespace allot::onnx {
namespace {

constexpr int kDeepestBody = 64;

struct Scope {
  Values* values = nullptr;
  const Scope* outer = nullptr;
  int depth = 0;
};

std::string nodeText(const Node& node) {
  const std::string_view output = node.outputs.empty() ? std::string_view() : node.outputs[0];
  return fmt::format("node '{}' ({})", node.name.empty() ? output : node.name, node.op_type);
}

// Refuses what no tensor can have.
Result<void> checkDims(const Shape& shape, const std::string& where) {
  for (const std::int64_t dim : shape) {
    if (dim >= -1 && dim <= kMostDim) continue;
    return badInput(where, fmt::format("a dimension of {} elements", dim),
                    "repair the model or bind its symbolic dimensions with --dim name=value");
  }
  return {};
}

// The size of a declared dimension; nothing where its symbol is not bound.
std::optional<std::int64_t> sizeOf(const Dim& dim, const Dims& dims) {
  if (dim.value >= 0) return dim.value;
  if (dim.symbol.empty() || dims.empty()) return std::nullopt;
  const auto found = dims.find(std::string(dim.symbol));
  return found != dims.end() ? std::optional(found->second) : std::nullopt;
}

class Inference final : public BodyRunner {
 public:
  Inference(const Model& model, const Dims& dims, InferredTypes& out) : dims_(dims), out_(out) {
    for (const Opset& opset : model.opsets) {
      if (opset.domain.empty() || opset.domain == "ai.onnx") version_ = opset.version;
    }
  }

  Result<void> graph(const Graph& graph, const Scope& scope, const std::vector<Value>* bound) {
    Values& values = *scope.values;
    values.reserve(graph.initializers.size() + graph.inputs.size() + graph.nodes.size() * 5 / 4);
    std::unordered_map<std::string_view, const Type*> declared;
    declared.reserve(graph.value_info.size() + graph.outputs.size());
    for (const ValueInfo& info : graph.value_info) declared.emplace(info.name, &info.type);
    for (const ValueInfo& info : graph.outputs) declared.emplace(info.name, &info.type);
    for (const Tensor& tensor : graph.initializers) {
      ALLOT_CHECK(checkDims(tensor.dims, fmt::format("initialiser '{}'", tensor.name)));
      for (const std::int64_t dim : tensor.dims) {
        if (dim < 0) {
          return badInput(fmt::format("initialiser '{}'", tensor.name), "a negative dimension",
                          "export the model again");
        }
      }
      values[tensor.name] = valueOf(tensor);
    }
    for (std::size_t at = 0; at < graph.inputs.size(); ++at) {
      const ValueInfo& info = graph.inputs[at];
      if (values.contains(info.name)) continue;
      Value value;
      if (bound != nullptr && at < bound->size()) value = (*bound)[at];
      ALLOT_CHECK(merge(value, info.type, info.name, true));
      values[info.name] = std::move(value);
    }
    for (const Node& node : graph.nodes) ALLOT_CHECK(visit(node, scope, declared));
    return {};
  }

  // A body's contradictions only leave its values unknown: it may be the branch that is never taken.
  std::vector<Value> run(const Graph& body, const std::vector<Value>& bound) override {
    std::vector<Value> made;
    if (current_ == nullptr || current_->depth >= kDeepestBody) return made;
    Values values;
    const Scope scope{&values, current_, current_->depth + 1};
    const Scope* before = current_;
    current_ = &scope;
    (void)graph(body, scope, &bound);
    for (const ValueInfo& info : body.outputs) {
      const Value* value = find(info.name, scope);
      made.push_back(value != nullptr ? *value : Value());
    }
    current_ = before;
    out_.bodies[&body] = std::move(values);
    return made;
  }

  int depth() const override { return current_ != nullptr ? current_->depth : 0; }

  const Scope* enter(const Scope* scope) { return std::exchange(current_, scope); }

 private:
  // A value of this graph or of one around it; those around are copied in, so that a body's values are whole.
  const Value* find(std::string_view name, const Scope& scope) {
    if (const auto found = scope.values->find(name); found != scope.values->end()) return &found->second;
    for (const Scope* outer = scope.outer; outer != nullptr; outer = outer->outer) {
      const auto found = outer->values->find(name);
      if (found == outer->values->end()) continue;
      return &scope.values->emplace(name, found->second).first->second;
    }
    return nullptr;
  }

  Result<void> visit(const Node& node, const Scope& scope,
                     const std::unordered_map<std::string_view, const Type*>& declared) {
    Site site = std::move(spare_);
    spare_ = Site();
    site.node = &node;
    site.version = version_;
    site.bodies = this;
    site.problem.clear();
    site.inputs.clear();
    site.outputs.clear();
    site.outputs.resize(node.outputs.size());
    bool constant = true;
    bool described = true;
    bool from_shape = false;
    for (const std::string_view name : node.inputs) {
      const Value* value = name.empty() ? nullptr : find(name, scope);
      site.inputs.push_back(value);
      if (name.empty()) continue;
      constant = constant && value != nullptr && value->constant;
      described = described && value != nullptr && (value->constant || value->description);
      from_shape = from_shape || (value != nullptr && value->description);
    }
    const OpRow* row = findOp(node.domain, node.op_type);
    if (row != nullptr && row->shape != nullptr) {
      row->shape(site);
      if (!site.problem.empty()) {
        return badInput(nodeText(node), site.problem,
                        "check the sizes given with --dim and the model's inputs");
      }
      fold(site, *row);
    }
    const bool control = row == nullptr || row->traffic == Traffic::kControl;
    const bool steady = row != nullptr && !row->random && !control;
    const bool is_shape = node.op_type == "Shape" || node.op_type == "Size";
    for (std::size_t at = 0; at < node.outputs.size(); ++at) {
      const std::string_view name = node.outputs[at];
      if (name.empty()) continue;
      Value& value = site.outputs[at];
      if (value.shape) ALLOT_CHECK(checkDims(*value.shape, nodeText(node)));
      if (steady) {
        value.constant = constant;
        value.description = !constant && (is_shape || (described && from_shape));
      }
      if (const auto found = declared.find(name); found != declared.end()) {
        ALLOT_CHECK(merge(value, *found->second, name, false));
      }
      scope.values->insert_or_assign(name, std::move(value));
    }
    spare_ = std::move(site);
    return {};
  }

  static void fold(Site& site, const OpRow& row) {
    if (site.outputs.empty() || !site.outputs[0].shape || site.outputs[0].kind != Type::Kind::kTensor) return;
    Value& out = site.outputs[0];
    const std::int64_t count = product(*out.shape);
    if (count < 0 || count > kMostFolded) return;
    if (count == 0) {
      // Nothing to compute, and dimensions beside the zero may be huge.
      if (isFloating(out.element)) {
        out.numbers.emplace();
      } else if (out.element != ElementType::kString) {
        out.integers.emplace();
      }
    } else if (row.fold != nullptr) {
      row.fold(site);
    }
  }

  // Fills what the rule could not tell from what the file declares.
  Result<void> merge(Value& value, const Type& type, std::string_view name, bool input) {
    if (type.kind == Type::Kind::kNone) return {};
    // An optional's declared type has its content's kind inside; the rule knows at least as much.
    if (value.kind == Type::Kind::kNone) value.kind = type.kind;
    if (value.element == ElementType::kUndefined) value.element = type.element;
    if (!type.has_shape) return {};
    Shape said;
    said.reserve(type.dims.size());
    for (const Dim& dim : type.dims) {
      if (dim.value < -1 || dim.value > kMostDim) {
        return badInput(fmt::format("value '{}'", name), fmt::format("a dimension of {} elements", dim.value),
                        "repair the model");
      }
      const auto size = sizeOf(dim, dims_);
      said.push_back(size.value_or(-1));
      if (size && (*size < 0 || *size > kMostDim)) {
        return badInput(fmt::format("value '{}'", name),
                        fmt::format("dimension '{}' is {} elements", dim.symbol, *size),
                        "bind it to another number with --dim name=value");
      }
    }
    if (!value.shape) {
      value.shape = std::move(said);
      return {};
    }
    if (value.shape->size() != said.size()) {
      // Some exporters declare a vector of no dimensions for whatever they could not tell.
      if (said.empty() || input || value.kind != Type::Kind::kTensor) return {};
      return badInput(
          fmt::format("value '{}'", name),
          fmt::format("declared as {}, but its node gives {}", shapeText(said), shapeText(*value.shape)),
          "repair or remove the model's value_info");
    }
    for (std::size_t at = 0; at < said.size(); ++at) {
      if ((*value.shape)[at] < 0) (*value.shape)[at] = said[at];
    }
    return {};
  }

  const Dims& dims_;
  InferredTypes& out_;
  std::int64_t version_ = 0;
  const Scope* current_ = nullptr;
  Site spare_;
};

// Leaves only what is wholly known.
void seal(Values& values) {
  for (auto& [name, value] : values) {
    if (value.shape &&
        std::any_of(value.shape->begin(), value.shape->end(), [](auto dim) { return dim < 0; })) {
      value.shape.reset();
    }
    if (value.integers &&
        std::find(value.integers->begin(), value.integers->end(), kHole) != value.integers->end()) {
      value.integers.reset();
    }
    if (value.numbers && std::any_of(value.numbers->begin(), value.numbers->end(),
                                     [](double number) { return std::isnan(number); })) {
      value.numbers.reset();
    }
    const auto count = value.elements();
    if (value.integers && (!count || *count != static_cast<std::int64_t>(value.integers->size()))) {
      value.integers.reset();
    }
  }
}

}  // namespace

std::optional<std::int64_t> Value::elements() const {
  if (!shape) return std::nullopt;
  const std::int64_t count = product(*shape);
  return count < 0 ? std::nullopt : std::optional(count);
}

std::optional<std::int64_t> Value::bytes() const {
  auto count = elements();
  const int bits = bitsOf(element);
  if (kind == Type::Kind::kSequence) {
    if (length < 0) return std::nullopt;
    if (count && *count > 0 && length > kMostElements / *count) return kMostElements;
    if (count) *count *= length;
  }
  if (!count || bits <= 0) return std::nullopt;
  if (*count > kMostElements / bits) return kMostElements;
  return (*count * bits + 7) / 8;
}

Result<InferredTypes> inferTypes(const Model& model, const Graph& graph, const Dims& dims) {
  for (const auto& [name, size] : dims) {
    if (size >= 0 && size <= kMostDim) continue;
    return badInput(fmt::format("dimension '{}'", name), fmt::format("{} elements", size),
                    "bind it to a number of elements with --dim name=value");
  }
  InferredTypes out;
  Inference inference(model, dims, out);
  const Scope scope{&out.values, nullptr, 0};
  inference.enter(&scope);
  ALLOT_CHECK(inference.graph(graph, scope, nullptr));
  seal(out.values);
  for (auto& [body, values] : out.bodies) seal(values);
  return out;
}

bool isShapeArithmetic(const Node& node, const Values& values) {
  if ((node.op_type == "Shape" || node.op_type == "Size") &&
      (node.domain.empty() || node.domain == "ai.onnx")) {
    return true;
  }
  // A scalar factor made of a dimension is arithmetic on shapes too; a whole mask is not.
  constexpr std::int64_t kMostFloating = 64;
  bool any = false;
  for (const std::string_view name : node.outputs) {
    if (name.empty()) continue;
    const auto found = values.find(name);
    if (found == values.end() || !found->second.description) return false;
    const auto count = found->second.elements();
    if (count && *count > (isFloating(found->second.element) ? kMostFloating : kMostFolded)) return false;
    if (!count && isFloating(found->second.element)) return false;
    any = true;
  }
  return any;
}

}  // namespace allot::onnx
