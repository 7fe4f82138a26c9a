// Parts that problem and graph files share: models, and what an op says of itself besides its times.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "allot/formats.h"
#include "allot/graph.h"
#include "base/json_reader.h"
#include "base/json_writer.h"
#include "formats/weight_blocks.h"

namespace allot {

// Names with the ids they stand for; ids are given from 0 on, in the order of adding. Open addressing: a
// million names are looked up with one cache miss each. The names must outlive the index.
class NameIndex {
 public:
  void reserve(std::size_t n);
  // False when the name is there already.
  bool add(std::string_view name);
  // The id, or nothing.
  std::optional<std::uint32_t> find(std::string_view name) const;
  // The id of the name in a node, which must be there; `kind` is what such names stand for.
  Result<std::uint32_t> at(const JsonNode& node, std::string_view kind, std::string_view remedy) const;

 private:
  struct Slot {
    std::uint32_t hash = 0;
    std::uint32_t id = UINT32_MAX;  // free
  };
  std::vector<Slot> slots_;
  std::vector<std::string_view> names_;  // by id

  // The slot that holds the name, or the free one where it belongs.
  std::size_t slotOf(std::string_view name, std::uint32_t hash) const;
};

class OpPartsReader {
 public:
  OpPartsReader(OpGraph& graph, Warnings& warnings) : graph_(graph), warnings_(warnings), blocks_(graph) {}

  // `models`: [{name, weight, release}].
  Result<void> readModels(const JsonNode& root, std::vector<double>& weight, std::vector<double>& release);
  // All of an op but its times. Names must be unique.
  Result<OpId> readOp(const JsonNode& node, std::initializer_list<std::string_view> known_keys);
  // Index of op names and blocks of weights, once all ops are read.
  Result<void> finishOps(const JsonNode& ops);
  Result<OpId> opNamed(const JsonNode& node) const;
  // Producer and consumers of a tensor; doubles among the consumers are dropped. The producer of what a model
  // is given is invalid.
  Result<OpId> readTensorEnds(const JsonNode& node, std::vector<OpId>& consumers) const;
  // `order_hint`.
  Result<void> readOrderHint(const JsonNode& root);

 private:
  OpGraph& graph_;
  Warnings& warnings_;
  std::unordered_map<std::string, std::uint32_t> models_, groups_;
  NameIndex ops_;
  WeightBlockReader blocks_;
};

// Name, type, sizes, model, phase and group of an op, into an open object.
void writeOpParts(const OpGraph& graph, OpId op, bool with_model, const WeightBlockWriter& blocks,
                  JsonWriter& out);
// The tensors that models are given, into the open list of tensors.
void writeModelInputs(const OpGraph& graph, JsonWriter& out);
// The key `to` of a tensor.
void writeReaders(const OpGraph& graph, std::span<const OpId> readers, JsonWriter& out);
void writeOrderHint(const OpGraph& graph, JsonWriter& out);

}  // namespace allot
