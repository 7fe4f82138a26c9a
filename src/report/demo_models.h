// Two real-sized models for `allot demo` and examples: operator graphs with flops and sizes, no times.
#pragma once

#include "allot/formats.h"

namespace allot {

// A decoder-only language model of 13e9 parameters that reads a prompt of 512 tokens in half precision: 40
// layers with gated feed-forward parts, 683 ops. No consumer GPU holds its weights of 26 GB.
Result<GraphFile> demoLanguageModel();

// GoogLeNet (Szegedy et al., CVPR 2015, table 1) on 16 images in single precision: nine modules of four
// branches each, 143 ops.
Result<GraphFile> demoVisionModel();

}  // namespace allot
