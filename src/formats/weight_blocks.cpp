#include "formats/weight_blocks.h"

#include <fmt/format.h>

#include "allot/problem.h"

namespace allot {

Result<void> WeightBlockReader::read(const JsonNode& node, OpId op) {
  if (!node.has("weights")) return {};
  ALLOT_TRY(const JsonNode weights, node.at("weights"));
  if (!weights.isArray()) {
    ALLOT_TRY(graph_.op_weight_bytes[op.index()], weights.bytes());
    return {};
  }
  return weights.forEach([&](const JsonNode& item) -> Result<void> {
    ALLOT_TRY(const JsonNode name_node, item.at("name"));
    ALLOT_TRY(std::string name, name_node.label());
    ALLOT_TRY(const JsonNode bytes_node, item.at("bytes"));
    ALLOT_TRY(const std::int64_t bytes, bytes_node.bytes());
    const auto [entry, fresh] =
        index_.try_emplace({graph_.op_model[op.index()].value, std::move(name)}, blocks_.size());
    if (fresh) blocks_.push_back({entry->first.second, bytes, {}});
    Block& block = blocks_[entry->second];
    if (!block.readers.empty() && block.readers.back() == op)
      return name_node.fail(fmt::format("the op names block \"{}\" twice", block.name),
                            "name each block of an op once");
    if (block.bytes != bytes)
      return bytes_node.fail(fmt::format("block \"{}\" has {} bytes here and {} in op \"{}\"", block.name,
                                         bytes, block.bytes, graph_.op_name[block.readers.front().index()]),
                             "give a block the same bytes wherever it is named, or two blocks two names");
    block.readers.push_back(op);
    return {};
  });
}

Result<void> WeightBlockReader::finish(const JsonNode& ops) {
  for (Block& block : blocks_) {
    if (block.readers.size() > 1) {
      graph_.addBlock(std::move(block.name), block.bytes, block.readers);
      continue;
    }
    const OpId op = block.readers.front();
    std::int64_t& own = graph_.op_weight_bytes[op.index()];
    own += block.bytes;
    if (own > kMaxBytes)
      return ops.fail(
          fmt::format("the weights of op \"{}\" add up to more than 2^60 bytes", graph_.op_name[op.index()]),
          "check the unit; plain numbers are bytes");
  }
  return {};
}

WeightBlockWriter::WeightBlockWriter(const OpGraph& graph)
    : graph_(graph), blocks_(graph.block_name.begin(), graph.block_name.end()) {
  if (!blocks_.empty()) ops_.insert(graph.op_name.begin(), graph.op_name.end());
}

std::string WeightBlockWriter::ownName(OpId op) const {
  std::string name = graph_.op_name[op.index()];
  if (!blocks_.contains(name)) return name;
  do {
    name += fmt::format("#{}", op.index());
  } while (blocks_.contains(name) || ops_.contains(name));
  return name;
}

void WeightBlockWriter::write(OpId op, JsonWriter& out) const {
  const std::int64_t own = graph_.op_weight_bytes[op.index()];
  const auto blocks = graph_.blocks(op);
  if (blocks.empty()) {
    if (own != 0) out.field("weights", own);
    return;
  }
  out.key("weights").beginArray();
  const auto writeOne = [&](const std::string& name, std::int64_t bytes) {
    out.beginObject().field("name", name).field("bytes", bytes).endObject();
  };
  if (own != 0) writeOne(ownName(op), own);
  for (const BlockId block : blocks)
    writeOne(graph_.block_name[block.index()], graph_.block_bytes[block.index()]);
  out.endArray();
}

}  // namespace allot
