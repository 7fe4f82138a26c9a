// `weights` of an op: bytes of its own, or a list of blocks that ops of one model share.
//
// A block that one op alone reads is as good as bytes of its own and becomes such; where an op has both, its
// own bytes are written as a block of its own, under a name that no other block of the model has. What was
// read is written back with the same meaning, and what was written is read back to the same text.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "allot/graph.h"
#include "base/json_reader.h"
#include "base/json_writer.h"

namespace allot {

class WeightBlockReader {
 public:
  explicit WeightBlockReader(OpGraph& graph) : graph_(graph) {}

  // `weights` of an op whose model is known; ops come in the order of the graph.
  Result<void> read(const JsonNode& node, OpId op);
  // Puts the blocks into the graph, once all ops are read.
  Result<void> finish(const JsonNode& ops);

 private:
  struct Block {
    std::string name;
    std::int64_t bytes = 0;
    std::vector<OpId> readers;
  };

  OpGraph& graph_;
  std::vector<Block> blocks_;                                           // in order of first use
  std::map<std::pair<std::uint32_t, std::string>, std::size_t> index_;  // by model and name
};

class WeightBlockWriter {
 public:
  explicit WeightBlockWriter(const OpGraph& graph);

  // The key `weights` of an op, into an open object; nothing where it has none.
  void write(OpId op, JsonWriter& out) const;

 private:
  const OpGraph& graph_;
  std::unordered_set<std::string_view> blocks_, ops_;  // names, of all models

  // A name for the op's own bytes that neither a block has nor another op's.
  std::string ownName(OpId op) const;
};

}  // namespace allot
