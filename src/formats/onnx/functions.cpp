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

constexpr const char* kRemedy = "export the model without nested functions";

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

std::int64_t itemsOf(std::string_view text) {
  return static_cast<std::int64_t>(text.size() / 16);
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
    extent_.resize(model_.functions.size());
    ALLOT_TRY(const Extent total, extentOf(model_.graph.nodes));
    if (total.calls > kMaxCallDepth || total.bodies > kMaxBodyDepth)
      return badInput("functions",
                      fmt::format("calls lie more than {} or graphs more than {} deep in one another",
                                  kMaxCallDepth, kMaxBodyDepth),
                      kRemedy);
    if (total.items <= kMaxInlined) {
      takeNames(model_.graph);
      expand(model_.graph);
      if (!full()) return {};
    }
    return badInput("functions",
                    fmt::format("the model has more than {} items once they are inlined", kMaxInlined),
                    kRemedy);
  }

 private:
  // What stands in place of something once calls are replaced: items, at most kMaxInlined + 1, and how deep
  // calls and graphs lie in one another.
  struct Extent {
    std::int64_t items = 0;
    int calls = 0, bodies = 0;

    void add(const Extent& other) {
      items = std::min(items + other.items, kMaxInlined + 1);
      calls = std::max(calls, other.calls);
      bodies = std::max(bodies, other.bodies);
    }
  };

  const Function* calleeOf(const Node& node) const {
    const auto found = index_.find({node.domain, node.op_type, node.overload});
    return found == index_.end() ? nullptr : &model_.functions[found->second];
  }

  Result<Extent> extentOf(const std::vector<Node>& nodes) {
    Extent total;
    for (const Node& node : nodes) {
      ALLOT_TRY(const Extent extent, extentOf(node));
      total.add(extent);
    }
    return total;
  }

  Result<Extent> extentOf(const Node& node) {
    Extent total;
    total.items = static_cast<std::int64_t>(1 + node.inputs.size() + node.outputs.size());
    for (const Attribute& attribute : node.attributes) total.items += itemsOf(attribute);
    Result<void> good;
    forEachBody(node, [&](const std::shared_ptr<Graph>& body) {
      if (!good) return;
      auto extent = extentOf(body->nodes);
      if (!extent) {
        good = fail(std::move(extent).error());
        return;
      }
      extent->items += itemsOf(*body);
      ++extent->bodies;
      total.add(*extent);
    });
    ALLOT_CHECK(good);
    if (const Function* function = calleeOf(node)) {
      ALLOT_TRY(Extent inner, extentOf(*function));
      // A body that is an argument may end up in the innermost body of the function.
      inner.bodies += total.bodies;
      inner.calls += total.calls + 1;
      total.add(inner);
    }
    return total;
  }

  Result<Extent> extentOf(const Function& function) {
    std::optional<Extent>& known = extent_[static_cast<std::size_t>(&function - model_.functions.data())];
    if (known) return *known;
    const auto where = fmt::format("function \"{}\"", functionLabel(function));
    if (std::find(calls_.begin(), calls_.end(), &function) != calls_.end()) {
      std::string path;
      for (const Function* caller : calls_) path += functionLabel(*caller) + " -> ";
      return badInput(where, fmt::format("calls itself: {}{}", path, functionLabel(function)),
                      "export the model without recursive functions");
    }
    if (calls_.size() >= kMaxCallDepth)
      return badInput(where, fmt::format("calls lie more than {} deep in one another", kMaxCallDepth),
                      kRemedy);
    calls_.push_back(&function);
    ALLOT_TRY(Extent extent, extentOf(function.nodes));
    calls_.pop_back();
    // Outputs that are inputs become nodes of their own.
    extent.items =
        std::min(extent.items + 3 * static_cast<std::int64_t>(function.outputs.size()), kMaxInlined + 1);
    known = extent;
    return extent;
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

  std::string_view keep(std::string text) {
    built_ += itemsOf(text);
    return model_.owned.emplace_back(std::move(text));
  }

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
    built_ +=
        static_cast<std::int64_t>(1 + inner.inputs.size() + inner.outputs.size()) + itemsOf(inner.op_type);
    for (const Attribute& attribute : inner.attributes) {
      const Attribute* source = &attribute;
      if (!attribute.reference.empty()) source = argument(attribute.reference, caller, function);
      if (source == nullptr) continue;
      Attribute& added = copy.attributes.emplace_back(*source);
      added.name = attribute.name;
      added.reference = {};
      built_ += itemsOf(added);
      // A body that the call gives carries the names of the caller.
      const Renaming none;
      const Renaming& around = source == &attribute ? names : none;
      if (added.graph) added.graph = instantiate(*added.graph, caller, function, prefix, around);
      for (auto& graph : added.graphs) graph = instantiate(*graph, caller, function, prefix, around);
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
  std::vector<std::optional<Extent>> extent_;
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
