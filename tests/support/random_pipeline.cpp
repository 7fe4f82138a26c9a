#include "support/random_pipeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <numeric>

#include "allot/check.h"

namespace allot {
namespace {

double quarters(Random& random, std::uint32_t most) {
  return 0.25 * random.below(most + 1);
}

void addDevices(Random& random, const PipelineShape& shape, Problem& problem) {
  Cluster& cluster = problem.cluster;
  const std::uint32_t classes = 1 + random.below(shape.classes);
  for (std::uint32_t c = 0; c < classes; ++c) {
    DeviceClass cls;
    cls.name = fmt::format("k{}", c);
    cls.kind = random.below(4) == 0 ? DeviceKind::kCpu : DeviceKind::kAccelerator;
    cls.launch_seconds = random.below(6) == 0 ? 0.25 : 0;
    cluster.classes.push_back(cls);
    std::optional<std::int64_t> memory;
    if (shape.memory_limits && random.below(3) > 0) memory = 8 + random.below(20);
    const std::uint32_t left =
        shape.devices - static_cast<std::uint32_t>(cluster.deviceCount()) - (classes - 1 - c);
    const std::uint32_t count = 1 + random.below(std::min(shape.count, left));
    for (std::uint32_t d = 0; d < count; ++d)
      cluster.devices.push_back({fmt::format("k{}d{}", c, d), ClassId(c), memory, HostId()});
  }
  cluster.links.push_back({LinkEnd::kAny, LinkEnd::kAny, 0, 0, quarters(random, 1), 4});
  if (random.below(2) == 0) {
    const std::uint32_t cls = random.below(classes);
    cluster.links.push_back({LinkEnd::kClass, LinkEnd::kClass, cls, cls, quarters(random, 1), 8});
  }
  // Another way out of a class than into it.
  if (random.below(3) == 0) {
    const std::uint32_t cls = random.below(classes);
    const bool out = random.below(2) == 0;
    cluster.links.push_back({out ? LinkEnd::kClass : LinkEnd::kAny, out ? LinkEnd::kAny : LinkEnd::kClass,
                             out ? cls : 0, out ? 0 : cls, quarters(random, 3), 2});
  }
}

void addOps(Random& random, const PipelineShape& shape, bool training, Problem& problem) {
  OpGraph& graph = problem.graph;
  const std::uint32_t ops = shape.least_ops + random.below(shape.most_ops - shape.least_ops + 1);
  const auto classes = static_cast<std::uint32_t>(problem.cluster.classCount());
  // Phases in the order of a training step, or anywhere.
  const bool anywhere = training && random.below(3) == 0;
  for (std::uint32_t i = 0; i < ops; ++i) {
    graph.addOp(fmt::format("o{}", i));
    if (training && (anywhere ? random.below(2) == 0 : i * 2 >= ops))
      graph.op_phase[i] = random.below(5) == 0 ? Phase::kUpdate : Phase::kBackward;
    graph.op_memory_bytes[i] = random.below(5);
    graph.op_weight_bytes[i] = random.below(4);
    const std::uint32_t sure = random.below(classes);
    for (std::uint32_t c = 0; c < classes; ++c) {
      const bool cannot = c != sure && random.below(10) == 0;
      const double seconds = random.below(8) == 0 ? 0 : quarters(random, 12);
      problem.op_seconds.push_back(cannot ? kCannotRun : seconds);
    }
  }
}

void addTensors(Random& random, Problem& problem) {
  const auto ops = static_cast<std::uint32_t>(problem.opCount());
  const bool links = random.below(4) == 0;
  for (std::uint32_t i = 0; i < ops; ++i) {
    for (std::uint32_t k = random.below(6) == 0 ? 2 : 1; k > 0; --k) {
      std::vector<OpId> consumers;
      for (std::uint32_t j = i + 1; j < ops; ++j) {
        if (random.below(10) < 3) consumers.emplace_back(j);
      }
      if (consumers.empty()) continue;
      const std::int64_t bytes = random.below(5);
      problem.addTensor(OpId(i), consumers, bytes, links ? std::nan("") : quarters(random, 3));
    }
  }
}

void addConstraints(Random& random, bool training, const PipelineShape& shape, Problem& problem) {
  const auto ops = static_cast<std::uint32_t>(problem.opCount());
  Constraints& c = problem.constraints;
  // Backward ops mostly stand with an op before them.
  for (std::uint32_t i = 1; training && i < ops; ++i) {
    if (problem.graph.op_phase[i] != Phase::kForward && random.below(4) > 0)
      c.together.push_back({OpId(random.below(i)), OpId(i)});
  }
  if (!shape.constraints) return;
  // By class, so that devices of one class stay alike.
  if (random.below(5) == 0) {
    const OpId op(random.below(ops));
    const ClassId cls(random.below(static_cast<std::uint32_t>(problem.cluster.classCount())));
    for (std::size_t d = 0; d < problem.cluster.deviceCount(); ++d) {
      if (problem.cluster.devices[d].cls == cls) c.forbid.emplace_back(op, DeviceId(d));
    }
  }
  if (random.below(5) == 0) c.together.push_back({OpId(random.below(ops)), OpId(random.below(ops))});
  if (random.below(4) == 0) {
    const std::uint32_t first = random.below(ops - 1);
    c.order.emplace_back(OpId(first), OpId(first + 1 + random.below(ops - first - 1)));
  }
}

class ChainEnumeration {
 public:
  explicit ChainEnumeration(const Problem& problem)
      : problem_(problem), classes_(problem.cluster.classCount()), free_(classes_) {
    for (std::size_t d = problem.deviceCount(); d-- > 0;)
      free_[problem.cluster.devices[d].cls.index()].emplace_back(d);
    stage_of_.assign(problem.unitCount(), 0);
    plan_.modes = problem.modes;
    plan_.status = Status::kFeasible;
    plan_.bound = std::numeric_limits<double>::quiet_NaN();
    plan_.assignment.assign(problem.opCount(), DeviceId());
  }

  std::optional<double> run() {
    for (std::size_t stages = 1; stages <= std::min(problem_.deviceCount(), problem_.unitCount()); ++stages) {
      stages_ = stages;
      number(0);
    }
    return best_;
  }

 private:
  const Problem& problem_;
  std::size_t classes_;
  std::vector<std::vector<DeviceId>> free_;  // by class
  std::vector<std::size_t> stage_of_;        // by unit
  std::size_t stages_ = 0;
  Plan plan_;
  std::optional<double> best_;

  // Every way to give units the numbers of stages; a tensor between forward ops never goes back.
  void number(std::size_t unit) {
    if (unit == problem_.unitCount()) {
      std::vector<std::uint8_t> used(stages_, 0);
      for (const std::size_t s : stage_of_) used[s] = 1;
      if (std::count(used.begin(), used.end(), 0) > 0 || goesBack()) return;
      plan_.stages.assign(stages_, {});
      for (std::size_t i = 0; i < problem_.opCount(); ++i)
        plan_.stages[stage_of_[problem_.unit(OpId(i)).index()]].ops.emplace_back(i);
      place(0);
      return;
    }
    for (std::size_t s = 0; s < stages_; ++s) {
      stage_of_[unit] = s;
      number(unit + 1);
    }
  }

  bool goesBack() const {
    const OpGraph& graph = problem_.graph;
    for (std::size_t t = 0; t < graph.tensorCount(); ++t) {
      const OpId from = graph.tensor_producer[t];
      if (graph.op_phase[from.index()] != Phase::kForward) continue;
      for (const OpId to : graph.tensor_consumers[t]) {
        if (graph.op_phase[to.index()] == Phase::kForward &&
            stage_of_[problem_.unit(from).index()] > stage_of_[problem_.unit(to).index()])
          return true;
      }
    }
    return false;
  }

  void place(std::size_t stage) {
    if (stage == stages_) return judge();
    for (std::size_t c = 0; c < classes_; ++c) {
      const std::size_t most =
          problem_.modes.replicate ? free_[c].size() : std::min<std::size_t>(1, free_[c].size());
      double compute = 0;
      for (const OpId op : plan_.stages[stage].ops) compute += problem_.opSeconds(op, ClassId(c));
      if (compute == kCannotRun) continue;
      for (std::size_t r = 1; r <= most; ++r) {
        // No load is below its compute, in one part or in two.
        if (best_ && compute / static_cast<double>(r) > *best_ * (1 + 1e-12)) continue;
        std::vector<DeviceId> taken(free_[c].end() - static_cast<std::ptrdiff_t>(r), free_[c].end());
        free_[c].resize(free_[c].size() - r);
        plan_.stages[stage].devices = taken;
        place(stage + 1);
        free_[c].insert(free_[c].end(), taken.begin(), taken.end());
      }
    }
  }

  // Asked twice: for the value, then whether a plan that claims it is valid.
  void judge() {
    for (const PlanStage& stage : plan_.stages) {
      for (const OpId op : stage.ops) plan_.assignment[op.index()] = stage.devices.front();
    }
    plan_.value = 0;
    const double value = check(problem_, plan_).value;
    if (best_ && !(value < *best_)) return;
    plan_.value = value;
    if (check(problem_, plan_).ok()) best_ = value;
  }
};

}  // namespace

Problem draftPipeline(Random& random, const Modes& modes, const PipelineShape& shape) {
  Problem problem;
  problem.modes = modes;
  problem.modes.goal = Goal::kThroughput;
  const bool training =
      modes.in_flight || modes.training_load == TrainingLoad::kMaxParts || random.below(3) == 0;
  addDevices(random, shape, problem);
  problem.graph.model_name.push_back("m");
  problem.model_weight.push_back(1);
  problem.model_release.push_back(0);
  addOps(random, shape, training, problem);
  addTensors(random, problem);
  addConstraints(random, training, shape, problem);
  return problem;
}

Modes randomPipelineModes(Random& random, Contiguity contiguity) {
  Modes modes;
  modes.goal = Goal::kThroughput;
  modes.contiguity = contiguity;
  modes.transfers = random.below(4) == 0 ? Transfers::kByLink : Transfers::kViaHost;
  modes.overlap = random.below(3) == 0 ? Overlap::kMax : Overlap::kSum;
  modes.training_load = random.below(3) == 0 ? TrainingLoad::kMaxParts : TrainingLoad::kSum;
  modes.replicate = random.below(2) == 0;
  modes.in_flight = contiguity == Contiguity::kChain && random.below(2) == 0;
  modes.max_stages = random.below(4) == 0 ? 1 + random.below(3) : 0;
  modes.optimizer_factor = random.below(4) == 0 ? 2 : 1;
  return modes;
}

Problem finished(Problem draft) {
  const auto done = draft.finish();
  if (!done) {
    std::fprintf(stderr, "draft: %s\n", done.error().text().c_str());
    std::abort();
  }
  return draft;
}

Problem shuffled(const Problem& draft, Random& random) {
  const auto permutation = [&](std::size_t n) {
    std::vector<std::uint32_t> order(n);
    std::iota(order.begin(), order.end(), 0u);
    for (std::size_t i = n; i > 1; --i)
      std::swap(order[i - 1], order[random.below(static_cast<std::uint32_t>(i))]);
    return order;
  };
  const std::vector<std::uint32_t> ops = permutation(draft.opCount());  // new place -> old op
  const std::vector<std::uint32_t> tensors = permutation(draft.graph.tensorCount());
  std::vector<std::uint32_t> place(ops.size());  // old op -> new place
  for (std::uint32_t i = 0; i < ops.size(); ++i) place[ops[i]] = i;
  const auto moved = [&](OpId op) { return OpId(place[op.index()]); };

  Problem other;
  other.modes = draft.modes;
  other.cluster = draft.cluster;
  other.graph.model_name = draft.graph.model_name;
  other.graph.group_name = draft.graph.group_name;
  other.model_weight = draft.model_weight;
  other.model_release = draft.model_release;
  const std::size_t classes = draft.cluster.classCount();
  for (const std::uint32_t old : ops) {
    const OpId op = other.graph.addOp(fmt::format("x{}", old));
    other.graph.op_phase[op.index()] = draft.graph.op_phase[old];
    other.graph.op_group[op.index()] = draft.graph.op_group[old];
    other.graph.op_memory_bytes[op.index()] = draft.graph.op_memory_bytes[old];
    other.graph.op_weight_bytes[op.index()] = draft.graph.op_weight_bytes[old];
    for (std::size_t c = 0; c < classes; ++c) other.op_seconds.push_back(draft.op_seconds[old * classes + c]);
  }
  for (const std::uint32_t old : tensors) {
    std::vector<OpId> consumers;
    for (const OpId consumer : draft.graph.tensor_consumers[old]) consumers.push_back(moved(consumer));
    std::reverse(consumers.begin(), consumers.end());
    other.addTensor(moved(draft.graph.tensor_producer[old]), consumers, draft.graph.tensor_bytes[old],
                    draft.tensor_seconds[old]);
  }
  for (const auto& [op, device] : draft.constraints.pin)
    other.constraints.pin.emplace_back(moved(op), device);
  for (const auto& [op, device] : draft.constraints.forbid)
    other.constraints.forbid.emplace_back(moved(op), device);
  for (const auto& [a, b] : draft.constraints.order) other.constraints.order.emplace_back(moved(a), moved(b));
  for (const auto& set : draft.constraints.together) {
    auto& row = other.constraints.together.emplace_back();
    for (const OpId op : set) row.push_back(moved(op));
  }
  return other;
}

std::optional<double> bruteForceChain(const Problem& problem) {
  return ChainEnumeration(problem).run();
}

}  // namespace allot
