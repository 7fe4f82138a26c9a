#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <queue>

#include "allot/graph.h"
#include "graph/cycle.h"

namespace allot {

std::string_view name(Phase phase) {
  switch (phase) {
    case Phase::kForward:
      return "forward";
    case Phase::kBackward:
      return "backward";
    case Phase::kUpdate:
      return "update";
  }
  return "?";
}

namespace {

constexpr std::array<std::string_view, kDataTypeCount> kDataTypeNames{
    "", "fp64", "fp32", "tf32", "fp16", "bf16", "fp8", "fp4", "int8", "int4", "other"};

}  // namespace

std::string_view name(DataType type) {
  return kDataTypeNames[static_cast<std::size_t>(type)];
}

std::optional<DataType> dataTypeFromName(std::string_view name) {
  const auto found = std::find(kDataTypeNames.begin() + 1, kDataTypeNames.end(), name);
  if (found == kDataTypeNames.end()) return std::nullopt;
  return static_cast<DataType>(found - kDataTypeNames.begin());
}

OpId OpGraph::addOp(std::string op) {
  const OpId id(op_name.size());
  op_name.push_back(std::move(op));
  op_type.push_back(0);
  op_model.emplace_back(0);
  op_phase.push_back(Phase::kForward);
  op_group.emplace_back();
  op_flops.push_back(0);
  op_memory_bytes.push_back(0);
  op_weight_bytes.push_back(0);
  op_workspace_bytes.push_back(0);
  op_activation_bytes.push_back(0);
  op_read_bytes.push_back(0);
  op_written_bytes.push_back(0);
  op_data_type.push_back(DataType::kUnknown);
  op_cost_unknown.push_back(0);
  return id;
}

TensorId OpGraph::addTensor(OpId producer, std::span<const OpId> consumers, std::int64_t bytes) {
  const TensorId id(tensor_producer.size());
  tensor_producer.push_back(producer);
  tensor_bytes.push_back(bytes);
  tensor_consumers.items.insert(tensor_consumers.items.end(), consumers.begin(), consumers.end());
  tensor_consumers.closeRow();
  return id;
}

std::uint32_t OpGraph::internType(std::string_view type) {
  if (type_index_.empty()) {
    for (std::uint32_t i = 0; i < type_name.size(); ++i) type_index_.emplace(type_name[i], i);
  }
  const auto [place, fresh] =
      type_index_.try_emplace(std::string(type), static_cast<std::uint32_t>(type_name.size()));
  if (fresh) type_name.emplace_back(type);
  return place->second;
}

BlockId OpGraph::addBlock(std::string block, std::int64_t bytes, std::span<const OpId> readers) {
  const BlockId id(block_name.size());
  block_name.push_back(std::move(block));
  block_bytes.push_back(bytes);
  block_readers.items.insert(block_readers.items.end(), readers.begin(), readers.end());
  block_readers.closeRow();
  return id;
}

InputId OpGraph::addInput(std::int64_t bytes, std::span<const OpId> readers) {
  const InputId id(input_bytes.size());
  input_bytes.push_back(bytes);
  input_readers.items.insert(input_readers.items.end(), readers.begin(), readers.end());
  input_readers.closeRow();
  return id;
}

void OpGraph::dropBlocksAndInputs() {
  block_name.clear();
  block_bytes.clear();
  block_readers = {};
  input_bytes.clear();
  input_readers = {};
  for (auto* rows : {&op_blocks_.begin, &op_model_inputs_.begin}) std::fill(rows->begin(), rows->end(), 0);
  op_blocks_.items.clear();
  op_model_inputs_.items.clear();
}

Result<void> OpGraph::checkHint() const {
  constexpr std::string_view kRemedy = "name every op once, each behind those it reads from";
  const std::size_t n = opCount();
  std::vector<std::uint32_t> place(n, UINT32_MAX);
  for (std::uint32_t i = 0; i < order_hint.size(); ++i) {
    std::uint32_t& at = place[order_hint[i].index()];
    if (at != UINT32_MAX)
      return badInput("order_hint", fmt::format("op \"{}\" is there twice", op_name[order_hint[i].index()]),
                      std::string(kRemedy));
    at = i;
  }
  if (order_hint.size() != n)
    return badInput("order_hint", fmt::format("{} of {} ops are there", order_hint.size(), n),
                    std::string(kRemedy));
  for (std::size_t t = 0; t < tensorCount(); ++t) {
    const OpId from = tensor_producer[t];
    for (const OpId to : tensor_consumers[t]) {
      if (place[from.index()] < place[to.index()]) continue;
      return badInput("order_hint",
                      fmt::format("op \"{}\" stands before op \"{}\", which it reads from",
                                  op_name[to.index()], op_name[from.index()]),
                      std::string(kRemedy));
    }
  }
  return {};
}

Result<void> OpGraph::findReferenceOrder() {
  reference_order_ = order_hint;
  if (!order_hint.empty()) return checkHint();
  reference_order_ = topological_order_;
  for (std::size_t t = 0; t < tensorCount(); ++t) {
    for (const OpId to : tensor_consumers[t]) {
      if (op_model[to.index()] < op_model[tensor_producer[t].index()]) return {};
    }
  }
  std::stable_sort(reference_order_.begin(), reference_order_.end(),
                   [&](OpId a, OpId b) { return op_model[a.index()] < op_model[b.index()]; });
  return {};
}

namespace {

// Rows of owners by member, from rows of members by owner.
template <class Owner>
Csr<Owner> invert(const Csr<OpId>& rows, std::size_t ops) {
  Csr<Owner> out;
  out.begin.assign(ops + 1, 0);
  for (const OpId op : rows.items) ++out.begin[op.index() + 1];
  for (std::size_t i = 0; i < ops; ++i) out.begin[i + 1] += out.begin[i];
  out.items.resize(rows.items.size());
  std::vector<std::uint32_t> fill(out.begin.begin(), out.begin.end() - 1);
  for (std::size_t row = 0; row < rows.rows(); ++row) {
    for (const OpId op : rows[row]) out.items[fill[op.index()]++] = Owner(row);
  }
  return out;
}

}  // namespace

Result<void> OpGraph::finish() {
  const std::size_t n = opCount();
  const std::size_t m = tensorCount();
  op_blocks_ = invert<BlockId>(block_readers, n);
  op_model_inputs_ = invert<InputId>(input_readers, n);
  op_outputs_ = {};
  op_inputs_ = {};
  std::vector<std::uint32_t> out_count(n + 1), in_count(n + 1);
  for (std::size_t t = 0; t < m; ++t) {
    ++out_count[tensor_producer[t].index() + 1];
    for (const OpId consumer : tensor_consumers[t]) ++in_count[consumer.index() + 1];
  }
  for (std::size_t i = 0; i < n; ++i) {
    out_count[i + 1] += out_count[i];
    in_count[i + 1] += in_count[i];
  }
  op_outputs_.begin = out_count;
  op_inputs_.begin = in_count;
  op_outputs_.items.resize(out_count[n]);
  op_inputs_.items.resize(in_count[n]);
  for (std::size_t t = 0; t < m; ++t) {
    op_outputs_.items[out_count[tensor_producer[t].index()]++] = TensorId(t);
    for (const OpId consumer : tensor_consumers[t])
      op_inputs_.items[in_count[consumer.index()]++] = TensorId(t);
  }

  // Kahn's algorithm with the smallest index first: the order follows the file where the file is ordered.
  topological_order_.clear();
  topological_order_.reserve(n);
  position_.assign(n, 0);
  std::vector<std::uint32_t> waiting(n);
  std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, std::greater<>> ready;
  for (std::size_t i = 0; i < n; ++i) {
    waiting[i] = static_cast<std::uint32_t>(op_inputs_[i].size());
    if (waiting[i] == 0) ready.push(static_cast<std::uint32_t>(i));
  }
  while (!ready.empty()) {
    const OpId op(ready.top());
    ready.pop();
    position_[op.index()] = static_cast<std::uint32_t>(topological_order_.size());
    topological_order_.push_back(op);
    for (const TensorId tensor : outputs(op)) {
      for (const OpId consumer : consumers(tensor)) {
        if (--waiting[consumer.index()] == 0) ready.push(consumer.value);
      }
    }
  }
  if (topological_order_.size() == n) return findReferenceOrder();
  const std::vector<std::uint32_t> cycle = findCycle(n, [&](std::uint32_t op, auto&& visit) {
    for (const TensorId tensor : outputs(OpId(op))) {
      for (const OpId consumer : consumers(tensor)) visit(consumer.value);
    }
  });
  std::string path;
  for (std::size_t i = 0; i < cycle.size() && i < 20; ++i) path += op_name[cycle[i]] + " -> ";
  path += cycle.size() > 20 ? "..." : op_name[cycle.front()];
  return badInput("", fmt::format("the graph has a cycle: {}", path), "remove one of these edges");
}

}  // namespace allot
