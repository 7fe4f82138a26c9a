#include "formats/onnx/op_table.h"

#include <unordered_map>

#include "formats/onnx/op_table_rows.h"

namespace allot::onnx {
namespace {

// By name; the few names that several domains have follow each other.
using Index = std::unordered_multimap<std::string_view, const OpRow*>;

const Index& index() {
  static const Index built = [] {
    Index out;
    for (const OpRow& row : standardRows()) out.emplace(row.name, &row);
    for (const OpRow& row : contribRows()) out.emplace(row.name, &row);
    return out;
  }();
  return built;
}

}  // namespace

const OpRow* findOp(std::string_view domain, std::string_view name) {
  if (domain == "ai.onnx") domain = {};
  const auto [begin, end] = index().equal_range(name);
  for (auto at = begin; at != end; ++at) {
    if (at->second->domain == domain) return at->second;
  }
  return nullptr;
}

const std::vector<const OpRow*>& allOps() {
  static const std::vector<const OpRow*> all = [] {
    std::vector<const OpRow*> out;
    for (const OpRow& row : standardRows()) out.push_back(&row);
    for (const OpRow& row : contribRows()) out.push_back(&row);
    return out;
  }();
  return all;
}

}  // namespace allot::onnx
