// Chrome traces of the PyTorch profiler: the old form (pid "CPU functions" and "CUDA functions") and Kineto's
// (cat "cpu_op", "kernel", ...).
//
// Problem: the ops of one iteration on one device, in order, without what is nested in them.
// Method: complete events ("ph": "X") alone. An op that starts inside another of its thread is part of that
// one. On a gpu the old form times ops by themselves; with Kineto an op takes the sum of the kernels, copies
// and fills that it or what is nested in it launched (External id, or correlation with the launching call).
// Where Kineto marks steps, the one of median length is read.
// Complexity: O(events log events).
#pragma once

#include <string>
#include <vector>

#include "formats/foreign.h"

namespace allot {

struct TraceOp {
  std::string name;
  double start = 0, seconds = 0;
};

enum class TraceSide { kCpu, kGpu };

Result<std::vector<TraceOp>> readPyTorchTrace(const JsonNode& root, TraceSide side,
                                              const ReadOptions& options, Warnings& warnings);
// Whether a document looks like such a trace.
bool looksLikeTrace(const JsonNode& root);

}  // namespace allot
