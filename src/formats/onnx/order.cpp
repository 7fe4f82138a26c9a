#include "formats/onnx/order.h"

#include <fmt/format.h>

#include <unordered_set>

#include "allot/graph.h"
#include "formats/onnx/functions.h"
#include "formats/op_parts.h"

namespace allot::onnx {
namespace {

// Where a value comes from, if not from a node.
constexpr std::uint32_t kInput = UINT32_MAX, kInitializer = UINT32_MAX - 1, kAbsent = UINT32_MAX - 2;

bool isNode(std::uint32_t producer) {
  return producer < kAbsent;
}

// The values of a graph with their producers, and those of the graphs around it.
struct Scope {
  const Scope* outer = nullptr;
  NameIndex names;
  std::vector<std::uint32_t> producer;  // by id of the name

  std::uint32_t producerOf(std::string_view name) const {
    const auto id = names.find(name);
    return id ? producer[*id] : kAbsent;
  }
  bool sees(std::string_view name) const {
    for (const Scope* scope = this; scope != nullptr; scope = scope->outer) {
      if (scope->names.find(name)) return true;
    }
    return false;
  }
};

// The way to a body; a text is made of it only for a message.
struct Place {
  const Place* outer = nullptr;
  const Node* node = nullptr;
  std::string_view attribute;

  // Ends with ", " unless it is the outermost graph.
  std::string text() const {
    std::string all;
    for (const Place* place = this; place != nullptr && place->node != nullptr; place = place->outer)
      all = fmt::format("node \"{}\", {}, {}", labelOf(*place->node), place->attribute, all);
    return all;
  }
};

class Orderer {
 public:
  Result<Captures> run(Model& model) {
    captureBodies(model.graph);
    ALLOT_CHECK(order(model.graph, nullptr, {}));
    return std::move(captures_);
  }

 private:
  // Fills captures_ for all bodies in a graph, innermost first.
  void captureBodies(const Graph& graph) {
    for (const Node& node : graph.nodes) {
      for (const Attribute& attribute : node.attributes) {
        if (attribute.graph) capture(*attribute.graph);
        for (const auto& body : attribute.graphs) capture(*body);
      }
    }
  }

  void capture(const Graph& graph) {
    captureBodies(graph);
    std::unordered_set<std::string_view> own;
    for (const ValueInfo& input : graph.inputs) own.insert(input.name);
    for (const Tensor& tensor : graph.initializers) own.insert(tensor.name);
    for (const Node& node : graph.nodes) own.insert(node.outputs.begin(), node.outputs.end());
    std::vector<std::string_view> free;
    const auto read = [&](std::string_view name) {
      if (own.insert(name).second) free.push_back(name);
    };
    for (const Node& node : graph.nodes) forEachRead(node, captures_, read);
    for (const ValueInfo& output : graph.outputs) read(output.name);
    captures_[&graph] = std::move(free);
  }

  Result<void> order(Graph& graph, const Scope* outer, const Place& place) {
    Scope scope;
    scope.outer = outer;
    ALLOT_CHECK(define(graph, scope, place));
    bool sorted = true;
    for (std::uint32_t i = 0; i < graph.nodes.size(); ++i) {
      std::string_view missing;
      forEachRead(graph.nodes[i], captures_, [&](std::string_view name) {
        const std::uint32_t producer = scope.producerOf(name);
        if (producer != kAbsent)
          sorted = sorted && (!isNode(producer) || producer < i);
        else if (missing.data() == nullptr && !scope.sees(name))
          missing = name;
      });
      if (missing.data() != nullptr)
        return badInput(nodeAt(graph, i, place), fmt::format("reads \"{}\", which nobody produces", missing),
                        "export the model again, or add the value to the inputs");
    }
    for (const ValueInfo& output : graph.outputs) {
      if (!scope.sees(output.name))
        return badInput(fmt::format("{}output \"{}\"", place.text(), output.name), "is produced by nobody",
                        "export the model again");
    }
    if (!sorted) ALLOT_CHECK(sort(graph, scope, place));
    for (Node& node : graph.nodes) {
      for (Attribute& attribute : node.attributes) {
        const Place inner{&place, &node, attribute.name};
        if (attribute.graph) ALLOT_CHECK(order(*attribute.graph, &scope, inner));
        for (const auto& body : attribute.graphs) ALLOT_CHECK(order(*body, &scope, inner));
      }
    }
    return {};
  }

  static std::string nodeAt(const Graph& graph, std::size_t index, const Place& place) {
    return fmt::format("{}node \"{}\"", place.text(), labelOf(graph.nodes[index]));
  }

  static Result<void> define(const Graph& graph, Scope& scope, const Place& place) {
    const auto twice = [&](std::string_view kind, std::string_view name) {
      return badInput(fmt::format("{}{} \"{}\"", place.text(), kind, name), "is there twice",
                      "give each value its own name, or export the model again");
    };
    scope.names.reserve(graph.inputs.size() + graph.initializers.size() + graph.nodes.size() * 5 / 4);
    const auto add = [&](std::string_view name, std::uint32_t producer) {
      if (!scope.names.add(name)) return false;
      scope.producer.push_back(producer);
      return true;
    };
    for (const ValueInfo& input : graph.inputs) {
      if (!add(input.name, kInput)) return twice("input", input.name);
    }
    for (const Tensor& tensor : graph.initializers) {
      if (add(tensor.name, kInitializer)) continue;
      // An initialiser may be the standard value of an input.
      std::uint32_t& before = scope.producer[*scope.names.find(tensor.name)];
      if (before == kInitializer) return twice("initialiser", tensor.name);
      before = kInitializer;
    }
    for (std::uint32_t i = 0; i < graph.nodes.size(); ++i) {
      for (const std::string_view output : graph.nodes[i].outputs) {
        if (output.empty() || add(output, i)) continue;
        const std::uint32_t before = scope.producerOf(output);
        const std::string first = isNode(before) ? nodeAt(graph, before, place) : "an input or initialiser";
        return badInput(nodeAt(graph, i, place), fmt::format("produces \"{}\", as {} does", output, first),
                        "give each value its own name, or export the model again");
      }
    }
    return {};
  }

  Result<void> sort(Graph& graph, const Scope& scope, const Place& place) {
    const std::size_t n = graph.nodes.size();
    std::vector<std::vector<OpId>> readers(n);
    for (std::size_t i = 0; i < n; ++i) {
      forEachRead(graph.nodes[i], captures_, [&](std::string_view name) {
        const std::uint32_t producer = scope.producerOf(name);
        if (!isNode(producer)) return;
        auto& list = readers[producer];
        if (list.empty() || list.back() != OpId(i)) list.push_back(OpId(i));
      });
    }
    OpGraph order;
    for (std::size_t i = 0; i < n; ++i) order.addOp(labelOf(graph.nodes[i]));
    for (std::size_t i = 0; i < n; ++i) {
      if (!readers[i].empty()) order.addTensor(OpId(i), readers[i], 0);
    }
    if (auto done = order.finish(); !done) {
      Error error = std::move(done).error();
      error.where = place.text() + "nodes";
      error.remedy = "a model must not have cycles; export it again";
      return fail(std::move(error));
    }
    std::vector<Node> nodes;
    nodes.reserve(n);
    for (const OpId op : order.topologicalOrder()) nodes.push_back(std::move(graph.nodes[op.index()]));
    graph.nodes = std::move(nodes);
    return {};
  }

  Captures captures_;
};

}  // namespace

Result<Captures> orderNodes(Model& model) {
  return Orderer().run(model);
}

}  // namespace allot::onnx
