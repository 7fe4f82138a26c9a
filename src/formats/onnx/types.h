// Types, shapes and small integer values of every tensor of a model whose functions are inlined.
//
// Method: nodes in topological order; a value's type comes from the rule of its node (op_table.h); dimensions
// that no rule can tell come from the file's value_info. Tensors of at most 4,096 elements are computed, so
// that the target of a Reshape behind Shape, Gather and Concat is known once the input dimensions are. Where
// rule and value_info give different numbers of the same rank the rule holds, because value_info of a model
// that was edited or whose batch was bound anew is often stale.
//
// Guarantee: a shape that is said is right for the given dimensions; what cannot be told stays empty.
//
// Complexity: linear in the nodes and the ranks of their tensors; bodies of loops are visited at most three
// times a level on the outer three levels, once below.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "allot/result.h"
#include "formats/onnx/model.h"

namespace allot::onnx {

struct Value {
  Type::Kind kind = Type::Kind::kNone;
  ElementType element = ElementType::kUndefined;
  std::optional<Shape> shape;                         // of the tensor, or of the sequence's elements
  std::optional<std::vector<std::int64_t>> integers;  // where the value itself is known
  std::optional<std::vector<double>> numbers;         // the same of a floating tensor
  std::int64_t length = -1;                           // of a sequence; -1 = not known
  bool constant = false;     // known without the model's inputs: initialiser, constant, or computed from such
  bool description = false;  // computed from shapes and constants alone, at least one shape among them

  // Number of elements, or nothing where the shape is not known. Saturates at 2^62.
  std::optional<std::int64_t> elements() const;
  // Bytes, packed types rounded up; nothing where shape or element size is not known.
  std::optional<std::int64_t> bytes() const;
};

using Dims = std::map<std::string, std::int64_t>;

inline constexpr std::int64_t kMostElements = std::int64_t{1} << 62;
// A dimension above this is taken for a damaged file.
inline constexpr std::int64_t kMostDim = std::int64_t{1} << 40;
inline constexpr std::int64_t kMostFolded = 4096;

using Values = std::unordered_map<std::string_view, Value>;

// `graph` in topological order, functions inlined. Fails where a shape of the file contradicts a rule in a
// way that no dimension can mend, or a dimension is negative or absurd. Bodies of If, Loop and Scan are
// inferred too; their values come back in `bodies` by graph, with those of the outer graphs that they use.
struct InferredTypes {
  Values values;
  std::unordered_map<const Graph*, Values> bodies;
};
Result<InferredTypes> inferTypes(const Model& model, const Graph& graph, const Dims& dims);

// Cost of one node. `known` is false where flops or traffic cannot be told; what can be is filled all the
// same. If: its dearer branch; Loop and Scan: body times trip count, where that is known, else once and not
// `known`.
struct NodeCost {
  double flops = 0;  // a multiply-add is two
  std::int64_t read_bytes = 0, written_bytes = 0, workspace_bytes = 0;
  ElementType arithmetic = ElementType::kUndefined;
  bool known = true;
};
NodeCost costOf(const Model& model, const Node& node, const Values& values, const InferredTypes& types);

// Shape arithmetic and other ops that only move descriptions: they belong to their consumer and are never
// worth a transfer (Shape, Size, and anything whose outputs are small integers computed from such).
bool isShapeArithmetic(const Node& node, const Values& values);

}  // namespace allot::onnx
