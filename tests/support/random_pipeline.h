// Tiny random pipeline problems, and the best chain of stages by plain enumeration.
#pragma once

#include <cstdint>
#include <optional>

#include "allot/problem.h"
#include "base/random.h"

namespace allot {

struct PipelineShape {
  std::uint32_t least_ops = 2, most_ops = 7;
  std::uint32_t classes = 3;  // at most
  std::uint32_t count = 3;    // devices of one class, at most
  std::uint32_t devices = 6;  // all together, at most
  bool memory_limits = true;
  bool constraints = true;  // pins, forbids, together sets and order
};

// A problem that is not finished yet, so that tests can change it. Devices of one class are alike. Times are
// multiples of 1/4, memory is often tight. `modes` fixes the modes; `random` is used up to the same point for
// the same modes and shape.
Problem draftPipeline(Random& random, const Modes& modes, const PipelineShape& shape);

// Modes of throughput at random; `training_load` and `in_flight` only say something of training problems.
Modes randomPipelineModes(Random& random, Contiguity contiguity);

// Finishes a draft that must be sound.
Problem finished(Problem draft);

// The same problem with its ops in another order, its tensors too.
Problem shuffled(const Problem& draft, Random& random);

// The best chain of stages (contiguity chain, devices of one class alike), every candidate valued and judged
// by the checker; nothing when there is none.
std::optional<double> bruteForceChain(const Problem& problem);

}  // namespace allot
