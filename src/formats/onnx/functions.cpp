#include "formats/onnx/functions.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>

#include "formats/onnx/unique_names.h"

namespace allot::onnx {
namespace {

using Key = std::tuple<std::string_view, std::string_view, std::string_view>;  // domain, name, overload

// New names of a function's values; a body sees those around it.
struct Renaming {
  const Renaming* outer = nullptr;
  std::unordered_map<std::string_view, std::string_view> names;

  std::string_view of(std::string_view value) const {
    for (const Renaming* scope = this; scope != nullptr; scope = scope->outer) {
      const auto found = scope->names.find(value);
      if (found != scope->names.end()) return found->second;
    }
    return value;
  }
};

std::string functionLabel(const Function& function) {
  return function.domain.empty() ? std::string(function.name)
                                 : fmt::format("{}:{}", function.domain, function.name);
}

// Calls visit(graph) for each body of the node.
template <class N, class Visit>
void forEachBody(N& node, Visit&& visit) {
  for (auto& attribute : node.attributes) {
    if (attribute.graph) visit(attribute.graph);
    for (auto& graph : attribute.graphs) visit(graph);
  }
}

std::int64_t itemsOf(const Attribute& attribute) {
  return static_cast<std::int64_t>(1 + attribute.ints.size() + attribute.floats.size() +
                                   attribute.strings.size());
}

// What a body holds besides its nodes.
std::int64_t itemsOf(const Graph& body) {
  std::size_t items = 1;
  for (const Tensor& tensor : body.initializers) items += 1 + tensor.dims.size() + tensor.integers.size();
  for (const auto* list : {&body.inputs, &body.outputs, &body.value_info}) {
    for (const ValueInfo& info : *list) items += 1 + info.type.dims.size();
  }
  return static_cast<std::int64_t>(items);
}

class Inliner {
 public:
  explicit Inliner(Model& model) : model_(model) {}

  Result<void> run() {
    for (std::size_t i = 0; i < model_.functions.size(); ++i) {
      const Function& function = model_.functions[i];
      if (!index_.emplace(Key{function.domain, function.name, function.overload}, i).second)
        return badInput(fmt::format("function \"{}\"", functionLabel(function)), "is there twice",
                        "keep one of the two");
    }
    size_.assign(model_.functions.size(), kNotCounted);
    ALLOT_TRY(const std::int64_t total, sizeOf(model_.graph.nodes));
    if (total <= kMaxInlined) {
      takeNames(model_.graph);
      expand(model_.graph);
      if (!full()) return {};
    }
    return badInput("functions",
                    fmt::format("the model has more than {} items once they are inlined", kMaxInlined),
                    "export it without nested functions");
  }

 private:
  static constexpr std::int64_t kNotCounted = -1, kCounting = -2;

  const Function* calleeOf(const Node& node) const {
    const auto found = index_.find({node.domain, node.op_type, node.overload});
    return found == index_.end() ? nullptr : &model_.functions[found->second];
  }

  // Items after inlining, at most kMaxInlined + 1.
  Result<std::int64_t> sizeOf(const std::vector<Node>& nodes) {
    std::int64_t total = 0;
    for (const Node& node : nodes) {
      ALLOT_TRY(const std::int64_t size, sizeOf(node));
      total = std::min(total + size, kMaxInlined + 1);
    }
    return total;
  }

  Result<std::int64_t> sizeOf(const Node& node) {
    if (const Function* function = calleeOf(node)) return sizeOf(*function);
    auto total = static_cast<std::int64_t>(1 + node.inputs.size() + node.outputs.size());
    for (const Attribute& attribute : node.attributes) total += itemsOf(attribute);
    Result<void> good;
    forEachBody(node, [&](const std::shared_ptr<Graph>& body) {
      if (!good) return;
      auto size = sizeOf(body->nodes);
      if (!size) {
        good = fail(std::move(size).error());
        return;
      }
      total += *size + itemsOf(*body);
    });
    ALLOT_CHECK(good);
    return std::min(total, kMaxInlined + 1);
  }

  Result<std::int64_t> sizeOf(const Function& function) {
    const auto index = static_cast<std::size_t>(&function - model_.functions.data());
    if (size_[index] >= 0) return size_[index];
    const auto where = fmt::format("function \"{}\"", functionLabel(function));
    if (size_[index] == kCounting) {
      std::string path;
      for (std::size_t i = 0; i < calls_.size() && i < 20; ++i) path += functionLabel(*calls_[i]) + " -> ";
      return badInput(where, fmt::format("calls itself: {}{}", path, functionLabel(function)),
                      "export the model without recursive functions");
    }
    if (calls_.size() >= kMaxCallDepth)
      return badInput(where, fmt::format("calls lie more than {} deep in one another", kMaxCallDepth),
                      "export the model without nested functions");
    size_[index] = kCounting;
    calls_.push_back(&function);
    ALLOT_TRY(const std::int64_t size, sizeOf(function.nodes));
    calls_.pop_back();
    // Outputs that are inputs become nodes of their own.
    size_[index] =
        std::min(size + 3 * static_cast<std::int64_t>(function.outputs.size()) + 1, kMaxInlined + 1);
    return size_[index];
  }

  void takeNames(const Graph& graph) {
    for (const ValueInfo& input : graph.inputs) values_.reserve(input.name);
    for (const Tensor& tensor : graph.initializers) values_.reserve(tensor.name);
    for (const Node& node : graph.nodes) {
      for (const std::string_view output : node.outputs) values_.reserve(output);
      forEachBody(node, [&](const std::shared_ptr<Graph>& body) { takeNames(*body); });
    }
  }

  void expand(Graph& graph) {
    std::vector<Node> out;
    out.reserve(graph.nodes.size());
    for (Node& node : graph.nodes) {
      if (full()) return;
      place(std::move(node), out);
    }
    graph.nodes = std::move(out);
  }

  void place(Node node, std::vector<Node>& out) {
    if (const Function* function = calleeOf(node)) return call(node, *function, out);
    forEachBody(node, [&](const std::shared_ptr<Graph>& body) { expand(*body); });
    out.push_back(std::move(node));
  }

  // Arguments may be large, and taken by many nodes: what is built is counted too.
  bool full() const { return built_ > kMaxInlined; }

  std::string_view keep(std::string text) { return model_.owned.emplace_back(std::move(text)); }

  void call(const Node& node, const Function& function, std::vector<Node>& out) {
    const std::string prefix = prefixes_.take(labelOf(node));
    Renaming names;
    for (std::size_t i = 0; i < function.inputs.size(); ++i) {
      if (function.inputs[i].empty()) continue;
      names.names.emplace(function.inputs[i], i < node.inputs.size() ? node.inputs[i] : std::string_view());
    }
    // What a call hands out under a name that is an input, or that it hands out already, is copied.
    std::vector<std::pair<std::string_view, std::string_view>> copies;
    for (std::size_t i = 0; i < function.outputs.size() && i < node.outputs.size(); ++i) {
      if (node.outputs[i].empty() || function.outputs[i].empty()) continue;
      const auto [found, fresh] = names.names.emplace(function.outputs[i], node.outputs[i]);
      if (!fresh) copies.emplace_back(found->second, node.outputs[i]);
    }
    for (const Node& inner : function.nodes) {
      for (const std::string_view output : inner.outputs) define(output, prefix, names);
    }
    for (const Node& inner : function.nodes) {
      if (full()) return;
      place(instantiate(inner, node, function, prefix, names), out);
    }
    for (const auto& [from, to] : copies) {
      if (from.empty()) continue;
      Node identity;
      identity.op_type = "Identity";
      identity.name = keep(fmt::format("{}/Identity", prefix));
      identity.inputs = {from};
      identity.outputs = {to};
      out.push_back(std::move(identity));
    }
  }

  // Gives a value of this scope a name of its own, once.
  void define(std::string_view value, const std::string& prefix, Renaming& scope) {
    if (value.empty() || scope.names.contains(value)) return;
    scope.names.emplace(value, keep(values_.take(fmt::format("{}/{}", prefix, value))));
  }

  // A copy of a function's node as this call makes it.
  Node instantiate(const Node& inner, const Node& caller, const Function& function, const std::string& prefix,
                   const Renaming& names) {
    Node copy;
    copy.op_type = inner.op_type;
    copy.domain = inner.domain;
    copy.overload = inner.overload;
    if (!inner.name.empty()) copy.name = keep(fmt::format("{}/{}", prefix, inner.name));
    for (const std::string_view input : inner.inputs) copy.inputs.push_back(names.of(input));
    for (const std::string_view output : inner.outputs) copy.outputs.push_back(names.of(output));
    built_ += static_cast<std::int64_t>(1 + inner.inputs.size() + inner.outputs.size());
    for (const Attribute& attribute : inner.attributes) {
      const Attribute* source = &attribute;
      if (!attribute.reference.empty()) source = argument(attribute.reference, caller, function);
      if (source == nullptr) continue;
      Attribute& added = copy.attributes.emplace_back(*source);
      added.name = attribute.name;
      added.reference = {};
      built_ += itemsOf(added);
      if (source != &attribute) continue;  // the call's own bodies carry the call's names already
      if (added.graph) added.graph = instantiate(*added.graph, caller, function, prefix, names);
      for (auto& graph : added.graphs) graph = instantiate(*graph, caller, function, prefix, names);
    }
    return copy;
  }

  std::shared_ptr<Graph> instantiate(const Graph& body, const Node& caller, const Function& function,
                                     const std::string& prefix, const Renaming& outer) {
    auto copy = std::make_shared<Graph>();
    copy->name = body.name;
    copy->initializers = body.initializers;
    copy->inputs = body.inputs;
    copy->outputs = body.outputs;
    copy->value_info = body.value_info;
    built_ += itemsOf(body);
    Renaming names{&outer, {}};
    for (const ValueInfo& input : body.inputs) define(input.name, prefix, names);
    for (const Tensor& tensor : body.initializers) define(tensor.name, prefix, names);
    for (const Node& node : body.nodes) {
      for (const std::string_view output : node.outputs) define(output, prefix, names);
    }
    for (ValueInfo& input : copy->inputs) input.name = names.of(input.name);
    for (Tensor& tensor : copy->initializers) tensor.name = names.of(tensor.name);
    for (ValueInfo& output : copy->outputs) output.name = names.of(output.name);
    for (ValueInfo& info : copy->value_info) info.name = names.of(info.name);
    for (const Node& node : body.nodes) {
      if (full()) break;
      copy->nodes.push_back(instantiate(node, caller, function, prefix, names));
    }
    return copy;
  }

  static const Attribute* argument(std::string_view name, const Node& caller, const Function& function) {
    if (const Attribute* given = caller.find(name)) return given;
    for (const Attribute& standard : function.attribute_defaults) {
      if (standard.name == name) return &standard;
    }
    return nullptr;
  }

  Model& model_;
  std::map<Key, std::size_t> index_;
  std::vector<std::int64_t> size_;
  std::vector<const Function*> calls_;
  std::int64_t built_ = 0;
  UniqueNames values_, prefixes_;
};

}  // namespace

std::string labelOf(const Node& node) {
  if (!node.name.empty()) return std::string(node.name);
  for (const std::string_view output : node.outputs) {
    if (!output.empty()) return fmt::format("{}_{}", node.op_type, output);
  }
  return std::string(node.op_type);
}

Result<void> inlineFunctions(Model& model) {
  if (model.functions.empty()) return {};
  return Inliner(model).run();
}

}  // namespace allot::onnx
