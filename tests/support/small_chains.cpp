#include "support/small_chains.h"

#include <algorithm>

#include "solve/throughput/position_bound.h"

namespace allot {

Modes chainModes(Random& random) {
  Modes modes = randomPipelineModes(random, Contiguity::kChain);
  modes.overlap = Overlap::kSum;
  modes.training_load = TrainingLoad::kSum;
  modes.replicate = modes.in_flight = false;
  modes.max_stages = 0;
  return modes;
}

std::unique_ptr<Problem> likeDevices(Random& random, const PipelineShape& shape) {
  auto problem = std::make_unique<Problem>(finished(draftPipeline(random, chainModes(random), shape)));
  const PipelineModel model(*problem, PipelineModel::Items::kBlocks);
  return PositionBound::accepts(model) ? std::move(problem) : nullptr;
}

PipelineShape smallShape(Random& random) {
  PipelineShape shape;
  shape.least_ops = 3;
  shape.most_ops = 8;
  shape.classes = 1;
  shape.count = 4;
  shape.memory_limits = random.chance(0.2);
  shape.constraints = random.chance(0.2);
  return shape;
}

bool holds(Set set, std::uint32_t v) {
  return (set >> v & 1) != 0;
}

std::vector<Set> allIdeals(const PipelineModel& model) {
  std::vector<Set> ideals;
  for (Set set = 0; set < (1u << model.itemCount()); ++set) {
    bool closed = true;
    for (std::uint32_t v = 0; v < model.itemCount(); ++v) {
      for (const std::uint32_t u : model.before[v]) closed = closed && (!holds(set, v) || holds(set, u));
    }
    if (closed) ideals.push_back(set);
  }
  return ideals;
}

double cutOf(const PipelineModel& model, Set set) {
  double sum = 0;
  for (std::size_t e = 0; e < model.netCount(); ++e) {
    const auto ends = model.net_items[e];
    const auto inside =
        std::count_if(ends.begin(), ends.end(), [&](std::uint32_t v) { return holds(set, v); });
    if (inside > 0 && inside < std::ssize(ends)) sum += std::min(model.send[e], model.receive[e]);
  }
  return sum;
}

double sumOver(Set set, std::span<const double> values) {
  double sum = 0;
  for (std::uint32_t v = 0; v < values.size(); ++v) sum += holds(set, v) ? values[v] : 0;
  return sum;
}

}  // namespace allot
