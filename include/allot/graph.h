// The operator graph of one or more models.
//
// Problem: hold a DAG of operators whose edges are tensors, so that "sent once per destination" is natural: a
// tensor is a
//   hyperedge from its producer to all its consumers.
// Layout: structure of arrays with CSR adjacency; 1e6 ops load and are swept without a pointer chase per op.
// Guarantee: after `finish` the graph is acyclic, every index is in range, and the derived arrays agree with
// the tensors.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "allot/ids.h"
#include "allot/result.h"

namespace allot {

enum class Phase : std::uint8_t { kForward, kBackward, kUpdate };

std::string_view name(Phase phase);

// The arithmetic an op does its work in; it decides which peak of a device holds.
enum class DataType : std::uint8_t {
  kUnknown,
  kFloat64,
  kFloat32,
  kTf32,  // fp32 in memory, products on matrix units that round their inputs to 10 bits
  kFloat16,
  kBFloat16,
  kFloat8,
  kFloat4,
  kInt8,
  kInt4,
  kOther,  // wide integers, truth values, text
};
inline constexpr std::size_t kDataTypeCount = 11;

// "fp64", "fp32", "tf32", "fp16", "bf16", "fp8", "fp4", "int8", "int4", "other"; "" for kUnknown.
std::string_view name(DataType type);
std::optional<DataType> dataTypeFromName(std::string_view name);

// Compressed rows: row i is items[begin[i] .. begin[i + 1]).
template <class T>
struct Csr {
  std::vector<std::uint32_t> begin{0};
  std::vector<T> items;

  std::span<const T> operator[](std::size_t row) const {
    return {items.data() + begin[row], items.data() + begin[row + 1]};
  }
  std::size_t rows() const { return begin.size() - 1; }
  void closeRow() { begin.push_back(static_cast<std::uint32_t>(items.size())); }
};

class OpGraph {
 public:
  // Filled by readers, one entry per op.
  std::vector<std::string> op_name;
  std::vector<std::uint32_t> op_type;  // index into type_name
  std::vector<ModelId> op_model;
  std::vector<Phase> op_phase;
  std::vector<GroupId> op_group;  // invalid = none
  std::vector<double> op_flops;
  std::vector<std::int64_t> op_memory_bytes;      // held while the op is placed, besides weights
  std::vector<std::int64_t> op_weight_bytes;      // its own; blocks that others read too are below
  std::vector<std::int64_t> op_workspace_bytes;   // held while the op runs
  std::vector<std::int64_t> op_activation_bytes;  // where a format gives them; held as memory is
  // What a cost model needs besides flops: memory traffic, weights included, and the arithmetic.
  std::vector<std::int64_t> op_read_bytes, op_written_bytes;
  std::vector<DataType> op_data_type;
  // 1 = a reader could not tell flops or traffic; such an op may not be priced from them.
  std::vector<std::uint8_t> op_cost_unknown;

  // One entry per tensor.
  std::vector<OpId> tensor_producer;
  std::vector<std::int64_t> tensor_bytes;
  Csr<OpId> tensor_consumers;

  // Weights that several ops read: a device holds a block once, however many of its readers are there. Names
  // are those of one model.
  std::vector<std::string> block_name;
  std::vector<std::int64_t> block_bytes;
  Csr<OpId> block_readers;

  // What models are given: tensors without a producer, which count in live memory and cost no transfer.
  std::vector<std::int64_t> input_bytes;
  Csr<OpId> input_readers;

  // The order in which live memory of throughput takes the ops, where it is not the least topological one.
  std::vector<OpId> order_hint;

  std::vector<std::string> type_name{""};
  std::vector<std::string> model_name;
  std::vector<std::string> group_name;

  // Adds an op with zero sizes in model 0 and returns its id.
  OpId addOp(std::string name);
  // Adds a tensor; the consumers must be distinct.
  TensorId addTensor(OpId producer, std::span<const OpId> consumers, std::int64_t bytes);
  // Adds a block of weights; the readers must be distinct and of one model.
  BlockId addBlock(std::string name, std::int64_t bytes, std::span<const OpId> readers);
  // Adds a tensor that is given from outside; the readers must be distinct.
  InputId addInput(std::int64_t bytes, std::span<const OpId> readers);
  // Leaves out blocks of weights and what models are given, in a finished graph too.
  void dropBlocksAndInputs();
  // Index of a type name, added when new.
  std::uint32_t internType(std::string_view type);

  std::size_t opCount() const { return op_name.size(); }
  std::size_t tensorCount() const { return tensor_producer.size(); }
  std::size_t modelCount() const { return model_name.size(); }
  std::span<const OpId> consumers(TensorId tensor) const { return tensor_consumers[tensor.index()]; }
  OpId producer(TensorId tensor) const { return tensor_producer[tensor.index()]; }

  // Derives adjacency and the orders. Fails on a cycle, naming its path, and on an order hint that is not a
  // topological order of all ops.
  Result<void> finish();

  // Available after finish().
  std::span<const TensorId> outputs(OpId op) const { return op_outputs_[op.index()]; }
  std::span<const TensorId> inputs(OpId op) const { return op_inputs_[op.index()]; }
  std::span<const OpId> topologicalOrder() const { return topological_order_; }
  // Position of an op in topologicalOrder().
  std::uint32_t position(OpId op) const { return position_[op.index()]; }
  // The order hint, or else the least topological order by index, model by model where no edge forbids it.
  std::span<const OpId> referenceOrder() const { return reference_order_; }
  std::span<const BlockId> blocks(OpId op) const { return op_blocks_[op.index()]; }
  std::span<const InputId> modelInputs(OpId op) const { return op_model_inputs_[op.index()]; }

 private:
  Csr<TensorId> op_outputs_;
  Csr<TensorId> op_inputs_;
  Csr<BlockId> op_blocks_;
  Csr<InputId> op_model_inputs_;
  std::vector<OpId> topological_order_;
  std::vector<std::uint32_t> position_;
  std::vector<OpId> reference_order_;
  std::unordered_map<std::string, std::uint32_t> type_index_;  // of type_name

  Result<void> findReferenceOrder();
  Result<void> checkHint() const;
};

}  // namespace allot
