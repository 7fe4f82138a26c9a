// The placement rules of today's frameworks, each over the module order (module_order.h).
//
// Devices come in the order of the file, accelerators first. Rules that split a model into stages use the
// accelerators; the cpus join only when the accelerators cannot hold the parts. Guarantee: what is reported
// respects units, allowed devices and static memory.
#pragma once

#include "allot/solve.h"

namespace allot::baseline {

// The whole model on one device; every device that differs in class or memory is reported.
SolveResult singleDevice(const Problem& problem, const Budget& budget, Progress& progress);
// Hugging Face accelerate, device_map "sequential" and "balanced".
SolveResult accelerateSequential(const Problem& problem, const Budget& budget, Progress& progress);
SolveResult accelerateBalanced(const Problem& problem, const Budget& budget, Progress& progress);
// DeepSpeed, partition_method "parameters".
SolveResult deepspeedParameters(const Problem& problem, const Budget& budget, Progress& progress);
// vLLM's default layers per pipeline stage.
SolveResult evenSplit(const Problem& problem, const Budget& budget, Progress& progress);
// ONNX Runtime's memory budget of an accelerator.
SolveResult ortBudget(const Problem& problem, const Budget& budget, Progress& progress);
// llama.cpp's and exo's layers in proportion to memory.
SolveResult memoryProportional(const Problem& problem, const Budget& budget, Progress& progress);

}  // namespace allot::baseline
