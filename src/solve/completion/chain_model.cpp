#include "solve/completion/chain_model.h"

#include <algorithm>

namespace allot {
namespace {

bool takesNoTime(const Problem& problem, TensorId tensor) {
  for (std::size_t from = 0; from < problem.deviceCount(); ++from) {
    for (std::size_t to = 0; to < problem.deviceCount(); ++to) {
      if (from != to && problem.transferSeconds(tensor, DeviceId(from), DeviceId(to)) > 0) return false;
    }
  }
  return true;
}

class Reader {
 public:
  explicit Reader(const Problem& problem) : problem_(problem), place_(problem.opCount()) {}

  std::optional<ChainModel> read() {
    model_.devices = problem_.deviceCount();
    model_.link_mode = problem_.modes.link_mode;
    model_.memory_is_free = memoryNeverBinds(problem_);
    for (std::size_t d = 0; d < model_.devices; ++d) {
      model_.launch.push_back(problem_.cluster.classOf(DeviceId(d)).launch_seconds);
      model_.classes.push_back(problem_.cluster.devices[d].cls.value);
    }
    if (problem_.unitCount() != problem_.opCount()) return std::nullopt;
    addOps();
    for (std::size_t t = 0; t < problem_.graph.tensorCount(); ++t) {
      if (!addTensor(TensorId(t))) return std::nullopt;
    }
    for (std::size_t c = 0; c < model_.chains.size(); ++c) {
      if (std::find(linked_[c].begin() + 1, linked_[c].end(), 0) != linked_[c].end()) return std::nullopt;
    }
    return std::move(model_);
  }

 private:
  const Problem& problem_;
  ChainModel model_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> place_;  // by op: chain and position
  std::vector<std::vector<std::uint8_t>> linked_;  // by chain and position: reads its predecessor

  void addOps() {
    const OpGraph& graph = problem_.graph;
    std::vector<std::uint32_t> chain_of(graph.modelCount(), ~0u);
    std::vector<std::uint8_t> has_ops(graph.modelCount(), 0);
    for (const ModelId model : graph.op_model) has_ops[model.index()] = 1;
    for (std::size_t m = 0; m < has_ops.size(); ++m) {
      if (!has_ops[m]) continue;
      chain_of[m] = static_cast<std::uint32_t>(model_.chains.size());
      model_.chains.push_back({problem_.model_weight[m], problem_.model_release[m], {}, {}, {}, {}});
    }
    for (const OpId op : graph.topologicalOrder()) {
      const std::size_t model = graph.op_model[op.index()].index();
      Chain& chain = model_.chains[chain_of[model]];
      place_[op.index()] = {chain_of[model], static_cast<std::uint32_t>(chain.size())};
      chain.ops.push_back(op);
      for (std::size_t d = 0; d < model_.devices; ++d) {
        chain.seconds.push_back(problem_.allowed(problem_.unit(op), DeviceId(d))
                                    ? problem_.opSeconds(op, DeviceId(d))
                                    : kCannotRun);
      }
    }
    for (Chain& chain : model_.chains) {
      chain.transfer.assign(chain.size() * model_.devices * model_.devices, 0);
      chain.carrier.assign(chain.size(), TensorId());
      linked_.emplace_back(chain.size(), 0);
    }
  }

  bool addTensor(TensorId tensor) {
    const auto [at, position] = place_[problem_.graph.producer(tensor).index()];
    if (problem_.graph.consumers(tensor).empty()) return true;
    const bool no_time = takesNoTime(problem_, tensor);
    for (const OpId consumer : problem_.graph.consumers(tensor)) {
      const auto [chain_to, position_to] = place_[consumer.index()];
      if (chain_to != at) return false;
      if (position_to == position + 1) linked_[at][position_to] = 1;
      if (no_time) continue;
      if (position_to != position + 1) return false;
      Chain& chain = model_.chains[at];
      if (chain.carrier[position].valid() && model_.link_mode != LinkMode::kFree) return false;
      chain.carrier[position] = tensor;
      for (std::size_t from = 0; from < model_.devices; ++from) {
        for (std::size_t to = 0; to < model_.devices; ++to) {
          double& longest = chain.transfer[(position * model_.devices + from) * model_.devices + to];
          if (from != to)
            longest = std::max(longest, problem_.transferSeconds(tensor, DeviceId(from), DeviceId(to)));
        }
      }
    }
    return true;
  }
};

}  // namespace

bool memoryNeverBinds(const Problem& problem) {
  double total = 0;
  for (std::size_t i = 0; i < problem.opCount(); ++i) {
    total += problem.residentBytes(OpId(i));
    if (problem.modes.memory == MemoryModel::kLive)
      total += static_cast<double>(problem.graph.op_workspace_bytes[i]);
  }
  if (problem.modes.memory == MemoryModel::kLive) {
    // A device holds a tensor once, or once for each edge.
    for (std::size_t t = 0; t < problem.graph.tensorCount(); ++t) {
      const auto copies = static_cast<double>(problem.graph.tensor_consumers[t].size() + 1);
      total += copies * static_cast<double>(problem.graph.tensor_bytes[t]);
    }
  }
  for (std::size_t d = 0; d < problem.deviceCount(); ++d) {
    if (total > problem.memoryLimit(DeviceId(d))) return false;
  }
  return true;
}

bool ChainModel::hasLaunch() const {
  return std::any_of(launch.begin(), launch.end(), [](double seconds) { return seconds > 0; });
}

std::optional<ChainModel> chainModelOf(const Problem& problem) {
  return Reader(problem).read();
}

Plan planOfChains(const Problem& problem, const ChainModel& model,
                  const std::vector<std::vector<ChainActivity>>& activities) {
  Plan plan;
  plan.modes = problem.modes;
  plan.assignment.resize(problem.opCount());
  plan.start.assign(problem.opCount(), 0);
  plan.end.assign(problem.opCount(), 0);
  for (std::size_t c = 0; c < model.chains.size(); ++c) {
    const Chain& chain = model.chains[c];
    for (const ChainActivity& activity : activities[c]) {
      const std::size_t op = chain.ops[activity.op].index();
      if (activity.from == activity.to) {
        plan.assignment[op] = DeviceId(activity.to);
        plan.start[op] = activity.start;
        plan.end[op] = activity.end;
      } else {
        plan.transfers.push_back({chain.carrier[activity.op],
                                  {chain.ops[activity.op + 1]},
                                  DeviceId(activity.from),
                                  DeviceId(activity.to),
                                  activity.start,
                                  activity.end});
      }
    }
  }
  return plan;
}

}  // namespace allot
