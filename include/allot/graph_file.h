// A model without devices, as readers leave it and cost models take it.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "allot/graph.h"
#include "allot/options.h"

namespace allot {

using Warnings = std::vector<std::string>;

// A graph that has no devices of its own, with the op times it carries.
struct GraphFile {
  OpGraph graph;  // finished
  std::string name;
  std::vector<double> op_seconds;  // reference time of each op, NaN where absent
  // Times by class name, where the file gives them so: [op] -> list of (class name, seconds).
  std::vector<std::vector<std::pair<std::string, double>>> op_class_seconds;
  std::optional<Goal> goal;                   // what such files are usually planned for
  MemoryModel memory = MemoryModel::kStatic;  // what counts where no option says so
  std::string costs = "given";                // provenance of the times
  // The arithmetic that was asked for; sizes follow it. Absent = the model's own types.
  std::optional<DataType> dtype;
  // ONNX: names of values whose size the reader could not tell; they count 0 bytes.
  std::vector<std::string> unknown_shapes;
};

}  // namespace allot
