// Tiny random pipelines on devices that are not alike, whatever their class.
#pragma once

#include <cstdint>
#include <optional>

#include "allot/plan.h"
#include "allot/problem.h"
#include "base/random.h"

namespace allot {

struct UnlikeShape {
  std::uint32_t most_ops = 6;
  std::uint32_t most_devices = 4;
  std::uint32_t most_classes = 2;
  bool replicas = false;  // chains with replicas alone, on no less than three devices
};

// Devices of one class lie on different hosts, with other links in either direction, other memory, other
// permissions; ops of any phase stand anywhere in the graph and in groups over phases, orphans among them;
// times are quarters, tenths, any numbers, or of very unlike magnitudes. Nothing where what was drawn is no
// sound problem (links that are needed and missing).
std::optional<Problem> unlikePipeline(Random& random, const UnlikeShape& shape = {});

// A plan of the problem's own kind at random: stages, replicas, their order; it may be invalid in every way
// but that ops of a unit are together.
Plan randomStages(const Problem& problem, Random& random);

}  // namespace allot
