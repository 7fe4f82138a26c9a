#include "formats/onnx/assemble.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/union_find.h"
#include "formats/onnx/assemble_parts.h"
#include "formats/onnx/functions.h"
#include "formats/onnx/same_content.h"
#include "formats/onnx/unique_names.h"
#include "formats/op_parts.h"
#include "graph/memory_order.h"

namespace allot::onnx {
namespace {

constexpr std::uint32_t kNone = UINT32_MAX;
constexpr std::size_t kShown = 5;

class Assembler {
 public:
  Assembler(const Model& model, const Captures& captures, const InferredTypes& types)
      : model_(model), graph_(model.graph), captures_(captures), types_(types) {}

  Result<GraphFile> run(std::string name, Warnings& warnings) {
    indexValues();
    indexReads();
    findStored();
    findSettled();
    findLive();
    ALLOT_CHECK(addOps());
    ALLOT_CHECK(addWeights());
    ALLOT_CHECK(addTensors());
    addGroups();
    if (!file_.unknown_shapes.empty()) warnings.push_back(unknownText());
    file_.name = std::move(name);
    file_.op_seconds.assign(out().opCount(), std::nan(""));
    file_.op_class_seconds.resize(out().opCount());
    file_.memory = MemoryModel::kLive;
    ALLOT_CHECK(out().finish());
    out().order_hint = smallPeakOrder(out());
    ALLOT_CHECK(out().finish());
    return std::move(file_);
  }

 private:
  OpGraph& out() { return file_.graph; }
  std::size_t nodeCount() const { return graph_.nodes.size(); }

  void addValue(std::string_view name, std::uint32_t producer, bool weight) {
    // An initialiser may be an input too; it is the initialiser that counts.
    if (!values_.add(name)) {
      if (weight) constant_[*values_.find(name)] = true;
      return;
    }
    const auto found = types_.values.find(name);
    value_name_.push_back(name);
    producer_.push_back(producer);
    type_.push_back(found == types_.values.end() ? nullptr : &found->second);
    constant_.push_back(weight || (type_.back() != nullptr && type_.back()->constant));
    is_output_.push_back(false);
    stored_.push_back(std::nullopt);
  }

  void indexValues() {
    values_.reserve(graph_.inputs.size() + graph_.initializers.size() + nodeCount() * 5 / 4);
    for (const ValueInfo& input : graph_.inputs) addValue(input.name, kNone, false);
    for (const Tensor& tensor : graph_.initializers) {
      addValue(tensor.name, kNone, true);
      stored_[*values_.find(tensor.name)] = bytesOf(tensor.type, tensor.dims);
    }
    for (std::uint32_t i = 0; i < nodeCount(); ++i) {
      for (const std::string_view output : graph_.nodes[i].outputs) {
        if (output.empty()) continue;
        makes_.items.push_back(static_cast<std::uint32_t>(value_name_.size()));
        addValue(output, i, false);
      }
      makes_.closeRow();
    }
    for (const ValueInfo& output : graph_.outputs) is_output_[*values_.find(output.name)] = true;
  }

  // What each node reads, each value once.
  void indexReads() {
    std::vector<std::uint32_t> last_reader(value_name_.size(), kNone);
    for (std::uint32_t i = 0; i < nodeCount(); ++i) {
      forEachRead(graph_.nodes[i], captures_, [&](std::string_view name) {
        const std::uint32_t value = *values_.find(name);
        if (last_reader[value] == i) return;
        last_reader[value] = i;
        reads_.items.push_back(value);
      });
      reads_.closeRow();
    }
  }

  // Bytes in which constants are kept. A weight behind DequantizeLinear stays quantised, since runtimes
  // unpack it within its consumer, and a sequence holds what it is made of; all else is computed once, before
  // the first run.
  void findStored() {
    for (std::uint32_t i = 0; i < nodeCount(); ++i) {
      const bool packed = graph_.nodes[i].op_type == "DequantizeLinear";
      for (const std::uint32_t value : makes_[i]) {
        if (!constant_[value] || type_[value] == nullptr) continue;
        if (!packed && type_[value]->kind != Type::Kind::kSequence) {
          stored_[value] = type_[value]->bytes();
          continue;
        }
        std::int64_t sum = 0;
        for (const std::uint32_t read : reads_[i])
          sum = std::min(sum + stored_[read].value_or(0), kMaxBytes + 1);
        stored_[value] = sum;
      }
    }
  }

  // True where a node has outputs and all are such.
  bool allMade(std::size_t node, auto&& test) const {
    const auto values = makes_[node];
    return !values.empty() && std::all_of(values.begin(), values.end(), test);
  }

  // Which nodes are shape arithmetic, and which values are known before anything runs.
  void findSettled() {
    shape_.assign(nodeCount(), 0);
    settled_.assign(constant_.begin(), constant_.end());
    for (std::size_t i = 0; i < nodeCount(); ++i) {
      shape_[i] = isShapeArithmetic(graph_.nodes[i], types_.values);
      if (!shape_[i]) continue;
      const auto reads = reads_[i];
      const bool from_known =
          std::all_of(reads.begin(), reads.end(), [&](std::uint32_t value) { return settled_[value]; });
      const auto known = [&](std::uint32_t value) {
        return from_known || (type_[value] != nullptr && type_[value]->integers);
      };
      if (!allMade(i, known)) continue;
      for (const std::uint32_t value : makes_[i]) settled_[value] = true;
    }
  }

  // Nodes that run: their outputs are wanted and not known beforehand.
  void findLive() {
    live_.assign(nodeCount(), 0);
    std::vector<std::uint8_t> wanted(value_name_.size());
    for (std::size_t v = 0; v < wanted.size(); ++v) wanted[v] = is_output_[v];
    for (std::size_t i = nodeCount(); i-- > 0;) {
      const auto makes = makes_[i];
      const bool used =
          std::any_of(makes.begin(), makes.end(), [&](std::uint32_t value) { return wanted[value] != 0; });
      if (!used || allMade(i, [&](std::uint32_t value) { return settled_[value]; })) continue;
      live_[i] = 1;
      for (const std::uint32_t read : reads_[i]) wanted[read] = 1;
    }
  }

  Result<void> addOps() {
    op_.assign(nodeCount(), OpId());
    UniqueNames names;
    names.expect(nodeCount());
    // Given names come first, so that one made up never takes one that the file has.
    std::vector<std::uint8_t> keeps_name(nodeCount());
    for (std::size_t i = 0; i < nodeCount(); ++i)
      keeps_name[i] = live_[i] && !graph_.nodes[i].name.empty() && names.reserve(graph_.nodes[i].name);
    for (std::size_t i = 0; i < nodeCount(); ++i) {
      if (!live_[i]) continue;
      const Node& node = graph_.nodes[i];
      op_[i] = out().addOp(keeps_name[i] ? std::string(node.name) : names.take(labelOf(node)));
      const std::size_t op = op_[i].index();
      out().op_type[op] = internType(node);
      ALLOT_CHECK(addCost(node, op));
    }
    if (out().opCount() == 0)
      return badInput("graph", "no op is left: nothing that an output needs depends on an input",
                      "check the outputs of the graph, or export the model again");
    return {};
  }

  std::uint32_t internType(const Node& node) {
    const auto [found, fresh] = types_known_.try_emplace({node.domain, node.op_type}, 0);
    if (!fresh) return found->second;
    std::string text(node.op_type);
    if (!node.domain.empty()) text = fmt::format("{}:{}", node.domain, node.op_type);
    return found->second = out().internType(text);
  }

  Result<void> addCost(const Node& node, std::size_t op) {
    const NodeCost cost = costOf(model_, node, types_.values, types_);
    const auto sane = [](std::int64_t bytes) { return bytes >= 0 && bytes <= kMaxBytes; };
    if (!(cost.flops >= 0) || !std::isfinite(cost.flops) || !sane(cost.read_bytes) ||
        !sane(cost.written_bytes) || !sane(cost.workspace_bytes))
      return absurd(op, "its flops or bytes");
    out().op_flops[op] = cost.flops;
    out().op_read_bytes[op] = cost.read_bytes;
    out().op_written_bytes[op] = cost.written_bytes;
    out().op_workspace_bytes[op] = cost.workspace_bytes;
    out().op_data_type[op] = dataTypeOf(cost.arithmetic);
    out().op_cost_unknown[op] = cost.known ? 0 : 1;
    return {};
  }

  Result<void> absurd(std::size_t op, std::string_view what) {
    return badInput(fmt::format("node \"{}\"", out().op_name[op]), fmt::format("{} are above 2^60", what),
                    "check the dimensions of the model and the values given with --dim");
  }

  // Where the data of each constant comes from: what is moved, cast or unpacked alone, and what is there
  // twice, is one block of weights.
  void findSources() {
    source_.resize(value_name_.size());
    for (std::uint32_t value = 0; value < source_.size(); ++value) source_[value] = value;
    std::vector<const Tensor*> tensors;
    std::vector<std::uint32_t> holders;
    const auto hold = [&](const Tensor& tensor, std::uint32_t value) {
      tensors.push_back(&tensor);
      holders.push_back(value);
    };
    for (const Tensor& tensor : graph_.initializers) hold(tensor, *values_.find(tensor.name));
    for (std::uint32_t i = 0; i < nodeCount(); ++i) {
      const Node& node = graph_.nodes[i];
      const Attribute* held = node.op_type == "Constant" ? node.find("value") : nullptr;
      if (held != nullptr && held->tensor && !makes_[i].empty()) hold(*held->tensor, makes_[i].front());
    }
    const std::vector<std::uint32_t> first = firstWithSameContent(tensors);
    for (std::size_t t = 0; t < holders.size(); ++t) source_[holders[t]] = holders[first[t]];
    for (std::uint32_t i = 0; i < nodeCount(); ++i) {
      const Node& node = graph_.nodes[i];
      if (makes_[i].size() != 1 || !constant_[makes_[i].front()] || !keepsContent(node)) continue;
      source_[makes_[i].front()] = source_[*values_.find(node.inputs.front())];
    }
  }

  // Calls visit(op, source) for every block of weights that an op reads, once each, op by op.
  void forEachBlock(auto&& visit) const {
    std::vector<OpId> last_reader(value_name_.size());
    for (std::size_t i = 0; i < nodeCount(); ++i) {
      if (!live_[i]) continue;
      for (const std::uint32_t value : reads_[i]) {
        if (!constant_[value] || last_reader[source_[value]] == op_[i]) continue;
        last_reader[source_[value]] = op_[i];
        visit(op_[i], source_[value]);
      }
    }
  }

  Result<void> addWeights() {
    findSources();
    // A block takes what its largest form takes.
    std::vector<std::int64_t> bytes(value_name_.size(), 0);
    for (std::size_t i = 0; i < nodeCount(); ++i) {
      if (!live_[i]) continue;
      for (const std::uint32_t value : reads_[i]) {
        if (!constant_[value]) continue;
        if (!stored_[value]) addUnknown(value);
        std::int64_t& most = bytes[source_[value]];
        most = std::max(most, stored_[value].value_or(0));
      }
    }
    std::vector<std::vector<OpId>> readers(value_name_.size());
    forEachBlock([&](OpId op, std::uint32_t source) { readers[source].push_back(op); });
    std::vector<std::int64_t> own(out().opCount(), 0);
    const auto add = [&](OpId op, std::int64_t more) {
      std::int64_t& total = own[op.index()];
      total = std::min(total + std::min(more, kMaxBytes + 1), kMaxBytes + 1);
    };
    forEachBlock([&](OpId op, std::uint32_t source) {
      if (readers[source].size() == 1)
        add(op, bytes[source]);
      else if (readers[source].front() == op && bytes[source] > 0)
        out().addBlock(std::string(value_name_[source]), bytes[source], readers[source]);
    });
    for (std::size_t i = 0; i < nodeCount(); ++i) {
      if (!live_[i]) continue;
      for (const Attribute& attribute : graph_.nodes[i].attributes) {
        if (attribute.graph) add(op_[i], heldBytes(*attribute.graph));
        for (const auto& body : attribute.graphs) add(op_[i], heldBytes(*body));
      }
    }
    for (std::size_t op = 0; op < own.size(); ++op) {
      if (own[op] > kMaxBytes) return absurd(op, "the bytes of its weights");
      out().op_weight_bytes[op] = own[op];
    }
    for (std::size_t b = 0; b < out().block_bytes.size(); ++b) {
      if (out().block_bytes[b] > kMaxBytes)
        return absurd(out().block_readers[b].front().index(), "the bytes of its weights");
    }
    return {};
  }

  void addUnknown(std::uint32_t value) {
    if (unknown_.try_emplace(value, true).second) file_.unknown_shapes.emplace_back(value_name_[value]);
  }

  Result<void> addTensors() {
    joined_ = UnionFind(out().opCount());
    std::vector<std::vector<OpId>> readers(value_name_.size());
    for (std::size_t i = 0; i < nodeCount(); ++i) {
      if (!live_[i]) continue;
      for (const std::uint32_t value : reads_[i]) {
        const bool given = producer_[value] == kNone;
        if (!constant_[value] && (given || live_[producer_[value]])) readers[value].push_back(op_[i]);
      }
    }
    for (std::uint32_t value = 0; value < value_name_.size(); ++value) {
      if (producer_[value] != kNone || readers[value].empty()) continue;
      const auto bytes = type_[value] == nullptr ? std::nullopt : type_[value]->bytes();
      if (!bytes) addUnknown(value);
      if (bytes.value_or(0) > kMaxBytes)
        return absurd(readers[value].front().index(), "the bytes of its inputs");
      out().addInput(bytes.value_or(0), readers[value]);
    }
    for (std::size_t i = 0; i < nodeCount(); ++i) {
      if (!live_[i]) continue;
      for (const std::uint32_t value : makes_[i]) {
        const auto& list = readers[value];
        if (constant_[value] || (list.empty() && !is_output_[value])) continue;
        const auto bytes = type_[value] == nullptr ? std::nullopt : type_[value]->bytes();
        if (!bytes) addUnknown(value);
        if (bytes.value_or(0) > kMaxBytes) return absurd(op_[i].index(), "the bytes of its outputs");
        out().addTensor(op_[i], list, bytes.value_or(0));
        if (!shape_[i]) continue;
        for (const OpId reader : list)
          joined_.join(static_cast<std::uint32_t>(op_[i].index()),
                       static_cast<std::uint32_t>(reader.index()));
      }
    }
    return {};
  }

  // Joined ops become groups, called by their first op.
  void addGroups() {
    const auto n = static_cast<std::uint32_t>(out().opCount());
    std::vector<std::uint32_t> members(n);
    for (std::uint32_t op = 0; op < n; ++op) ++members[joined_.find(op)];
    for (std::uint32_t op = 0; op < n; ++op) {
      const std::uint32_t first = joined_.find(op);
      if (members[first] < 2) continue;
      if (first == op) {
        out().op_group[op] = GroupId(out().group_name.size());
        out().group_name.push_back(out().op_name[op]);
      } else {
        out().op_group[op] = out().op_group[first];
      }
    }
  }

  std::string unknownText() const {
    std::string names;
    const auto& all = file_.unknown_shapes;
    for (std::size_t i = 0; i < all.size() && i < kShown; ++i)
      names += fmt::format("{}{}", i == 0 ? "" : ", ", all[i]);
    if (all.size() > kShown) names += ", ...";
    return fmt::format("the size of {} value{} is not known and counts 0 bytes: {}", all.size(),
                       all.size() == 1 ? "" : "s", names);
  }

  const Model& model_;
  const Graph& graph_;
  const Captures& captures_;
  const InferredTypes& types_;
  GraphFile file_;

  // By value of the outermost graph.
  NameIndex values_;
  std::vector<std::string_view> value_name_;
  std::vector<std::uint32_t> producer_;  // node, or kNone
  std::vector<const Value*> type_;
  std::vector<bool> constant_, settled_, is_output_;
  std::vector<std::optional<std::int64_t>> stored_;
  std::vector<std::uint32_t> source_;  // of constants: the value whose data it is
  std::unordered_map<std::uint32_t, bool> unknown_;

  // By node.
  Csr<std::uint32_t> reads_, makes_;  // values
  std::vector<std::uint8_t> live_, shape_;
  std::vector<OpId> op_;
  std::map<std::pair<std::string_view, std::string_view>, std::uint32_t>
      types_known_;  // by domain and operator
  UnionFind joined_{0};
};

}  // namespace

Result<GraphFile> assemble(const Model& model, const Captures& captures, const InferredTypes& types,
                           std::string name, Warnings& warnings) {
  return Assembler(model, captures, types).run(std::move(name), warnings);
}

}  // namespace allot::onnx
