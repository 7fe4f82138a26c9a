// Values of symbolic dimensions.
//
// Every dimension of a graph input must have a value. One that the file names nothing is called by its input
// and axis: `x.0`. Exporters write sums and products of names too ("past + 1", "2*s0"): such an expression
// follows from its names, unless it is given a value itself.
#pragma once

#include <map>
#include <string>

#include "allot/result.h"
#include "formats/onnx/model.h"
#include "formats/onnx/types.h"

namespace allot::onnx {

// Sets every dimension that `given` decides, in all graphs, and returns the values of all names and
// expressions of the model that are known. Fails where an input's dimension has no value (one error for all
// of them, with the command to type), and where a given name is not in the model.
Result<Dims> bindDims(Model& model, const std::map<std::string, std::int64_t>& given);

}  // namespace allot::onnx
