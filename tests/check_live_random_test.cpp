// Live memory of throughput by a naive reading of its definition, step by step and tensor by tensor, against
// the checker: what it says is accepted, a byte more or less is refused.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "base/random.h"
#include "check_maker.h"

namespace allot {
namespace {

struct Case {
  Problem problem;
  Plan plan;
};

class CaseMaker {
 public:
  explicit CaseMaker(std::uint64_t seed) : random_(seed, 5) {}

  Case make() {
    const std::size_t devices = 1 + below(4);
    m_.cls("acc");
    m_.cls("cpu", DeviceKind::kCpu);
    for (std::size_t d = 0; d < devices; ++d) m_.device(std::string("d") + std::to_string(d), below(2));
    m_.problem.cluster.links.push_back({LinkEnd::kAny, LinkEnd::kAny, 0, 0, 0.5, 8});
    makeOps();
    makeTensors();
    Modes& modes = m_.problem.modes;
    modes.in_flight = oneIn(3);
    const double factors[] = {1, 1, 2, 1.3};
    modes.optimizer_factor = factors[below(4)];
    modes.replicate = true;
    (oneIn(2) ? m_.problem.default_memory : modes.memory.emplace()) = MemoryModel::kLive;
    m_.finish(Goal::kThroughput);
    return {m_.problem, makePlan()};
  }

 private:
  Random random_;
  Maker m_;

  std::size_t below(std::size_t n) { return random_.below(static_cast<std::uint32_t>(n)); }
  bool oneIn(std::size_t n) { return below(n) == 0; }
  std::int64_t bytes() { return static_cast<std::int64_t>(oneIn(4) ? 0 : below(30)); }
  std::size_t ops() const { return m_.problem.graph.opCount(); }

  // Ops that may read one of the others: any from `first` on.
  std::vector<OpId> readers(std::size_t first, std::size_t sparse) {
    std::vector<OpId> some;
    for (std::size_t i = first; i < ops(); ++i) {
      if (oneIn(sparse)) some.emplace_back(i);
    }
    return some;
  }

  void makeOps() {
    const std::size_t n = 1 + below(9), models = 1 + below(2);
    for (std::size_t k = 0; k < models; ++k) m_.model(std::string("m") + std::to_string(k), 1, 0);
    const bool training = oneIn(2);
    OpGraph& graph = m_.problem.graph;
    for (std::size_t i = 0; i < n; ++i) {
      const auto phase = training && 2 * i > n ? static_cast<Phase>(1 + below(2)) : Phase::kForward;
      const double seconds = oneIn(3) ? 0 : 1;  // ops of no time have their step like others
      m_.op(std::string("o") + std::to_string(i), {seconds, seconds}, phase);
      graph.op_model[i] = ModelId(below(models));
      graph.op_memory_bytes[i] = bytes();
      graph.op_activation_bytes[i] = oneIn(3) ? bytes() : 0;
      graph.op_weight_bytes[i] = bytes();
      graph.op_workspace_bytes[i] = bytes();
    }
  }

  void makeTensors() {
    for (std::size_t i = 0; i < ops(); ++i) {
      for (std::size_t k = below(3); k > 0; --k) m_.tensor(OpId(i), readers(i + 1, 2 + below(3)), 0, bytes());
    }
    for (std::size_t k = below(3); k > 0; --k) m_.input(bytes(), readers(0, 3));
    for (std::size_t k = below(3); k > 0; --k)
      m_.block(std::string("b") + std::to_string(k), bytes(), readers(0, 2));
    if (ops() > 2 && oneIn(4)) m_.problem.constraints.order = {{OpId(0), OpId(ops() - 1)}};
    if (oneIn(2)) m_.problem.graph.order_hint = randomOrder();
  }

  // Any order in which ops come behind those they read from.
  std::vector<OpId> randomOrder() {
    const OpGraph& graph = m_.problem.graph;
    std::vector<OpId> order;
    std::vector<bool> taken(ops(), false);
    const auto ready = [&](OpId op) {
      for (const auto& [first, then] : m_.problem.constraints.order) {
        if (then == op && !taken[first.index()]) return false;
      }
      for (std::size_t t = 0; t < graph.tensorCount(); ++t) {
        const auto all = graph.consumers(TensorId(t));
        const bool reads = std::find(all.begin(), all.end(), op) != all.end();
        if (reads && !taken[graph.tensor_producer[t].index()]) return false;
      }
      return true;
    };
    while (order.size() < ops()) {
      const OpId op(below(ops()));
      if (taken[op.index()] || !ready(op)) continue;
      taken[op.index()] = true;
      order.push_back(op);
    }
    return order;
  }

  // Ops on stages at random, stages on disjoint sets of devices of one class.
  Plan makePlan() {
    const Problem& problem = m_.problem;
    std::vector<std::uint32_t> free(problem.deviceCount());
    std::iota(free.begin(), free.end(), 0);
    Plan plan = planFor(problem, std::vector<DeviceId>(ops()), 0);
    std::vector<std::size_t> of(ops());
    const std::size_t most = 1 + below(problem.deviceCount());
    for (std::size_t& stage : of) stage = below(most);
    for (std::size_t s = 0; s < most; ++s) {
      PlanStage stage;
      for (std::size_t i = 0; i < ops(); ++i) {
        if (of[i] == s) stage.ops.emplace_back(i);
      }
      if (stage.ops.empty()) continue;
      const auto take = [&](std::size_t k) {
        stage.devices.emplace_back(free[k]);
        free.erase(free.begin() + static_cast<std::ptrdiff_t>(k));
      };
      take(below(free.size()));
      const ClassId cls = problem.cluster.devices[stage.devices[0].index()].cls;
      // Leaves a device for each stage to come.
      for (std::size_t k = 0; k < free.size() && free.size() + s + 1 > most; ++k) {
        if (problem.cluster.devices[free[k]].cls == cls && oneIn(2)) take(k--);
      }
      for (const OpId op : stage.ops) plan.assignment[op.index()] = stage.devices[0];
      plan.stages.push_back(std::move(stage));
    }
    return plan;
  }
};

bool contains(std::span<const OpId> ops, OpId op) {
  return std::find(ops.begin(), ops.end(), op) != ops.end();
}

// The ops of a stage in reference order: the hint, or model after model, each time the first op by
// declaration whose inputs are there. Where data goes back to an earlier model, models are not kept apart.
std::vector<OpId> inOrder(const Problem& problem, const PlanStage& stage) {
  const OpGraph& graph = problem.graph;
  std::vector<OpId> order = graph.order_hint, mine;
  bool back = false;
  for (std::size_t t = 0; t < graph.tensorCount(); ++t) {
    for (const OpId to : graph.consumers(TensorId(t)))
      back = back || graph.op_model[to.index()] < graph.op_model[graph.tensor_producer[t].index()];
  }
  for (std::size_t model = 0; order.empty() && model < (back ? 1 : graph.modelCount()); ++model) {
    for (std::size_t i = 0; i < graph.opCount(); ++i) {  // tensors only go to later ops here
      if (back || graph.op_model[i].index() == model) mine.emplace_back(i);
    }
  }
  if (order.empty()) order = std::exchange(mine, {});
  for (const OpId op : order) {
    if (contains(stage.ops, op)) mine.push_back(op);
  }
  return mine;
}

// Whether a tensor lies in the stage while its op number `step` runs.
bool isThere(const std::vector<OpId>& ops, std::size_t step, OpId producer, std::span<const OpId> readers) {
  bool read_later = false, sent = false;
  for (const OpId reader : readers) {
    const auto place = static_cast<std::size_t>(std::find(ops.begin(), ops.end(), reader) - ops.begin());
    sent = sent || place == ops.size();
    read_later = read_later || (place < ops.size() && place >= step);
  }
  if (!producer.valid() || !contains(ops, producer)) return read_later;
  const auto made = static_cast<std::size_t>(std::find(ops.begin(), ops.end(), producer) - ops.begin());
  return made <= step && (read_later || sent || readers.empty());
}

double naiveBytes(const Case& c, std::size_t s) {
  const OpGraph& graph = c.problem.graph;
  const PlanStage& stage = c.plan.stages[s];
  const std::vector<OpId> ops = inOrder(c.problem, stage);
  double placed = 0, weights = 0, received = 0, stash = 0, most = 0;
  std::set<std::size_t> blocks;
  for (const OpId op : ops) {
    const std::size_t i = op.index();
    placed += static_cast<double>(graph.op_memory_bytes[i] + graph.op_activation_bytes[i]);
    weights += static_cast<double>(graph.op_weight_bytes[i]);
    for (std::size_t b = 0; b < graph.block_bytes.size(); ++b) {
      if (contains(graph.block_readers[b], op)) blocks.insert(b);
    }
  }
  for (const std::size_t b : blocks) weights += static_cast<double>(graph.block_bytes[b]);
  for (std::size_t t = 0; t < graph.tensorCount(); ++t) {
    const OpId producer = graph.tensor_producer[t];
    bool read = false, stashed = false;
    for (const OpId reader : graph.consumers(TensorId(t))) {
      if (!contains(ops, reader)) continue;
      read = true;
      stashed = stashed || (graph.op_phase[producer.index()] == Phase::kForward &&
                            graph.op_phase[reader.index()] == Phase::kBackward);
    }
    const auto bytes = static_cast<double>(graph.tensor_bytes[t]);
    if (read && !contains(ops, producer)) received += bytes;
    if (stashed) stash += bytes;
  }
  for (std::size_t step = 0; step < ops.size(); ++step) {
    auto now = static_cast<double>(graph.op_workspace_bytes[ops[step].index()]);
    for (std::size_t t = 0; t < graph.tensorCount(); ++t) {
      if (isThere(ops, step, graph.tensor_producer[t], graph.consumers(TensorId(t))))
        now += static_cast<double>(graph.tensor_bytes[t]);
    }
    for (std::size_t k = 0; k < graph.input_bytes.size(); ++k) {
      if (isThere(ops, step, OpId(), graph.input_readers[k]))
        now += static_cast<double>(graph.input_bytes[k]);
    }
    most = std::max(most, now);
  }
  double samples = 1;
  while (c.plan.modes.in_flight &&
         samples * static_cast<double>(stage.devices.size()) < static_cast<double>(c.plan.stages.size() - s))
    ++samples;
  return placed + weights * c.plan.modes.optimizer_factor + most + received + (samples - 1) * stash;
}

// What the checker has against the stated memory.
std::size_t refusals(const Case& c, const std::vector<double>& bytes) {
  Plan plan = c.plan;
  plan.devices = memoryOf(bytes);
  const CheckReport report = check(c.problem, plan);
  EXPECT_FALSE(std::isnan(report.value));
  return static_cast<std::size_t>(
      std::count_if(report.violations.begin(), report.violations.end(),
                    [](const std::string& v) { return v.find("says memory") != std::string::npos; }));
}

TEST(CheckLiveRandom, AgreesWithItsDefinition) {
  std::size_t shared = 0, replicas = 0, stashed = 0;
  for (std::uint64_t seed = 0; seed < 4000; ++seed) {
    const Case c = CaseMaker(seed).make();
    std::vector<double> bytes(c.problem.deviceCount(), 0);
    for (std::size_t s = 0; s < c.plan.stages.size(); ++s) {
      for (const DeviceId device : c.plan.stages[s].devices) bytes[device.index()] = naiveBytes(c, s);
      replicas += c.plan.stages[s].devices.size() > 1;
    }
    shared += !c.problem.graph.block_bytes.empty();
    stashed += c.plan.modes.in_flight && c.problem.hasTraining();
    ASSERT_EQ(refusals(c, bytes), 0u) << seed;
    for (double& b : bytes) {
      const double right = b;
      for (const double wrong : {right + 1, right - 1}) {
        b = wrong;
        ASSERT_EQ(refusals(c, bytes), 1u) << seed;
      }
      b = right;
    }
  }
  EXPECT_GT(shared, 1000u);
  EXPECT_GT(replicas, 1000u);
  EXPECT_GT(stashed, 300u);
}

}  // namespace
}  // namespace allot
