#include "support/small_chains.h"

#include <algorithm>
#include <limits>

#include "solve/throughput/position_bound.h"

namespace allot {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace

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

std::vector<std::vector<double>> leastLoads(const PipelineModel& model, const std::vector<Set>& ideals,
                                            std::size_t stages) {
  std::vector<std::vector<double>> least(stages + 1, std::vector<double>(ideals.size(), kInfinity));
  const auto everything =
      static_cast<std::size_t>(std::max_element(ideals.begin(), ideals.end()) - ideals.begin());
  least[0][everything] = 0;
  for (std::size_t b = 1; b <= stages; ++b) {
    least[b] = least[b - 1];
    for (std::size_t i = 0; i < ideals.size(); ++i) {
      for (std::size_t j = 0; j < ideals.size(); ++j) {
        if ((ideals[i] & ~ideals[j]) != 0) continue;
        const Set stage = ideals[j] & ~ideals[i];
        const double load = sumOver(stage, model.seconds) + cutOf(model, stage);
        least[b][i] = std::min(least[b][i], std::max(load, least[b - 1][j]));
      }
    }
  }
  return least;
}

RunWindows windowsOf(const PipelineModel& model, const std::vector<Set>& ideals,
                     const std::vector<std::vector<double>>& least, double limit) {
  RunWindows windows{std::vector<double>(least.size(), kInfinity),
                     std::vector<double>(least.size(), kInfinity)};
  for (std::size_t b = 0; b < least.size(); ++b) {
    for (std::size_t i = 0; i < ideals.size(); ++i) {
      if (least[least.size() - 1 - b][i] > limit) continue;
      const double work = sumOver(ideals[i], model.seconds);
      windows.work[b] = std::min(windows.work[b], work);
      windows.with_cut[b] = std::min(windows.with_cut[b], work + cutOf(model, ideals[i]));
    }
  }
  return windows;
}

}  // namespace allot
