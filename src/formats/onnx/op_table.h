// The operators Allot knows, one row each: how shapes follow, how small values follow, what it costs.
//
// To add an operator: one row in op_table*.cpp. Families share rules: an elementwise function of one input is
// {"", "Name", sameShape, nullptr, perElement, n}, where n is the number of elementary steps an element.
#pragma once

#include <string_view>
#include <vector>

#include "formats/onnx/cost.h"
#include "formats/onnx/rules.h"

namespace allot::onnx {

using ShapeRule = void (*)(Site&);
using FoldRule = void (*)(Site&);
using FlopRule = double (*)(const CostSite&);

// Which bytes move. Inputs count once each, absent outputs not at all.
enum class Traffic : std::uint8_t {
  kAll,        // every input is read, every output is written
  kView,       // nothing moves: the output is the input under another description
  kOutput,     // as much is read as is written (and the indices), whatever the size of the first input
  kOutputs,    // nothing but the outputs is written: generators
  kEmbedding,  // as kAll, but of tables of two axes only as much as is written
  kExperts,    // as kAll, but of stacked expert weights only those that tokens reach
  kControl,    // what the bodies move
};

struct OpRow {
  std::string_view domain;
  std::string_view name;
  ShapeRule shape = nullptr;
  FoldRule fold = nullptr;
  FlopRule flops = nullptr;  // null: the count is not known
  double weight = 0;         // steps an element, for the rules that count so
  Traffic traffic = Traffic::kAll;
  bool random = false;  // its output is not constant although its inputs are
};

// The row of an operator, or null. "ai.onnx" is the default domain.
const OpRow* findOp(std::string_view domain, std::string_view name);
const std::vector<const OpRow*>& allOps();

}  // namespace allot::onnx
