#include "random/pipelines.h"

#include <algorithm>
#include <cmath>

namespace allot::tiny {
namespace {

std::size_t at(int index) {
  return static_cast<std::size_t>(index);
}

int stageOf(const std::vector<Stage>& stages, int op) {
  for (std::size_t s = 0; s < stages.size(); ++s) {
    if (in(stages[s].ops, op)) return static_cast<int>(s);
  }
  return -1;
}

double joined(const Modes& modes, double compute, double communication) {
  return modes.overlap == Overlap::kSum ? compute + communication : std::max(compute, communication);
}

struct Parts {
  double compute[2] = {0, 0}, communication[2] = {0, 0};  // forward, the rest
};

}  // namespace

PipelineRules::PipelineRules(const Rules& rules) : rules_(rules) {
  std::vector<std::vector<int>> nodes(rules.units.size());  // by unit
  std::vector<int> node_of(at(rules.ops), -1);
  std::vector<bool> orphan(rules.units.size(), true);
  for (int i = 0; i < rules.ops; ++i) {
    if (!rules.isForward(i)) continue;
    orphan[at(rules.unit_of[at(i)])] = false;
    node_of[at(i)] = static_cast<int>(node_op_.size());
    nodes[at(rules.unit_of[at(i)])].push_back(node_of[at(i)]);
    node_op_.push_back(i);
  }
  for (int i = 0; i < rules.ops; ++i) {
    const std::size_t unit = at(rules.unit_of[at(i)]);
    if (!orphan[unit] || !nodes[unit].empty()) continue;
    nodes[unit].push_back(static_cast<int>(node_op_.size()));
    node_op_.push_back(i);
  }
  for (const auto& [from, to] : rules.edges) {
    const std::size_t a = at(rules.unit_of[at(from)]), b = at(rules.unit_of[at(to)]);
    if (rules.isForward(from) && rules.isForward(to)) {
      node_edges_.emplace_back(node_of[at(from)], node_of[at(to)]);
    } else if (!rules.isForward(from) && !rules.isForward(to) && a != b && (orphan[a] || orphan[b])) {
      for (const int u : nodes[b]) {
        for (const int v : nodes[a]) node_edges_.emplace_back(u, v);
      }
    }
  }
  const std::size_t n = node_op_.size();
  reaches_.assign(n, std::vector<bool>(n, false));
  for (const auto& [u, v] : node_edges_) reaches_[at(u)][at(v)] = true;
  for (std::size_t k = 0; k < n; ++k) {
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < n; ++j) {
        if (reaches_[i][k] && reaches_[k][j]) reaches_[i][j] = true;
      }
    }
  }
}

bool PipelineRules::isChain(const std::vector<Stage>& stages) const {
  return std::all_of(node_edges_.begin(), node_edges_.end(), [&](const auto& edge) {
    return stageOf(stages, node_op_[at(edge.first)]) <= stageOf(stages, node_op_[at(edge.second)]);
  });
}

// No path from a stage over a node of another one back.
bool PipelineRules::isConvex(const std::vector<Stage>& stages) const {
  const std::size_t n = node_op_.size();
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t k = 0; k < n; ++k) {
      for (std::size_t j = 0; j < n; ++j) {
        const int home = stageOf(stages, node_op_[i]);
        if (reaches_[i][k] && reaches_[k][j] && home == stageOf(stages, node_op_[j]) &&
            home != stageOf(stages, node_op_[k]))
          return false;
      }
    }
  }
  return true;
}

bool PipelineRules::mayRun(const Stage& stage) const {
  return std::all_of(stage.devices.begin(), stage.devices.end(), [&](int device) {
    return rules_.classOf(device) == rules_.classOf(stage.devices.front()) &&
           rules_.allowed(stage.ops, device);
  });
}

// That of the slowest link between any two.
double PipelineRules::sync(const std::vector<int>& devices, std::int64_t bytes) const {
  const auto r = static_cast<double>(devices.size());
  double slowest = 0;
  for (const int a : devices) {
    for (const int b : devices) {
      const Link* link = a == b ? nullptr : rules_.link(a, b);
      if (link == nullptr) continue;
      slowest =
          std::max(slowest, 2 * (r - 1) / r * static_cast<double>(bytes) / link->bandwidth_bytes_per_second +
                                2 * (r - 1) * link->latency_seconds);
    }
  }
  return slowest;
}

// Of replicas that train, for all weights of their stage; and of each block that other stages read too.
double PipelineRules::syncSeconds(const std::vector<Stage>& stages, std::size_t stage, bool trains) const {
  if (!rules_.training) return 0;
  double sum = 0;
  for (const Shared& block : rules_.tiny.blocks) {
    std::vector<int> holders;
    std::size_t holding = 0;
    bool here = false;
    for (std::size_t s = 0; s < stages.size(); ++s) {
      const bool read = std::any_of(block.readers.begin(), block.readers.end(),
                                    [&](int op) { return in(stages[s].ops, op); });
      if (!read) continue;
      ++holding;
      here = here || s == stage;
      holders.insert(holders.end(), stages[s].devices.begin(), stages[s].devices.end());
    }
    if (here && holding > 1) sum += sync(holders, block.bytes);
  }
  if (!trains || stages[stage].devices.size() == 1) return sum;
  return sum + sync(stages[stage].devices, rules_.weights(stages[stage].ops));
}

PipelineFigures PipelineRules::value(const std::vector<Stage>& stages) const {
  const Modes& modes = rules_.modes();
  std::vector<Parts> parts(stages.size());
  for (int i = 0; i < rules_.ops; ++i) {
    const std::size_t s = at(stageOf(stages, i));
    const int device = stages[s].devices.front();
    const double seconds = rules_.seconds(i, device);
    if (seconds > 0) parts[s].compute[rules_.isForward(i) ? 0 : 1] += seconds + rules_.launch(device);
  }
  for (int t = 0; t < static_cast<int>(rules_.tiny.tensors.size()); ++t) {
    const Tensor& tensor = rules_.tiny.tensors[at(t)];
    const int part = rules_.isForward(tensor.from) ? 0 : 1;
    const int home = stageOf(stages, tensor.from);
    const int from = stages[at(home)].devices.front();
    bool cut = false;
    for (int s = 0; s < static_cast<int>(stages.size()); ++s) {
      const int to = stages[at(s)].devices.front();
      const bool read =
          std::any_of(tensor.to.begin(), tensor.to.end(), [&](int op) { return in(stages[at(s)].ops, op); });
      if (s == home || !read) continue;
      cut = true;
      if (modes.transfers == Transfers::kByLink) {
        parts[at(home)].communication[part] += rules_.transfer(t, from, to);
        parts[at(s)].communication[part] += rules_.transfer(t, from, to);
      } else if (!rules_.isCpu(to)) {
        parts[at(s)].communication[part] += rules_.fromHost(t, to);
      }
    }
    if (cut && modes.transfers == Transfers::kViaHost && !rules_.isCpu(from))
      parts[at(home)].communication[part] += rules_.toHost(t, from);
  }
  PipelineFigures figures;
  figures.devices.resize(at(rules_.devices));
  double most[2] = {0, 0}, most_load = 0;
  for (std::size_t s = 0; s < stages.size(); ++s) {
    const auto r = static_cast<double>(stages[s].devices.size());
    const auto& [compute, communication] = parts[s];
    bool trains = false;
    for (int i = 0; i < rules_.ops; ++i) trains = trains || (in(stages[s].ops, i) && !rules_.isForward(i));
    const double synced = syncSeconds(stages, s, trains);
    const double forward = joined(modes, compute[0], communication[0]) / r;
    const double rest = joined(modes, compute[1], communication[1]) / r + synced;
    const bool by_parts = modes.training_load == TrainingLoad::kMaxParts;
    const double load =
        by_parts ? forward + rest
                 : joined(modes, compute[0] + compute[1], communication[0] + communication[1]) / r + synced;
    most[0] = std::max(most[0], forward);
    most[1] = std::max(most[1], rest);
    most_load = std::max(most_load, load);
    for (const int device : stages[s].devices) figures.devices[at(device)].load = load;
  }
  figures.value = modes.training_load == TrainingLoad::kMaxParts ? most[0] + most[1] : most_load;
  return figures;
}

// Peak over the stage's ops in the reference order, resident bytes aside.
std::int64_t PipelineRules::livePeak(const Stage& stage) const {
  std::vector<int> line;
  for (const int op : rules_.reference) {
    if (in(stage.ops, op)) line.push_back(op);
  }
  const auto place = [&](int op) { return std::find(line.begin(), line.end(), op) - line.begin(); };
  const std::ptrdiff_t last = static_cast<std::ptrdiff_t>(line.size()) - 1;
  std::vector<std::int64_t> held(line.size(), 0);
  const auto hold = [&](std::ptrdiff_t from, std::ptrdiff_t to, std::int64_t bytes) {
    for (std::ptrdiff_t i = from; i <= to; ++i) held[static_cast<std::size_t>(i)] += bytes;
  };
  std::int64_t received = 0;
  const auto lastReader = [&](const std::vector<int>& readers) {
    std::ptrdiff_t reader = -1;
    for (const int op : readers) reader = in(stage.ops, op) ? std::max(reader, place(op)) : reader;
    return reader;
  };
  for (const int op : line) hold(place(op), place(op), rules_.tiny.ops[at(op)].workspace);
  for (const Tensor& tensor : rules_.tiny.tensors) {
    const std::ptrdiff_t reader = lastReader(tensor.to);
    if (in(stage.ops, tensor.from)) {
      const bool sent =
          std::any_of(tensor.to.begin(), tensor.to.end(), [&](int op) { return !in(stage.ops, op); });
      hold(place(tensor.from), sent || tensor.to.empty() ? last : reader, tensor.bytes);
    } else if (reader >= 0) {
      hold(0, reader, tensor.bytes);
      received += tensor.bytes;
    }
  }
  for (const Shared& input : rules_.tiny.inputs) hold(0, lastReader(input.readers), input.bytes);
  return *std::max_element(held.begin(), held.end()) + received;
}

double PipelineRules::stageMemory(const std::vector<Stage>& stages, std::size_t index) const {
  const Stage& stage = stages[index];
  const bool live = rules_.modes().memory == MemoryModel::kLive;
  const double bytes = rules_.resident(stage.ops, live ? livePeak(stage) : 0);
  if (!rules_.modes().in_flight) return bytes;
  std::int64_t stash = 0;
  for (const Tensor& tensor : rules_.tiny.tensors) {
    const bool read = std::any_of(tensor.to.begin(), tensor.to.end(), [&](int op) {
      return in(stage.ops, op) && rules_.tiny.ops[at(op)].phase == Phase::kBackward;
    });
    if (rules_.isForward(tensor.from) && read) stash += tensor.bytes;
  }
  const double samples =
      std::ceil(static_cast<double>(stages.size() - index) / static_cast<double>(stage.devices.size()));
  return bytes + (live ? samples - 1 : samples) * static_cast<double>(stash);
}

bool PipelineRules::fits(const std::vector<Stage>& stages, PipelineFigures& figures) const {
  bool fit = true;
  for (std::size_t s = 0; s < stages.size(); ++s) {
    const double bytes = stageMemory(stages, s);
    for (const int device : stages[s].devices) {
      figures.devices[at(device)].memory = bytes;
      fit = fit && bytes <= rules_.limit(device);
    }
  }
  return fit;
}

std::string PipelineRules::wrong(const std::vector<Stage>& stages, PipelineFigures& figures) const {
  const Modes& modes = rules_.modes();
  std::vector<int> used;
  Ops placed = 0;
  for (const Stage& stage : stages) {
    if (stage.ops == 0 || (placed & stage.ops) != 0) return "a stage without ops, or an op in two stages";
    placed |= stage.ops;
    if (!modes.replicate && stage.devices.size() > 1) return "replicas without replicate";
    used.insert(used.end(), stage.devices.begin(), stage.devices.end());
    if (!mayRun(stage)) return "an op where it cannot run, or replicas of two classes";
  }
  std::sort(used.begin(), used.end());
  if (std::adjacent_find(used.begin(), used.end()) != used.end()) return "a device in two stages";
  for (const Ops unit : rules_.units) {
    for (const Stage& stage : stages) {
      if ((stage.ops & unit) != 0 && (stage.ops & unit) != unit) return "a unit in two stages";
    }
  }
  if (modes.max_stages > 0 && stages.size() > modes.max_stages) return "too many stages";
  if (modes.contiguity == Contiguity::kChain && !isChain(stages)) return "no chain";
  if (modes.contiguity == Contiguity::kConvex && !isConvex(stages)) return "not convex";
  return fits(stages, figures) ? "" : "too little memory";
}

}  // namespace allot::tiny
