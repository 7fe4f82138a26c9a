// What all walks over assignments without contiguity share on one model (free_search_walk.h): weights of
// nets, an order of the items, speeds of pools. Complexity: O(ends * log(nets of an item)) to build.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "solve/throughput/pipeline_model.h"

namespace allot {

struct FreeGround {
  explicit FreeGround(const PipelineModel& model);

  const PipelineModel* model;
  std::vector<double> net_weight;    // the most that any pool pays for the net
  Csr<std::uint32_t> heavy_first;    // nets of an item, heaviest first
  std::vector<std::uint32_t> order;  // items in topological order of the forward graph, as far as it has one
  std::vector<std::uint32_t> position;  // of an item in `order`
  std::vector<std::uint32_t> loose;     // items that may run on two devices or more
  std::vector<double> speed;            // by pool: best times of all items over their times here
  std::size_t devices;
};

}  // namespace allot
