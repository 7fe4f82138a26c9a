#include "support/random_problem.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace allot {
namespace {

class Generator {
 public:
  Generator(std::uint64_t seed, Goal goal, const RandomLimits& limits)
      : random_(seed, 77), terms_(seed, 78), goal_(goal), limits_(limits) {}

  Problem make() {
    chooseModes();
    makeCluster();
    makeOps();
    makeTensors();
    makeConstraints();
    if (limits_.memory_terms) makeMemoryTerms();
    const auto done = problem_.finish();
    if (!done) {
      std::fprintf(stderr, "generator: %s\n", done.error().text().c_str());
      std::abort();
    }
    return std::move(problem_);
  }

 private:
  Random random_, terms_;
  Goal goal_;
  RandomLimits limits_;
  Problem problem_;
  bool training_ = false, links_ = false, matrices_ = false;

  double quarter(std::uint32_t most) { return 0.25 * random_.below(most + 1); }
  template <class Enum>
  Enum pick(std::uint32_t choices) {
    return static_cast<Enum>(random_.below(choices));
  }

  void chooseModes() {
    Modes& m = problem_.modes;
    m.goal = goal_;
    m.headroom = random_.below(8) == 0 ? 0.1 : 0;
    m.optimizer_factor = random_.below(4) == 0 ? 2 : 1;
    if (goal_ == Goal::kThroughput) {
      m.contiguity = pick<Contiguity>(3);
      m.transfers = pick<Transfers>(2);
      m.overlap = pick<Overlap>(2);
      training_ = random_.below(2) == 0;
      if (training_) m.training_load = pick<TrainingLoad>(2);
      m.replicate = random_.below(3) == 0;
      m.in_flight = m.contiguity == Contiguity::kChain && random_.below(2) == 0;
      m.max_stages = random_.below(4) == 0 ? 1 + random_.below(2) : 0;
    } else {
      m.link_mode = pick<LinkMode>(3);
      m.send = pick<Send>(2);
      m.memory = random_.below(4) == 0 ? MemoryModel::kLive : MemoryModel::kStatic;
      if (goal_ == Goal::kLatency && random_.below(3) == 0) {
        m.model = LatencyModel::kSubgraphCalls;
        m.memory = MemoryModel::kStatic;
      }
      m.calls = 1 + random_.below(2);
    }
    const bool via_host = m.model == LatencyModel::kSubgraphCalls || m.transfers == Transfers::kViaHost;
    links_ = random_.below(3) == 0;
    matrices_ = !via_host && random_.below(3) == 0;
  }

  void makeCluster() {
    Cluster& cluster = problem_.cluster;
    const std::uint32_t classes = 1 + random_.below(2);
    for (std::uint32_t c = 0; c < classes; ++c) {
      DeviceClass cls;
      cls.name = fmt::format("k{}", c);
      cls.kind = random_.below(3) == 0 ? DeviceKind::kCpu : DeviceKind::kAccelerator;
      cls.launch_seconds = random_.below(4) == 0 ? 0.25 : 0;
      cluster.classes.push_back(cls);
    }
    const std::uint32_t devices = 1 + random_.below(limits_.devices);
    for (std::uint32_t d = 0; d < devices; ++d) {
      Device device;
      device.name = fmt::format("d{}", d);
      device.cls = ClassId(random_.below(classes));
      if (random_.below(3) > 0) device.memory_bytes = 4 + random_.below(16);
      if (random_.below(2) == 0) device.host = cluster.internHost(random_.below(3) == 0 ? "far" : "h");
      cluster.devices.push_back(device);
    }
    // "*" to "*" covers every pair and every host; a second entry is more specific.
    cluster.links.push_back({LinkEnd::kAny, LinkEnd::kAny, 0, 0, quarter(2), 4});
    if (random_.below(2) == 0) {
      cluster.links.push_back({LinkEnd::kDevice, LinkEnd::kAny, random_.below(devices), 0, quarter(2), 2});
    }
    if (random_.below(3) == 0) {
      cluster.links.push_back({LinkEnd::kAny, LinkEnd::kDevice, 0, random_.below(devices), quarter(3), 1});
    }
  }

  void makeOps() {
    OpGraph& graph = problem_.graph;
    const std::uint32_t models = goal_ == Goal::kCompletion ? 1 + random_.below(3) : 1;
    for (std::uint32_t m = 0; m < models; ++m) {
      graph.model_name.push_back(fmt::format("m{}", m));
      problem_.model_weight.push_back(random_.below(3) == 0 ? quarter(8) : 1);
      problem_.model_release.push_back(random_.below(3) == 0 ? quarter(8) : 0);
    }
    const std::uint32_t ops = 2 + random_.below(limits_.ops - 1);
    const std::size_t classes = problem_.cluster.classCount();
    for (std::uint32_t i = 0; i < ops; ++i) {
      const OpId op = graph.addOp(fmt::format("o{}", i));
      graph.op_model[op.index()] = ModelId(random_.below(models));
      if (training_)
        graph.op_phase[op.index()] = i * 2 < ops && random_.below(5) > 0 ? Phase::kForward : pick<Phase>(3);
      (i % 3 == 0 ? graph.op_activation_bytes : graph.op_memory_bytes)[op.index()] = random_.below(5);
      graph.op_weight_bytes[op.index()] = random_.below(4);
      graph.op_workspace_bytes[op.index()] = random_.below(3);
      const std::uint32_t sure = random_.below(static_cast<std::uint32_t>(classes));
      for (std::uint32_t c = 0; c < classes; ++c) {
        const bool cannot = c != sure && random_.below(8) == 0;
        problem_.op_seconds.push_back(cannot ? kCannotRun : random_.below(6) == 0 ? 0 : quarter(12));
      }
    }
  }

  void makeTensors() {
    const auto ops = static_cast<std::uint32_t>(problem_.opCount());
    const std::size_t cells = problem_.deviceCount() * problem_.deviceCount();
    for (std::uint32_t i = 0; i < ops; ++i) {
      const std::uint32_t outputs = random_.below(8) == 0 ? 2 : 1;
      for (std::uint32_t k = 0; k < outputs; ++k) {
        std::vector<OpId> consumers;
        for (std::uint32_t j = i + 1; j < ops; ++j) {
          if (random_.below(3) == 0) consumers.emplace_back(j);
        }
        if (consumers.empty() && random_.below(2) == 0) continue;
        const std::int64_t bytes = random_.below(4);
        problem_.addTensor(OpId(i), consumers, bytes,
                           links_ && random_.below(2) == 0 ? std::nan("") : quarter(6));
        if (!matrices_ || random_.below(2) == 0) continue;
        problem_.tensor_matrix.back() = static_cast<std::int32_t>(problem_.matrices.size() / cells);
        for (std::size_t cell = 0; cell < cells; ++cell) problem_.matrices.push_back(quarter(6));
      }
    }
  }

  void makeConstraints() {
    const auto ops = static_cast<std::uint32_t>(problem_.opCount());
    const auto devices = static_cast<std::uint32_t>(problem_.deviceCount());
    Constraints& c = problem_.constraints;
    if (random_.below(4) == 0) c.pin.emplace_back(OpId(random_.below(ops)), DeviceId(random_.below(devices)));
    if (random_.below(3) == 0)
      c.forbid.emplace_back(OpId(random_.below(ops)), DeviceId(random_.below(devices)));
    if (random_.below(4) == 0) c.together.push_back({OpId(random_.below(ops)), OpId(random_.below(ops))});
    if (random_.below(3) == 0) {
      const std::uint32_t first = random_.below(ops - 1);
      c.order.emplace_back(OpId(first), OpId(first + 1 + random_.below(ops - first - 1)));
    }
    if (training_ || random_.below(4) == 0) {
      problem_.graph.group_name.push_back("g");
      for (std::uint32_t i = 0; i < ops; ++i) {
        if (random_.below(3) == 0) problem_.graph.op_group[i] = GroupId(0);
      }
    }
  }

  // A block of weights or a model input in two problems of five, and live memory under throughput.
  void makeMemoryTerms() {
    OpGraph& graph = problem_.graph;
    const bool calls = goal_ == Goal::kLatency && problem_.modes.model == LatencyModel::kSubgraphCalls;
    if (goal_ == Goal::kThroughput && terms_.below(3) == 0) problem_.modes.memory = MemoryModel::kLive;
    for (std::uint32_t m = 0; m < graph.model_name.size(); ++m) {
      if (terms_.below(5) == 0) graph.addBlock("w", terms_.below(6), someOps(ModelId(m)));
      if (terms_.below(5) == 0 && !calls) graph.addInput(terms_.below(4), someOps(ModelId(m)));
    }
  }

  std::vector<OpId> someOps(ModelId model) {
    std::vector<OpId> ops;
    for (std::uint32_t i = 0; i < problem_.opCount(); ++i) {
      if (problem_.graph.op_model[i] == model && terms_.below(2) == 0) ops.emplace_back(i);
    }
    return ops;
  }
};

}  // namespace

Problem randomProblem(std::uint64_t seed, Goal goal, const RandomLimits& limits) {
  return Generator(seed, goal, limits).make();
}

std::string describe(const Problem& problem) {
  std::string text = fmt::format("{} ops, {} devices:", problem.opCount(), problem.deviceCount());
  const Options options{problem.modes, {}};
  for (const OptionSpec& spec : optionTable()) {
    if (isModeOf(spec.scope, problem.goal())) text += fmt::format(" {}={}", spec.name, spec.get(options));
  }
  return text;
}

}  // namespace allot
