// Parts that problem and graph files share: models, and what an op says of itself besides its times.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>

#include "allot/formats.h"
#include "allot/graph.h"
#include "base/json_reader.h"
#include "base/json_writer.h"

namespace allot {

// Names seen so far, with the id each stands for. Keys are views into strings that must outlive the index.
class NameIndex {
 public:
  void reserve(std::size_t n) { index_.reserve(n); }
  bool add(std::string_view name, std::uint32_t id) { return index_.emplace(name, id).second; }
  const std::uint32_t* find(std::string_view name) const {
    const auto found = index_.find(name);
    return found == index_.end() ? nullptr : &found->second;
  }

 private:
  std::unordered_map<std::string_view, std::uint32_t> index_;
};

class OpPartsReader {
 public:
  OpPartsReader(OpGraph& graph, Warnings& warnings) : graph_(graph), warnings_(warnings) {}

  // `models`: [{name, weight, release}].
  Result<void> readModels(const JsonNode& root, std::vector<double>& weight, std::vector<double>& release);
  // All of an op but its times. Names must be unique.
  Result<OpId> readOp(const JsonNode& node, std::initializer_list<std::string_view> known_keys);
  // Index of op names; complete once all ops are read.
  Result<void> indexNames(const JsonNode& ops);
  Result<OpId> opNamed(const JsonNode& node) const;
  // Producer and consumers of a tensor; doubles among the consumers are dropped.
  Result<OpId> readTensorEnds(const JsonNode& node, std::vector<OpId>& consumers) const;

 private:
  OpGraph& graph_;
  Warnings& warnings_;
  std::unordered_map<std::string, std::uint32_t> models_, groups_;
  NameIndex ops_;
};

// Name, type, sizes, model, phase and group of an op, into an open object.
void writeOpParts(const OpGraph& graph, OpId op, bool with_model, JsonWriter& out);

}  // namespace allot
