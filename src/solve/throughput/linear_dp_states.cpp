#include "solve/throughput/linear_dp_states.h"

#include <algorithm>
#include <utility>

#include "base/random.h"

namespace allot {

LineStates::LineStates(const LineModel& model, std::size_t cells, std::uint64_t sequence_seed,
                       std::size_t memory_bytes)
    : pools_(model.poolCount()), stride_(pools_) {
  const Modes& modes = model.problem->modes;
  const bool track = modes.replicate && (modes.max_stages > 0 || modes.in_flight);
  const std::size_t per_state = 16 * (std::min(cells, model.item_count) + 1);
  const std::size_t fits = std::min(kMostStates, memory_bytes / 8 / per_state);
  for (std::size_t pool = 0; pool < pools_ && count <= fits; ++pool) {
    stride_[pool] = count;
    count *= model.pools[pool].devices.size() + 1;
  }
  if (track) {
    stage_stride_ = count;
    count *= model.problem->deviceCount() + 1;
  }
  sequence = count > fits;
  if (sequence)
    fillSequence(model, sequence_seed);
  else
    fillCounts(model);
}

void LineStates::fillCounts(const LineModel& model) {
  const bool replicate = model.problem->modes.replicate;
  used_.assign(count * pools_, 0);
  most_.assign(count * pools_, 0);
  stages_.assign(count, 0);
  capacity_.assign(count, 0);
  for (std::size_t state = 0; state < count; ++state) {
    std::uint32_t devices = 0;
    for (std::size_t pool = 0; pool < pools_; ++pool) {
      const auto size = static_cast<std::uint32_t>(model.pools[pool].devices.size());
      const auto used = static_cast<std::uint32_t>(state / stride_[pool] % (size + 1));
      used_[state * pools_ + pool] = used;
      most_[state * pools_ + pool] = replicate ? size - used : std::min(1u, size - used);
      devices += used;
      capacity_[state] += used * model.capacity[pool];
    }
    stages_[state] = stage_stride_ > 0 ? static_cast<std::uint32_t>(state / stage_stride_) : devices;
    // The last count of stages has no next one.
    if (stage_stride_ > 0 && stages_[state] == model.problem->deviceCount())
      std::fill_n(most_.begin() + static_cast<std::ptrdiff_t>(state * pools_), pools_, 0u);
  }
}

// Sequence 0 has the pools in their order, 1 the other way round, others are shuffled.
void LineStates::fillSequence(const LineModel& model, std::uint64_t seed) {
  std::vector<std::uint32_t> line;
  for (std::uint32_t pool = 0; pool < pools_; ++pool)
    line.insert(line.end(), model.pools[pool].devices.size(), pool);
  if (seed == 1) std::reverse(line.begin(), line.end());
  if (seed > 1) {
    Random random(seed);
    for (std::uint32_t i = static_cast<std::uint32_t>(line.size()); i > 1; --i)
      std::swap(line[i - 1], line[random.below(i)]);
  }
  count = line.size() + 1;
  std::fill(stride_.begin(), stride_.end(), std::size_t{1});
  stage_stride_ = 0;
  most_.assign(count * pools_, 0);
  used_.clear();
  stages_.assign(count, 0);
  capacity_.assign(count, 0);
  for (std::size_t state = 0; state < count; ++state) {
    stages_[state] = static_cast<std::uint32_t>(state);
    if (state > 0) capacity_[state] = capacity_[state - 1] + model.capacity[line[state - 1]];
    if (state == line.size()) continue;
    const std::uint32_t pool = line[state];
    std::uint32_t run = 1;
    while (model.problem->modes.replicate && state + run < line.size() && line[state + run] == pool) ++run;
    most_[state * pools_ + pool] = run;
  }
}

}  // namespace allot
