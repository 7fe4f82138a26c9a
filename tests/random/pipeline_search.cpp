// All pipelines: units on devices, the orders of a chain, idle devices as replicas.
#include <algorithm>
#include <numeric>

#include "base/random.h"
#include "random/pipelines.h"

namespace allot::tiny {
namespace {

std::size_t at(int index) {
  return static_cast<std::size_t>(index);
}

class PipelineSearch {
 public:
  PipelineSearch(const Rules& rules, std::uint64_t seed)
      : rules_(rules), pipelines_(rules), random_(seed, 11), device_(rules.units.size(), 0) {}

  BestPipeline run() {
    assign(0);
    return std::move(best_);
  }

 private:
  const Rules& rules_;
  PipelineRules pipelines_;
  Random random_;
  std::vector<int> device_;  // by unit
  BestPipeline best_;
  // Of the assignment at hand: the orders of its stages that the contiguity allows, one where they are alike.
  std::vector<std::vector<std::size_t>> orders_;
  std::vector<Stage> stages_;

  void assign(std::size_t unit) {
    if (unit == device_.size()) {
      complete();
      return;
    }
    for (int d = 0; d < rules_.devices; ++d) {
      if (!rules_.allowed(rules_.units[unit], d)) continue;
      device_[unit] = d;
      assign(unit + 1);
    }
  }

  void complete() {
    std::vector<int> assignment(at(rules_.ops));
    for (int i = 0; i < rules_.ops; ++i) assignment[at(i)] = device_[at(rules_.unit_of[at(i)])];
    stages_ = stagesOf(rules_, assignment);
    const Modes& modes = rules_.modes();
    if (modes.max_stages > 0 && stages_.size() > modes.max_stages) return;
    std::vector<std::size_t> order(stages_.size());
    std::iota(order.begin(), order.end(), 0);
    orders_.clear();
    if (modes.contiguity != Contiguity::kChain) {
      if (modes.contiguity == Contiguity::kConvex && !pipelines_.isConvex(stages_)) return;
      orders_.push_back(order);
    } else {
      do {
        if (pipelines_.isChain(ordered(order))) orders_.push_back(order);
      } while (std::next_permutation(order.begin(), order.end()));
      if (orders_.empty()) return;
      if (!modes.in_flight) orders_.resize(1);  // only samples in flight depend on the order
    }
    replicate(0);
  }

  std::vector<Stage> ordered(const std::vector<std::size_t>& order) const {
    std::vector<Stage> list;
    for (const std::size_t s : order) list.push_back(stages_[s]);
    return list;
  }

  // Each device that no stage has: idle, or in one of the stages.
  void replicate(int device) {
    if (device == rules_.devices) {
      judge();
      return;
    }
    replicate(device + 1);
    const bool used = std::any_of(stages_.begin(), stages_.end(), [&](const Stage& stage) {
      return std::find(stage.devices.begin(), stage.devices.end(), device) != stage.devices.end();
    });
    if (used || !rules_.modes().replicate) return;
    for (Stage& stage : stages_) {
      if (rules_.classOf(device) != rules_.classOf(stage.devices.front()) ||
          !rules_.allowed(stage.ops, device))
        continue;
      stage.devices.push_back(device);
      replicate(device + 1);
      stage.devices.pop_back();
    }
  }

  void judge() {
    ++best_.looked_at;
    if (random_.below(static_cast<std::uint32_t>(std::min<std::uint64_t>(best_.looked_at, 1u << 31))) == 0)
      best_.some = ordered(orders_.front());
    PipelineFigures figures = pipelines_.value(stages_);
    if (best_.value && !(figures.value < *best_.value)) return;
    for (const auto& order : orders_) {
      const std::vector<Stage> stages = ordered(order);
      if (!pipelines_.fits(stages, figures)) continue;
      best_.value = figures.value;
      best_.stages = stages;
      return;
    }
  }
};

}  // namespace

std::vector<Stage> stagesOf(const Rules& rules, const std::vector<int>& assignment) {
  std::vector<Stage> stages;
  for (int d = 0; d < rules.devices; ++d) {
    Stage stage{{d}, 0};
    for (int i = 0; i < rules.ops; ++i) stage.ops |= assignment[at(i)] == d ? Ops{1} << i : 0;
    if (stage.ops != 0) stages.push_back(stage);
  }
  return stages;
}

BestPipeline bestPipeline(const Rules& rules, std::uint64_t seed) {
  return PipelineSearch(rules, seed).run();
}

}  // namespace allot::tiny
