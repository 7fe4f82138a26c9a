// From a model whose functions are inlined, names resolved and types known to an operator graph.
//
// Each node that must run is one op; a node with bodies (If, Loop, Scan) is one op that also reads what its
// bodies capture. What is known beforehand vanishes: initialisers, constants and all that is computed from
// them are weights of the ops that read them; shape arithmetic whose value follows from the dimensions is
// gone. Shape arithmetic that depends on data shares a group with its readers, so that no shape goes over a
// link. Graph inputs are no ops: the host feeds them to whatever device reads them.
//
// Weights that several ops read are blocks: what a device holds once, however many of the readers it runs. A
// block is an initialiser or constant with all that is only moved, cast or unpacked from it, and with others
// of the same content. The order hint is one in which the model holds little at a time.
//
// Guarantee: op names are unique and depend on the file alone. Linear in the model.
#pragma once

#include <string>

#include "allot/formats.h"
#include "formats/onnx/model.h"
#include "formats/onnx/order.h"
#include "formats/onnx/types.h"

namespace allot::onnx {

Result<GraphFile> assemble(const Model& model, const Captures& captures, const InferredTypes& types,
                           std::string name, Warnings& warnings);

}  // namespace allot::onnx
