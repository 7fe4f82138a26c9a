// Live memory of schedules by a naive reading of its definition, against the checker: what it says is
// accepted, a byte more or less is refused.
#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "base/random.h"
#include "check_maker.h"

namespace allot {
namespace {

constexpr double kForGood = std::numeric_limits<double>::infinity();

// A random problem on free links, and a valid schedule of it: ops one after the other as they are declared,
// many of them of no time, transfers listed or left out.
class Schedule {
 public:
  Maker m;
  Plan plan;

  explicit Schedule(std::uint64_t seed) : random_(seed, 6) {
    makeProblem();
    plan = planFor(m.problem, std::vector<DeviceId>(ops()), 0);
    for (DeviceId& device : plan.assignment) device = DeviceId(below(m.problem.deviceCount()));
    std::vector<double> free(m.problem.deviceCount(), 0);
    std::vector<double> ready(ops(), 0);
    for (std::size_t i = 0; i < ops(); ++i) {
      const DeviceId device = plan.assignment[i];
      const double seconds = m.problem.opSeconds(OpId(i), device);
      double start = ready[i] + static_cast<double>(below(2));
      if (seconds > 0) start = std::max(start, free[device.index()]);
      plan.start.push_back(start);
      plan.end.push_back(start + seconds);
      if (seconds > 0) free[device.index()] = start + seconds;
      plan.value = std::max(plan.value, plan.end[i]);
      for (const TensorId tensor : m.problem.graph.outputs(OpId(i))) deliver(tensor, ready);
    }
  }

  double naivePeak(DeviceId device) const {
    const OpGraph& graph = m.problem.graph;
    double resident = 0;
    std::set<std::size_t> blocks;
    std::vector<Stay> stays;
    for (std::size_t i = 0; i < ops(); ++i) {
      if (plan.assignment[i] != device) continue;
      resident += static_cast<double>(graph.op_memory_bytes[i] + graph.op_weight_bytes[i]);
      for (const BlockId block : graph.blocks(OpId(i))) blocks.insert(block.index());
      stays.push_back({plan.start[i], plan.end[i], graph.op_workspace_bytes[i]});
    }
    for (const std::size_t block : blocks) resident += static_cast<double>(graph.block_bytes[block]);
    for (std::size_t k = 0; k < graph.input_bytes.size(); ++k) {
      Stay stay{kForGood, 0, graph.input_bytes[k]};
      for (const OpId reader : graph.input_readers[k])
        widen(stay, device, plan.start[reader.index()], reader);
      stays.push_back(stay);
    }
    for (std::size_t t = 0; t < graph.tensorCount(); ++t) stays.push_back(stayOf(TensorId(t), device));
    double most = 0;
    for (const Stay& taken : stays) {
      double now = 0;
      for (const Stay& stay : stays) {
        if (stay.from <= taken.from && taken.from < stay.to) now += static_cast<double>(stay.bytes);
      }
      if (taken.from < kForGood) most = std::max(most, now);
    }
    return resident + most;
  }

 private:
  struct Stay {
    double from, to;  // taken at `from`, free again at `to`
    std::int64_t bytes;
  };

  Random random_;

  std::size_t below(std::size_t n) { return random_.below(static_cast<std::uint32_t>(n)); }
  std::int64_t bytes() { return static_cast<std::int64_t>(below(30)); }
  std::size_t ops() const { return m.problem.graph.opCount(); }

  std::vector<OpId> readers(std::size_t first) {
    std::vector<OpId> some;
    for (std::size_t i = first; i < ops(); ++i) {
      if (below(3) == 0) some.emplace_back(i);
    }
    return some;
  }

  void makeProblem() {
    m.cls("acc");
    for (std::size_t d = 1 + below(3); d > 0; --d) m.device(std::string("d") + std::to_string(d), 0);
    OpGraph& graph = m.problem.graph;
    for (std::size_t i = 0, n = 1 + below(8); i < n; ++i) {
      m.op(std::string("o") + std::to_string(i), {static_cast<double>(below(3))});
      graph.op_memory_bytes[i] = bytes();
      graph.op_weight_bytes[i] = bytes();
      graph.op_workspace_bytes[i] = bytes();
    }
    for (std::size_t i = 0; i < ops(); ++i) {
      if (below(4) > 0) m.tensor(OpId(i), readers(i + 1), static_cast<double>(below(2)), bytes());
    }
    for (std::size_t k = below(3); k > 0; --k) m.input(bytes(), readers(0));
    for (std::size_t k = below(3); k > 0; --k)
      m.block(std::string("b") + std::to_string(k), bytes(), readers(0));
    m.problem.modes.link_mode = LinkMode::kFree;
    m.problem.modes.memory = MemoryModel::kLive;
    m.finish(Goal::kLatency);
  }

  // Lists a transfer to each device that reads the tensor, or lets it run unlisted.
  void deliver(TensorId tensor, std::vector<double>& ready) {
    const OpId producer = m.problem.graph.producer(tensor);
    const DeviceId home = plan.assignment[producer.index()];
    const double made = plan.end[producer.index()];
    for (std::size_t d = 0; d < m.problem.deviceCount(); ++d) {
      PlanTransfer transfer{tensor, {}, home, DeviceId(d), made, made};
      for (const OpId reader : m.problem.graph.consumers(tensor)) {
        if (plan.assignment[reader.index()] == DeviceId(d)) transfer.consumers.push_back(reader);
      }
      const bool listed = home != DeviceId(d) && !transfer.consumers.empty() && below(2) == 0;
      if (listed) transfer.start += static_cast<double>(below(2));
      transfer.end = transfer.start + m.problem.transferSeconds(tensor, home, DeviceId(d));
      for (const OpId reader : transfer.consumers)
        ready[reader.index()] = std::max(ready[reader.index()], transfer.end);
      if (listed) plan.transfers.push_back(transfer);
    }
  }

  void widen(Stay& stay, DeviceId device, double from, OpId reader) const {
    if (plan.assignment[reader.index()] != device) return;
    stay.from = std::min(stay.from, from);
    stay.to = std::max(stay.to, plan.end[reader.index()]);
  }

  // When a tensor's transfer to a device starts and ends.
  std::pair<double, double> way(TensorId tensor, DeviceId to) const {
    const OpId producer = m.problem.graph.producer(tensor);
    const DeviceId home = plan.assignment[producer.index()];
    for (const PlanTransfer& transfer : plan.transfers) {
      if (transfer.tensor == tensor && transfer.to == to) return {transfer.start, transfer.end};
    }
    const double made = plan.end[producer.index()];
    return {made, made + m.problem.transferSeconds(tensor, home, to)};
  }

  Stay stayOf(TensorId tensor, DeviceId device) const {
    const OpGraph& graph = m.problem.graph;
    const OpId producer = graph.producer(tensor);
    const std::int64_t bytes = graph.tensor_bytes[tensor.index()];
    const bool mine = plan.assignment[producer.index()] == device;
    if (mine && graph.consumers(tensor).empty()) return {plan.start[producer.index()], kForGood, bytes};
    Stay stay{mine ? plan.start[producer.index()] : kForGood, 0, bytes};
    for (const OpId reader : graph.consumers(tensor)) {
      const DeviceId there = plan.assignment[reader.index()];
      if (mine && there != device)
        stay.to = std::max(stay.to, way(tensor, there).second);
      else
        widen(stay, device, mine ? stay.from : way(tensor, device).first, reader);
    }
    return stay;
  }
};

TEST(CheckLiveRandom, SchedulesAgreeWithTheirDefinition) {
  for (std::uint64_t seed = 0; seed < 2000 && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    const Schedule schedule(seed);
    std::vector<double> bytes;
    for (std::size_t d = 0; d < schedule.m.problem.deviceCount(); ++d)
      bytes.push_back(schedule.naivePeak(DeviceId(d)));
    expectMemory(schedule.m.problem, schedule.plan, bytes);
  }
}

}  // namespace
}  // namespace allot
