// A made-up language model on made-up but ordinary hardware, for `allot demo` and examples.
//
// Some 120 ops: 8 transformer blocks with their query, key and value branches, embeddings and a head; weights
// of about 14 GB, so that no GPU holds all of them. Times are a roofline estimate for each class.
#pragma once

#include "allot/problem.h"

namespace allot {

Result<Problem> demoProblem();

}  // namespace allot
