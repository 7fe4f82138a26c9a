// Two real-sized models on unlike hardware, for `allot demo` and examples.
//
// Operator graphs with flops and sizes, priced by the cost model for one RTX 3090, two T4 and a CPU of 16
// cores behind PCIe.
#pragma once

#include "allot/problem.h"

namespace allot {

// A decoder-only language model of 13e9 parameters that reads a prompt of 512 tokens in half precision: 40
// layers with gated feed-forward parts, 683 ops. No GPU of the cluster holds its weights of 26 GB.
Result<Problem> demoLanguageModel();

// GoogLeNet (Szegedy et al., CVPR 2015, table 1) on 16 images in single precision: nine modules of four
// branches each, 139 ops.
Result<Problem> demoVisionModel();

}  // namespace allot
