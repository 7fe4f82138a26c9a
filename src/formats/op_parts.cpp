#include "formats/op_parts.h"

#include <fmt/format.h>

#include <algorithm>

namespace allot {
namespace {

Result<void> readBytes(const JsonNode& node, std::string_view key, std::int64_t& bytes) {
  if (!node.has(key)) return {};
  ALLOT_TRY(const JsonNode child, node.at(key));
  ALLOT_TRY(bytes, child.bytes());
  return {};
}

std::uint32_t hashOf(std::string_view name) {
  return static_cast<std::uint32_t>(std::hash<std::string_view>{}(name));
}

}  // namespace

void NameIndex::reserve(std::size_t n) {
  std::size_t size = 16;
  while (size < 2 * n) size *= 2;
  if (size <= slots_.size()) return;
  slots_.assign(size, {});
  names_.reserve(n);
  for (std::uint32_t id = 0; id < names_.size(); ++id) {
    const std::uint32_t hash = hashOf(names_[id]);
    slots_[slotOf(names_[id], hash)] = {hash, id};
  }
}

std::size_t NameIndex::slotOf(std::string_view name, std::uint32_t hash) const {
  std::size_t at = hash & (slots_.size() - 1);
  while (slots_[at].id != UINT32_MAX && (slots_[at].hash != hash || names_[slots_[at].id] != name)) {
    at = (at + 1) & (slots_.size() - 1);
  }
  return at;
}

bool NameIndex::add(std::string_view name) {
  if (2 * (names_.size() + 1) > slots_.size()) reserve(2 * (names_.size() + 1));
  const std::uint32_t hash = hashOf(name);
  Slot& slot = slots_[slotOf(name, hash)];
  if (slot.id != UINT32_MAX) return false;
  slot = {hash, static_cast<std::uint32_t>(names_.size())};
  names_.push_back(name);
  return true;
}

std::optional<std::uint32_t> NameIndex::find(std::string_view name) const {
  if (slots_.empty()) return std::nullopt;
  const Slot& slot = slots_[slotOf(name, hashOf(name))];
  return slot.id == UINT32_MAX ? std::nullopt : std::optional(slot.id);
}

Result<std::uint32_t> NameIndex::at(const JsonNode& node, std::string_view kind,
                                    std::string_view remedy) const {
  std::string number;  // only for names that are written as numbers
  std::string_view text;
  if (node.isString()) {
    ALLOT_TRY(text, node.string());
  } else {
    ALLOT_TRY(number, node.label());
    text = number;
  }
  if (const auto id = find(text)) return *id;
  return node.fail(fmt::format("unknown {} \"{}\"", kind, text), std::string(remedy));
}

Result<void> OpPartsReader::readModels(const JsonNode& root, std::vector<double>& weight,
                                       std::vector<double>& release) {
  if (!root.has("models")) return {};
  ALLOT_TRY(const JsonNode list, root.at("models"));
  return list.forEach([&](const JsonNode& node) -> Result<void> {
    ALLOT_TRY(const JsonNode name_node, node.at("name"));
    ALLOT_TRY(std::string model, name_node.label());
    if (!models_.emplace(model, static_cast<std::uint32_t>(graph_.model_name.size())).second) {
      return name_node.fail(fmt::format("model \"{}\" is there twice", model),
                            "give each model its own name");
    }
    double model_weight = 1, model_release = 0;
    if (node.has("weight")) {
      ALLOT_TRY(const JsonNode child, node.at("weight"));
      ALLOT_TRY(model_weight, child.nonNegative());
      if (model_weight > 1e12) return child.fail("the weight is absurd", "use a weight of at most 1e12");
    }
    if (node.has("release")) {
      ALLOT_TRY(const JsonNode child, node.at("release"));
      ALLOT_TRY(model_release, child.seconds());
    }
    graph_.model_name.push_back(std::move(model));
    weight.push_back(model_weight);
    release.push_back(model_release);
    node.warnUnknown({"name", "weight", "release"}, warnings_);
    return {};
  });
}

Result<OpId> OpPartsReader::readOp(const JsonNode& node, std::initializer_list<std::string_view> known_keys) {
  ALLOT_TRY(const JsonNode name_node, node.at("name"));
  ALLOT_TRY(std::string op_name, name_node.label());
  const OpId op = graph_.addOp(std::move(op_name));
  const std::size_t i = op.index();
  ALLOT_CHECK(readBytes(node, "memory", graph_.op_memory_bytes[i]));
  ALLOT_CHECK(readBytes(node, "workspace", graph_.op_workspace_bytes[i]));
  if (node.has("type")) {
    ALLOT_TRY(const JsonNode child, node.at("type"));
    ALLOT_TRY(const std::string_view type, child.string());
    graph_.op_type[i] = graph_.internType(type);
  }
  if (node.has("flops")) {
    ALLOT_TRY(const JsonNode child, node.at("flops"));
    ALLOT_TRY(graph_.op_flops[i], child.nonNegative());
  }
  ALLOT_CHECK(readBytes(node, "activations", graph_.op_activation_bytes[i]));
  ALLOT_CHECK(readBytes(node, "read", graph_.op_read_bytes[i]));
  ALLOT_CHECK(readBytes(node, "written", graph_.op_written_bytes[i]));
  if (node.has("dtype")) {
    ALLOT_TRY(const JsonNode child, node.at("dtype"));
    ALLOT_TRY(const std::string_view text, child.string());
    const auto type = dataTypeFromName(text);
    if (!type)
      return child.fail(fmt::format("unknown dtype \"{}\"", text),
                        "use fp64, fp32, tf32, fp16, bf16, fp8, fp4, int8, int4 or other");
    graph_.op_data_type[i] = *type;
  }
  if (node.has("cost-unknown")) {
    ALLOT_TRY(const JsonNode child, node.at("cost-unknown"));
    ALLOT_TRY(const bool unknown, child.boolean());
    graph_.op_cost_unknown[i] = unknown ? 1 : 0;
  }
  if (node.has("model")) {
    ALLOT_TRY(const JsonNode child, node.at("model"));
    ALLOT_TRY(const std::string model, child.label());
    const auto found = models_.find(model);
    if (found == models_.end())
      return child.fail(fmt::format("unknown model \"{}\"", model), "name one of \"models\"");
    graph_.op_model[i] = ModelId(found->second);
  } else if (graph_.model_name.size() > 1) {
    return node.fail("\"model\" is missing", "say which of the models the op belongs to");
  }
  ALLOT_CHECK(blocks_.read(node, op));
  if (node.has("phase")) {
    ALLOT_TRY(const JsonNode child, node.at("phase"));
    ALLOT_TRY(const std::string_view phase, child.string());
    if (phase == "forward")
      graph_.op_phase[i] = Phase::kForward;
    else if (phase == "backward")
      graph_.op_phase[i] = Phase::kBackward;
    else if (phase == "update")
      graph_.op_phase[i] = Phase::kUpdate;
    else
      return child.fail(fmt::format("unknown phase \"{}\"", phase),
                        "use \"forward\", \"backward\" or \"update\"");
  }
  if (node.has("group")) {
    ALLOT_TRY(const JsonNode child, node.at("group"));
    if (!child.isNull()) {
      ALLOT_TRY(std::string group, child.label());
      const auto [entry, fresh] =
          groups_.emplace(std::move(group), static_cast<std::uint32_t>(graph_.group_name.size()));
      if (fresh) graph_.group_name.push_back(entry->first);
      graph_.op_group[i] = GroupId(entry->second);
    }
  }
  node.warnUnknown(known_keys, warnings_);
  return op;
}

Result<void> OpPartsReader::finishOps(const JsonNode& ops) {
  ops_.reserve(graph_.opCount());
  for (std::size_t i = 0; i < graph_.opCount(); ++i) {
    if (ops_.add(graph_.op_name[i])) continue;
    return ops.fail(fmt::format("op \"{}\" is there twice", graph_.op_name[i]), "give each op its own name");
  }
  return blocks_.finish(ops);
}

Result<OpId> OpPartsReader::opNamed(const JsonNode& node) const {
  ALLOT_TRY(const std::uint32_t id, ops_.at(node, "op", "name one of \"ops\""));
  return OpId(id);
}

Result<OpId> OpPartsReader::readTensorEnds(const JsonNode& node, std::vector<OpId>& consumers) const {
  OpId producer;
  if (node.has("from")) {
    ALLOT_TRY(const JsonNode from, node.at("from"));
    ALLOT_TRY(producer, opNamed(from));
  }
  ALLOT_TRY(const JsonNode to, node.at("to"));
  consumers.clear();
  ALLOT_CHECK(to.forEach([&](const JsonNode& item) -> Result<void> {
    ALLOT_TRY(const OpId consumer, opNamed(item));
    if (consumer == producer) {
      return item.fail(fmt::format("op \"{}\" reads its own output", graph_.op_name[consumer.index()]),
                       "remove the self loop");
    }
    consumers.push_back(consumer);
    return {};
  }));
  if (consumers.size() > 1) {
    std::sort(consumers.begin(), consumers.end());
    consumers.erase(std::unique(consumers.begin(), consumers.end()), consumers.end());
  }
  return producer;
}

Result<void> OpPartsReader::readOrderHint(const JsonNode& root) {
  if (!root.has("order_hint")) return {};
  ALLOT_TRY(const JsonNode list, root.at("order_hint"));
  return list.forEach([&](const JsonNode& item) -> Result<void> {
    ALLOT_TRY(const OpId op, opNamed(item));
    graph_.order_hint.push_back(op);
    return {};
  });
}

void writeOpParts(const OpGraph& graph, OpId op, bool with_model, const WeightBlockWriter& blocks,
                  JsonWriter& out) {
  const std::size_t i = op.index();
  out.field("name", graph.op_name[i]);
  if (graph.op_type[i] != 0) out.field("type", graph.type_name[graph.op_type[i]]);
  if (graph.op_flops[i] != 0) out.field("flops", graph.op_flops[i]);
  if (graph.op_memory_bytes[i] != 0) out.field("memory", graph.op_memory_bytes[i]);
  blocks.write(op, out);
  if (graph.op_workspace_bytes[i] != 0) out.field("workspace", graph.op_workspace_bytes[i]);
  if (graph.op_activation_bytes[i] != 0) out.field("activations", graph.op_activation_bytes[i]);
  if (graph.op_read_bytes[i] != 0) out.field("read", graph.op_read_bytes[i]);
  if (graph.op_written_bytes[i] != 0) out.field("written", graph.op_written_bytes[i]);
  if (graph.op_data_type[i] != DataType::kUnknown) out.field("dtype", name(graph.op_data_type[i]));
  if (graph.op_cost_unknown[i] != 0) out.field("cost-unknown", true);
  if (with_model) out.field("model", graph.model_name[graph.op_model[i].index()]);
  if (graph.op_phase[i] != Phase::kForward) out.field("phase", name(graph.op_phase[i]));
  if (graph.op_group[i].valid()) out.field("group", graph.group_name[graph.op_group[i].index()]);
}

void writeReaders(const OpGraph& graph, std::span<const OpId> readers, JsonWriter& out) {
  out.key("to").beginArray();
  for (const OpId reader : readers) out.value(graph.op_name[reader.index()]);
  out.endArray();
}

void writeModelInputs(const OpGraph& graph, JsonWriter& out) {
  for (std::size_t i = 0; i < graph.input_bytes.size(); ++i) {
    out.beginObject();
    writeReaders(graph, graph.input_readers[i], out);
    out.field("bytes", graph.input_bytes[i]).endObject();
  }
}

void writeOrderHint(const OpGraph& graph, JsonWriter& out) {
  if (graph.order_hint.empty()) return;
  out.key("order_hint").beginArray();
  for (const OpId op : graph.order_hint) out.value(graph.op_name[op.index()]);
  out.endArray();
}

}  // namespace allot
