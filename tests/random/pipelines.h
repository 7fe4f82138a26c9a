// Throughput: what a pipeline is worth, and the best of all pipelines.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "random/rules.h"

namespace allot::tiny {

struct Stage {
  std::vector<int> devices;  // the first stands for the stage
  Ops ops = 0;
};

struct DeviceFigures {
  double load = 0, memory = 0;
};

struct PipelineFigures {
  double value = 0;
  std::vector<DeviceFigures> devices;
};

// Of stages that hold every op once.
class PipelineRules {
 public:
  explicit PipelineRules(const Rules& rules);

  // Where the stages stand in a chain counts; the value does not depend on it.
  PipelineFigures value(const std::vector<Stage>& stages) const;
  // The figures' memory, and what is wrong: "" = the pipeline may run.
  std::string wrong(const std::vector<Stage>& stages, PipelineFigures& figures) const;
  // Parts of it.
  bool isChain(const std::vector<Stage>& stages) const;
  bool isConvex(const std::vector<Stage>& stages) const;
  bool fits(const std::vector<Stage>& stages, PipelineFigures& figures) const;
  bool mayRun(const Stage& stage) const;

 private:
  const Rules& rules_;
  // The forward graph: nodes are forward ops, and one for each unit without any.
  std::vector<int> node_op_;  // some op of the node's unit, the op itself where it is forward
  std::vector<std::pair<int, int>> node_edges_;
  std::vector<std::vector<bool>> reaches_;

  double sync(const std::vector<int>& devices, std::int64_t bytes) const;
  double syncSeconds(const std::vector<Stage>& stages, std::size_t stage, bool trains) const;
  double stageMemory(const std::vector<Stage>& stages, std::size_t index) const;
  std::int64_t livePeak(const Stage& stage) const;
};

// Stages of a list of heads (one device for each op) without replicas; in no particular order.
std::vector<Stage> stagesOf(const Rules& rules, const std::vector<int>& assignment);

struct BestPipeline {
  std::optional<double> value;
  std::vector<Stage> stages;
  std::uint64_t looked_at = 0;
  std::vector<Stage> some;  // one of those looked at, valid or not
};

BestPipeline bestPipeline(const Rules& rules, std::uint64_t seed);

}  // namespace allot::tiny
