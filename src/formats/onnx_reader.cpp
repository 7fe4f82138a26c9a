// ONNX models: parse, inline, resolve, infer, assemble. See docs/formats/onnx.md.
#include "formats/foreign.h"
#include "formats/onnx/assemble.h"
#include "formats/onnx/dims.h"
#include "formats/onnx/external.h"
#include "formats/onnx/functions.h"
#include "formats/onnx/opsets.h"
#include "formats/onnx/parse.h"
#include "formats/onnx/retype.h"

namespace allot {

Result<GraphFile> readOnnx(std::string_view bytes, const std::string& file, const ReadOptions& options,
                           Warnings& warnings) {
  ALLOT_TRY(onnx::Model model, onnx::parseModel(bytes));
  ALLOT_CHECK(onnx::inlineFunctions(model));
  ALLOT_CHECK(onnx::checkOpsets(model, warnings));
  ALLOT_CHECK(onnx::resolveExternal(model, file));
  ALLOT_TRY(const onnx::Captures captures, onnx::orderNodes(model));
  ALLOT_TRY(const onnx::Dims dims, onnx::bindDims(model, options.dims));
  ALLOT_TRY(onnx::InferredTypes types, onnx::inferTypes(model, model.graph, dims));
  if (options.dtype) onnx::retype(model, types, *options.dtype);
  ALLOT_TRY(GraphFile graph, onnx::assemble(model, captures, types, std::string(model.graph.name), warnings));
  if (options.dtype) onnx::retypeOps(graph.graph, *options.dtype);
  graph.dtype = options.dtype;
  return graph;
}

}  // namespace allot
