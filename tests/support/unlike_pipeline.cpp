#include "support/unlike_pipeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace allot {
namespace {

class Draft {
 public:
  Draft(Random& random, const UnlikeShape& shape) : random_(random), shape_(shape) {}

  std::optional<Problem> make() {
    chooseModes();
    addDevices();
    addLinks();
    addOps();
    addTensors();
    addConstraints();
    if (!problem_.finish()) return std::nullopt;
    return std::move(problem_);
  }

 private:
  Random& random_;
  const UnlikeShape& shape_;
  Problem problem_;
  bool training_ = false, from_links_ = false;
  std::uint32_t kind_of_times_ = 0;
  std::vector<std::uint32_t> order_;  // ops, each before all it feeds

  bool oneIn(std::uint32_t n) { return random_.below(n) == 0; }
  template <std::size_t N>
  double oneOf(const std::array<double, N>& values) {
    return values[random_.below(N)];
  }
  std::uint32_t ops() const { return static_cast<std::uint32_t>(problem_.opCount()); }
  std::uint32_t devices() const { return static_cast<std::uint32_t>(problem_.deviceCount()); }

  void chooseModes() {
    Modes& m = problem_.modes;
    m.goal = Goal::kThroughput;
    m.contiguity = oneIn(4) ? static_cast<Contiguity>(1 + random_.below(2)) : Contiguity::kChain;
    m.transfers = oneIn(3) ? Transfers::kByLink : Transfers::kViaHost;
    m.overlap = oneIn(3) ? Overlap::kMax : Overlap::kSum;
    training_ = oneIn(2);
    m.training_load = oneIn(3) ? TrainingLoad::kMaxParts : TrainingLoad::kSum;
    m.replicate = !oneIn(3);
    m.in_flight = m.contiguity == Contiguity::kChain && oneIn(3);
    if (shape_.replicas) {
      m.contiguity = Contiguity::kChain;
      m.replicate = true;
    }
    m.max_stages = oneIn(4) ? 1 + random_.below(3) : 0;
    m.headroom = oneIn(6) ? 0.1 : 0;
    m.optimizer_factor = oneIn(4) ? 2 : 1;
    kind_of_times_ = random_.below(4);
    from_links_ = oneIn(2);
  }

  double seconds() {
    static constexpr std::array kTenths{0.1, 0.1, 0.2, 0.2, 0.3, 0.3, 0.7, 0.0};
    static constexpr std::array kUnlike{1e-9, 1e-3, 0.1, 1.0, 1.0, 2.0, 3.0, 1e3, 1e9, 0.0};
    switch (kind_of_times_) {
      case 0:
        return 0.25 * random_.below(13);
      case 1:
        return oneOf(kTenths);
      case 2:
        return oneIn(10) ? 0 : random_.unit();
      default:
        return oneOf(kUnlike);
    }
  }

  void addDevices() {
    Cluster& cluster = problem_.cluster;
    const std::uint32_t classes = 1 + random_.below(shape_.most_classes);
    for (std::uint32_t c = 0; c < classes; ++c) {
      DeviceClass cls;
      cls.name = fmt::format("k{}", c);
      cls.kind = oneIn(3) ? DeviceKind::kCpu : DeviceKind::kAccelerator;
      cls.launch_seconds = oneIn(4) ? oneOf(std::array{0.1, 0.25, 1.0}) : 0;
      cluster.classes.push_back(cls);
    }
    const std::uint32_t hosts = random_.below(4);  // 0: none is named
    const bool limits = oneIn(2);
    const std::uint32_t least = shape_.replicas ? 3 : 1;
    const std::uint32_t most = least + random_.below(shape_.most_devices - least + 1);
    for (std::uint32_t d = 0; d < most; ++d) {
      Device device;
      device.name = fmt::format("d{}", d);
      device.cls = ClassId(oneIn(3) ? random_.below(classes) : 0);
      if (limits && !oneIn(3)) device.memory_bytes = 6 + random_.below(30);
      if (hosts > 0) device.host = cluster.internHost(fmt::format("h{}", random_.below(hosts)));
      cluster.devices.push_back(device);
    }
  }

  void addLinks() {
    static constexpr std::array kLatency{0.0, 0.0, 0.1, 0.25, 1.0};
    static constexpr std::array kBandwidth{1.0, 2.0, 4.0, 10.0, 100.0, 1e3};
    const auto entry = [&](LinkEnd from_kind, std::uint32_t from, LinkEnd to_kind, std::uint32_t to) {
      problem_.cluster.links.push_back({from_kind, to_kind, from, to, oneOf(kLatency), oneOf(kBandwidth)});
    };
    const auto end = [&]() -> std::pair<LinkEnd, std::uint32_t> {
      const auto hosts = static_cast<std::uint32_t>(problem_.cluster.host_name.size());
      switch (random_.below(hosts > 0 ? 4 : 3)) {
        case 0:
          return {LinkEnd::kAny, 0};
        case 1:
          return {LinkEnd::kClass, random_.below(static_cast<std::uint32_t>(problem_.cluster.classCount()))};
        case 2:
          return {LinkEnd::kDevice, random_.below(devices())};
        default:
          return {LinkEnd::kHost, random_.below(hosts)};
      }
    };
    if (!oneIn(6)) entry(LinkEnd::kAny, 0, LinkEnd::kAny, 0);
    for (std::uint32_t more = random_.below(6); more > 0; --more) {
      const auto [from_kind, from] = end();
      const auto [to_kind, to] = end();
      entry(from_kind, from, to_kind, to);
    }
  }

  void addOps() {
    OpGraph& graph = problem_.graph;
    graph.model_name.push_back("m");
    problem_.model_weight.push_back(1);
    problem_.model_release.push_back(0);
    const std::uint32_t count = 2 + random_.below(shape_.most_ops - 1);
    const auto classes = static_cast<std::uint32_t>(problem_.cluster.classCount());
    const bool has_weights = !oneIn(3);
    for (std::uint32_t i = 0; i < count; ++i) {
      graph.addOp(fmt::format("o{}", i));
      if (training_) graph.op_phase[i] = static_cast<Phase>(oneIn(2) ? 0 : random_.below(3));
      graph.op_memory_bytes[i] = random_.below(8);
      if (oneIn(3)) graph.op_activation_bytes[i] = random_.below(5);
      if (has_weights) graph.op_weight_bytes[i] = random_.below(8);
      const std::uint32_t sure = random_.below(classes);
      // Few kinds of ops, so that ties and free ops come up.
      const bool free = oneIn(7);
      for (std::uint32_t c = 0; c < classes; ++c) {
        const bool cannot = c != sure && oneIn(10);
        problem_.op_seconds.push_back(cannot ? kCannotRun : free ? 0 : seconds());
      }
    }
    order_.resize(count);
    std::iota(order_.begin(), order_.end(), 0u);
    for (std::uint32_t i = count; i > 1; --i) std::swap(order_[i - 1], order_[random_.below(i)]);
  }

  void addTensors() {
    const std::size_t cells = problem_.deviceCount() * problem_.deviceCount();
    const bool matrices = problem_.modes.transfers == Transfers::kByLink && oneIn(3);
    const std::uint32_t density = 2 + random_.below(3);
    for (std::uint32_t i = 0; i < ops(); ++i) {
      for (std::uint32_t k = oneIn(5) ? 2 : 1; k > 0; --k) {
        std::vector<OpId> consumers;
        for (std::uint32_t j = i + 1; j < ops(); ++j) {
          if (oneIn(density)) consumers.emplace_back(order_[j]);
        }
        if (consumers.empty() && !oneIn(4)) continue;
        const std::int64_t bytes = oneIn(20) ? 1'000'000'000 : random_.below(8);
        problem_.addTensor(OpId(order_[i]), consumers, bytes,
                           from_links_ && !oneIn(3) ? std::nan("") : seconds());
        if (!matrices || oneIn(2)) continue;
        problem_.tensor_matrix.back() = static_cast<std::int32_t>(problem_.matrices.size() / cells);
        for (std::size_t cell = 0; cell < cells; ++cell) problem_.matrices.push_back(seconds());
      }
    }
  }

  void addConstraints() {
    Constraints& c = problem_.constraints;
    OpGraph& graph = problem_.graph;
    if (oneIn(6)) c.pin.emplace_back(OpId(random_.below(ops())), DeviceId(random_.below(devices())));
    for (std::uint32_t more = oneIn(3) ? 1 + random_.below(3) : 0; more > 0; --more)
      c.forbid.emplace_back(OpId(random_.below(ops())), DeviceId(random_.below(devices())));
    if (oneIn(5)) c.together.push_back({OpId(random_.below(ops())), OpId(random_.below(ops()))});
    for (std::uint32_t more = oneIn(3) ? 1 + random_.below(2) : 0; more > 0; --more) {
      const std::uint32_t first = random_.below(ops() - 1);
      c.order.emplace_back(OpId(order_[first]), OpId(order_[first + 1 + random_.below(ops() - first - 1)]));
    }
    const std::uint32_t groups = training_ ? random_.below(4) : oneIn(4) ? 1 : 0;
    for (std::uint32_t g = 0; g < groups; ++g) graph.group_name.push_back(fmt::format("g{}", g));
    for (std::uint32_t i = 0; groups > 0 && i < ops(); ++i) {
      if (oneIn(2)) graph.op_group[i] = GroupId(random_.below(groups));
    }
  }
};

}  // namespace

std::optional<Problem> unlikePipeline(Random& random, const UnlikeShape& shape) {
  return Draft(random, shape).make();
}

Plan randomStages(const Problem& problem, Random& random) {
  const auto devices = static_cast<std::uint32_t>(problem.deviceCount());
  std::vector<DeviceId> order;
  for (std::uint32_t d = 0; d < devices; ++d) order.emplace_back(d);
  for (std::uint32_t i = devices; i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
  Plan plan;
  plan.modes = problem.modes;
  plan.status = Status::kFeasible;
  plan.bound = std::nan("");
  plan.assignment.assign(problem.opCount(), DeviceId());
  std::vector<PlanStage> stages(1 + random.below(devices));
  for (std::size_t s = 0; s < stages.size(); ++s) stages[s].devices.push_back(order[s]);
  for (std::size_t d = stages.size(); problem.modes.replicate && d < devices; ++d) {
    PlanStage& stage = stages[random.below(static_cast<std::uint32_t>(stages.size()))];
    const auto cls = [&](DeviceId device) { return problem.cluster.devices[device.index()].cls; };
    if (cls(stage.devices.front()) == cls(order[d])) stage.devices.push_back(order[d]);
  }
  for (std::size_t u = 0; u < problem.unitCount(); ++u) {
    PlanStage& stage = stages[random.below(static_cast<std::uint32_t>(stages.size()))];
    for (const OpId op : problem.unitOps(UnitId(u))) {
      stage.ops.push_back(op);
      plan.assignment[op.index()] = stage.devices.front();
    }
  }
  for (PlanStage& stage : stages) {
    std::sort(stage.ops.begin(), stage.ops.end());
    if (!stage.ops.empty()) plan.stages.push_back(std::move(stage));
  }
  return plan;
}

}  // namespace allot
