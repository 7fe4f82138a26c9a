// The checker against naive restatements of the definitions on random problems, and against plans full of
// nonsense.
#include <algorithm>
#include <numeric>
#include <random>
#include <set>

#include "check_maker.h"

namespace allot {
namespace {

class Dice {
 public:
  explicit Dice(unsigned seed) : engine_(seed) {}
  std::size_t below(std::size_t n) { return engine_() % n; }
  bool oneIn(std::size_t n) { return below(n) == 0; }

 private:
  std::mt19937 engine_;
};

// Up to eight ops in random phases and groups, two or three devices.
void randomProblem(Dice& dice, Maker& m, Goal goal) {
  m.cls("acc", DeviceKind::kAccelerator, dice.oneIn(2) ? 0.25 : 0);
  m.cls("cpu", DeviceKind::kCpu);
  const std::size_t devices = 2 + dice.below(2);
  for (std::size_t d = 0; d < devices; ++d) m.device("d" + std::to_string(d), dice.below(2), 40);
  m.problem.cluster.links.push_back({LinkEnd::kAny, LinkEnd::kAny, 0, 0, 0.5, 8});
  const std::size_t n = 1 + dice.below(8);
  const bool training = dice.oneIn(2);
  const Phase phases[] = {Phase::kForward, Phase::kBackward, Phase::kUpdate};
  std::vector<std::vector<OpId>> groups(4);
  for (std::size_t i = 0; i < n; ++i) {
    const auto seconds = [&] { return static_cast<double>(dice.below(4)); };
    const OpId op =
        m.op("op" + std::to_string(i), {seconds(), seconds()}, phases[training ? dice.below(3) : 0]);
    m.problem.graph.op_memory_bytes[i] = static_cast<std::int64_t>(dice.below(8));
    m.problem.graph.op_workspace_bytes[i] = static_cast<std::int64_t>(dice.below(8));
    if (dice.oneIn(2)) groups[dice.below(groups.size())].push_back(op);
  }
  for (const auto& ops : groups) m.group(ops);
  for (std::size_t i = 0; i + 1 < n; ++i) {
    std::vector<OpId> consumers;
    for (std::size_t j = i + 1; j < n; ++j) {
      if (dice.oneIn(3)) consumers.emplace_back(j);
    }
    if (!consumers.empty())
      m.tensor(OpId(i), consumers, dice.oneIn(2) ? 1 : kNan, static_cast<std::int64_t>(dice.below(9)));
  }
  if (n > 2 && dice.oneIn(4)) m.problem.constraints.order = {{OpId(0), OpId(n - 1)}};
  if (n > 1 && dice.oneIn(2))
    m.block("block", static_cast<std::int64_t>(dice.below(9)), {OpId(0), OpId(n - 1)});
  if (dice.oneIn(2)) m.input(static_cast<std::int64_t>(dice.below(9)), {OpId(n - 1)});
  m.finish(goal);
}

std::vector<DeviceId> randomAssignment(Dice& dice, const Problem& problem) {
  std::vector<DeviceId> assignment(problem.opCount());
  for (std::size_t u = 0; u < problem.unitCount(); ++u) {
    const DeviceId device(dice.below(problem.deviceCount()));
    for (const OpId op : problem.unitOps(UnitId(u))) assignment[op.index()] = device;
  }
  return assignment;
}

// Reachability of the forward graph with one node per op and one artificial node per orphan unit, every edge
// written out.
struct NaiveForward {
  std::vector<std::vector<bool>> reach;
  std::vector<DeviceId> device;  // invalid: no node of the forward graph

  NaiveForward(const Problem& problem, const std::vector<DeviceId>& assignment) {
    const std::size_t n = problem.opCount();
    const auto& phase = problem.graph.op_phase;
    device.assign(n + problem.unitCount(), DeviceId());
    reach.assign(device.size(), std::vector<bool>(device.size(), false));
    std::vector<std::vector<std::size_t>> forward(problem.unitCount());
    for (std::size_t u = 0; u < problem.unitCount(); ++u) {
      for (const OpId op : problem.unitOps(UnitId(u))) {
        if (phase[op.index()] == Phase::kForward) forward[u].push_back(op.index());
      }
      if (forward[u].empty()) forward[u].push_back(n + u);
      for (const std::size_t node : forward[u])
        device[node] = assignment[problem.unitOps(UnitId(u))[0].index()];
    }
    const auto orphan = [&](std::size_t u) { return forward[u][0] >= n; };
    for (std::size_t t = 0; t < problem.graph.tensorCount(); ++t) {
      const OpId u = problem.graph.tensor_producer[t];
      for (const OpId v : problem.graph.tensor_consumers[t]) {
        const bool u_forward = phase[u.index()] == Phase::kForward,
                   v_forward = phase[v.index()] == Phase::kForward;
        if (u_forward && v_forward) reach[u.index()][v.index()] = true;
        const std::size_t a = problem.unit(v).index(), b = problem.unit(u).index();
        if (u_forward || v_forward || a == b || !(orphan(a) || orphan(b))) continue;
        for (const std::size_t x : forward[a]) {
          for (const std::size_t y : forward[b]) reach[x][y] = true;
        }
      }
    }
    edges = reach;
    for (std::size_t k = 0; k < device.size(); ++k) {
      for (std::size_t i = 0; i < device.size(); ++i) {
        for (std::size_t j = 0; j < device.size(); ++j) {
          if (reach[i][k] && reach[k][j]) reach[i][j] = true;
        }
      }
    }
  }

  bool convex() const {
    for (std::size_t i = 0; i < device.size(); ++i) {
      for (std::size_t k = 0; k < device.size(); ++k) {
        for (std::size_t j = 0; j < device.size(); ++j) {
          if (device[i] == device[j] && device[k] != device[i] && reach[i][k] && reach[k][j]) return false;
        }
      }
    }
    return true;
  }

  // Some order of all devices has no edge that goes back.
  bool chain(std::size_t devices) const {
    std::vector<std::size_t> place(devices);
    std::iota(place.begin(), place.end(), 0);
    do {
      bool good = true;
      for (std::size_t i = 0; i < device.size(); ++i) {
        for (std::size_t j = 0; j < device.size(); ++j) {
          if (edges[i][j] && place[device[i].index()] > place[device[j].index()]) good = false;
        }
      }
      if (good) return true;
    } while (std::next_permutation(place.begin(), place.end()));
    return false;
  }

 private:
  std::vector<std::vector<bool>> edges;
};

bool mentions(const CheckReport& report, const std::string& text) {
  return std::any_of(report.violations.begin(), report.violations.end(),
                     [&](const std::string& v) { return v.find(text) != std::string::npos; });
}

TEST(CheckRandom, ContiguityAgreesWithItsDefinition) {
  Dice dice(7);
  int broken_chain = 0, broken_convex = 0;
  for (int round = 0; round < 5000; ++round) {
    Maker m;
    randomProblem(dice, m, Goal::kThroughput);
    Plan plan = planFor(m.problem, randomAssignment(dice, m.problem), 0);
    const NaiveForward naive(m.problem, plan.assignment);
    const bool chain = naive.chain(m.problem.deviceCount()), convex = naive.convex();
    EXPECT_EQ(!mentions(check(m.problem, plan), "no chain"), chain) << round;
    plan.modes.contiguity = Contiguity::kConvex;
    EXPECT_EQ(!mentions(check(m.problem, plan), "not convex"), convex) << round;
    broken_chain += !chain;
    broken_convex += !convex;
  }
  EXPECT_GT(broken_chain, broken_convex);
  EXPECT_GT(broken_convex, 500);
}

// What copies of blocks cost a device: all links are alike, 0.5 s and 8 bytes/s.
double syncOfBlocks(const Problem& problem, const std::vector<DeviceId>& assignment, DeviceId device) {
  double sum = 0;
  for (std::size_t b = 0; problem.hasTraining() && b < problem.graph.block_bytes.size(); ++b) {
    std::set<DeviceId> holders;
    for (const OpId reader : problem.graph.block_readers[b]) holders.insert(assignment[reader.index()]);
    const double k = static_cast<double>(holders.size());
    if (k > 1 && holders.contains(device))
      sum += 2 * (k - 1) / k * static_cast<double>(problem.graph.block_bytes[b]) / 8 + 2 * (k - 1) * 0.5;
  }
  return sum;
}

// Loads by the definition: for every device, every tensor it touches.
TEST(CheckRandom, LoadsAgreeWithTheirDefinition) {
  Dice dice(11);
  for (int round = 0; round < 2000; ++round) {
    Maker m;
    randomProblem(dice, m, Goal::kThroughput);
    const Problem& problem = m.problem;
    Plan plan = planFor(problem, randomAssignment(dice, problem), 0);
    plan.modes.contiguity = Contiguity::kNone;
    plan.modes.transfers = dice.oneIn(2) ? Transfers::kViaHost : Transfers::kByLink;
    double largest = 0;
    for (std::size_t d = 0; d < problem.deviceCount(); ++d) {
      double load = 0;
      for (std::size_t i = 0; i < problem.opCount(); ++i) {
        if (plan.assignment[i] == DeviceId(d)) load += problem.busySeconds(OpId(i), DeviceId(d));
      }
      for (std::size_t t = 0; t < problem.firstOrderTensor(); ++t) {
        std::vector<std::size_t> readers;
        const std::size_t home = plan.assignment[problem.graph.tensor_producer[t].index()].index();
        for (const OpId c : problem.graph.tensor_consumers[t])
          readers.push_back(plan.assignment[c.index()].index());
        std::sort(readers.begin(), readers.end());
        readers.erase(std::unique(readers.begin(), readers.end()), readers.end());
        for (const std::size_t reader : readers) {
          if (reader == home || (d != home && d != reader)) continue;
          const double seconds = problem.transferSeconds(TensorId(t), DeviceId(home), DeviceId(reader));
          if (*plan.modes.transfers == Transfers::kByLink) {
            load += seconds;
          } else if (problem.cluster.isAccelerator(DeviceId(d))) {
            load += seconds;  // the one link serves the way to the host as well
            break;
          }
        }
      }
      largest = std::max(largest, load + syncOfBlocks(problem, plan.assignment, DeviceId(d)));
    }
    EXPECT_NEAR(check(problem, plan).value, largest, 1e-12) << round;
  }
}

// A plan in which anything may be anything.
Plan nonsense(Dice& dice, const Problem& problem) {
  const auto op = [&] { return OpId(dice.oneIn(20) ? dice.below(1000) : dice.below(problem.opCount())); };
  const auto device = [&] {
    return dice.oneIn(30) ? DeviceId() : DeviceId(dice.below(problem.deviceCount() + dice.oneIn(30)));
  };
  const auto number = [&] {
    const double odd[] = {kNan, std::numeric_limits<double>::infinity(), -1, 1e300,
                          -std::numeric_limits<double>::infinity()};
    return dice.oneIn(15) ? odd[dice.below(5)] : static_cast<double>(dice.below(6));
  };
  Plan plan = planFor(problem, randomAssignment(dice, problem), number());
  plan.bound = number();
  plan.status = static_cast<Status>(dice.below(6));
  plan.modes.contiguity = static_cast<Contiguity>(dice.below(3));
  plan.modes.transfers = static_cast<Transfers>(dice.below(2));
  plan.modes.training_load = static_cast<TrainingLoad>(dice.below(2));
  plan.modes.link_mode = static_cast<LinkMode>(dice.below(3));
  plan.modes.send = static_cast<Send>(dice.below(2));
  plan.modes.memory.reset();
  if (!dice.oneIn(4)) plan.modes.memory = static_cast<MemoryModel>(dice.below(2));
  plan.modes.model = static_cast<LatencyModel>(dice.below(2));
  plan.modes.replicate = dice.oneIn(2);
  plan.modes.in_flight = dice.oneIn(2);
  if (dice.oneIn(10)) plan.assignment[dice.below(plan.assignment.size())] = device();
  if (dice.oneIn(20)) plan.assignment.resize(dice.below(10));
  for (std::size_t s = dice.below(4); s > 0; --s) {
    PlanStage stage;
    for (std::size_t k = dice.below(3); k > 0; --k) stage.devices.push_back(device());
    for (std::size_t k = dice.below(5); k > 0; --k) stage.ops.push_back(op());
    plan.stages.push_back(stage);
  }
  if (!dice.oneIn(10)) {
    plan.start.resize(dice.oneIn(20) ? 3 : problem.opCount());
    plan.end.resize(dice.oneIn(20) ? 3 : problem.opCount());
    std::generate(plan.start.begin(), plan.start.end(), [&] { return static_cast<double>(dice.below(9)); });
    std::generate(plan.end.begin(), plan.end.end(), [&] { return static_cast<double>(dice.below(9)); });
    if (dice.oneIn(5)) plan.start[0] = number();
  }
  for (std::size_t k = dice.below(6); k > 0; --k) {
    PlanTransfer transfer{
        TensorId(dice.below(problem.graph.tensorCount() + 1)), {}, device(), device(), number(), number()};
    for (std::size_t c = dice.below(4); c > 0; --c) transfer.consumers.push_back(op());
    plan.transfers.push_back(transfer);
  }
  for (std::size_t k = dice.below(3); k > 0; --k) plan.completion.push_back(number());
  if (dice.oneIn(2)) plan.devices.resize(dice.below(4), {number(), number(), number(), number()});
  return plan;
}

TEST(CheckRandom, NonsenseIsReportedNotFatal) {
  Dice dice(3);
  int rejected = 0;
  constexpr int kRounds = 6000;
  for (int round = 0; round < kRounds; ++round) {
    Maker m;
    randomProblem(dice, m, static_cast<Goal>(round % 3));
    rejected += !check(m.problem, nonsense(dice, m.problem)).ok();
  }
  EXPECT_GT(rejected, kRounds * 9 / 10);
}

}  // namespace
}  // namespace allot
