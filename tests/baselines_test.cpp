// Baselines against hand-checked cases, against random problems (every reported decision must be sound), and,
// where the public graphs are at hand, against makespans known for them.
#include "solve/baselines/baselines.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <map>
#include <sstream>

#include "allot/formats.h"
#include "base/random.h"
#include "solve/baselines/list_schedule.h"
#include "solve/module_order.h"

namespace allot {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
using Devices = std::vector<std::size_t>;

class Recorder final : public Progress {
 public:
  std::vector<Plan> plans;
  std::vector<std::string> names;

  bool plan(Plan decisions, std::string_view solver) override {
    plans.push_back(std::move(decisions));
    names.emplace_back(solver);
    return true;
  }
  void bound(double, std::string_view) override {}
  double bestValue() const override { return kInfinity; }
  double bestBound() const override { return 0; }
  const Plan* bestPlan() const override { return nullptr; }
  bool done() const override { return false; }
};

const Solver& solver(std::string_view name) {
  const auto all = baselineSolvers();
  const auto it = std::find_if(all.begin(), all.end(), [&](const Solver& s) { return s.name == name; });
  EXPECT_NE(it, all.end()) << name;
  return *it;
}

std::vector<Plan> run(const Problem& problem, std::string_view name) {
  Recorder recorder;
  EXPECT_TRUE(solver(name).accepts(problem)) << name;
  solver(name).solve(problem, Budget(), recorder);
  for (const std::string& reported : recorder.names) EXPECT_EQ(reported, name);
  return recorder.plans;
}

Devices devicesOf(const Plan& plan) {
  Devices devices;
  for (const DeviceId device : plan.assignment) devices.push_back(device.index());
  return devices;
}

// The devices of the only plan, or nothing.
Devices place(const Problem& problem, std::string_view name) {
  const std::vector<Plan> plans = run(problem, name);
  EXPECT_LE(plans.size(), 1u);
  return plans.empty() ? Devices{} : devicesOf(plans.front());
}

struct Maker {
  Problem problem;

  explicit Maker(Goal goal) { problem.modes.goal = goal; }
  // A device of a class of its own.
  Maker& device(DeviceKind kind = DeviceKind::kAccelerator, std::optional<std::int64_t> memory = {},
                double launch = 0) {
    const std::string name = "d" + std::to_string(problem.cluster.devices.size());
    problem.cluster.classes.push_back({name + "-class", kind, launch, 1});
    problem.cluster.devices.push_back({name, ClassId(problem.cluster.classes.size() - 1), memory, HostId()});
    return *this;
  }
  Maker& cpu(std::optional<std::int64_t> memory = {}) { return device(DeviceKind::kCpu, memory); }
  OpId op(std::vector<double> seconds, std::int64_t memory = 0, std::int64_t weights = 0) {
    const OpId id = problem.graph.addOp("op" + std::to_string(problem.opCount()));
    if (seconds.size() == 1) seconds.resize(problem.cluster.classCount(), seconds[0]);
    problem.op_seconds.insert(problem.op_seconds.end(), seconds.begin(), seconds.end());
    problem.graph.op_memory_bytes.back() = memory;
    problem.graph.op_weight_bytes.back() = weights;
    return id;
  }
  OpId phased(Phase phase) {
    const OpId id = op({1});
    problem.graph.op_phase.back() = phase;
    return id;
  }
  void edge(OpId from, OpId to, double seconds = 0) {
    const OpId consumer[] = {to};
    problem.addTensor(from, consumer, 0, seconds);
  }
  // Ops in a row, one for each size.
  Maker& chain(const std::vector<std::int64_t>& memory, const std::vector<std::int64_t>& weights = {}) {
    for (std::size_t i = 0; i < memory.size(); ++i) {
      const OpId id = op({1}, memory[i], weights.empty() ? 0 : weights[i]);
      if (i > 0) edge(OpId(i - 1), id);
    }
    return *this;
  }
  Problem& done() {
    const auto finished = problem.finish();
    EXPECT_TRUE(finished) << (finished ? "" : finished.error().text());
    return problem;
  }
};

TEST(Baselines, SingleReportsEveryKindOfDeviceThatCanHoldAll) {
  Maker m(Goal::kThroughput);
  m.device().device(DeviceKind::kAccelerator, 5).cpu(6).device().chain({3, 3});
  m.problem.constraints.forbid.emplace_back(OpId(1), DeviceId(3));
  const std::vector<Plan> plans = run(m.done(), "single");
  ASSERT_EQ(plans.size(), 2u);  // d1 is too small, d3 is forbidden
  EXPECT_EQ(devicesOf(plans[0]), (Devices{0, 0}));
  EXPECT_EQ(devicesOf(plans[1]), (Devices{2, 2}));
}

TEST(Baselines, SingleReportsDevicesThatAreAlikeOnce) {
  Maker m(Goal::kThroughput);
  m.device();
  for (int i = 0; i < 3; ++i)
    m.problem.cluster.devices.push_back({"x" + std::to_string(i), ClassId(0), {}, HostId()});
  m.chain({1, 1});
  EXPECT_EQ(run(m.done(), "single").size(), 1u);
}

TEST(Baselines, EvenSplitGivesTheRemainderToStagesBeforeTheLast) {
  Maker seven(Goal::kThroughput);
  seven.cpu().device().device().device().chain(std::vector<std::int64_t>(7, 0));
  EXPECT_EQ(place(seven.done(), "even-split"), (Devices{1, 1, 2, 2, 2, 3, 3}));
  Maker eight(Goal::kThroughput);
  eight.device().device().device().chain(std::vector<std::int64_t>(8, 0));
  EXPECT_EQ(place(eight.done(), "even-split"), (Devices{0, 0, 0, 1, 1, 1, 2, 2}));
}

TEST(Baselines, EvenSplitKeepsToTheStageLimitAndFewOps) {
  Maker m(Goal::kThroughput);
  m.device().device().device().chain(std::vector<std::int64_t>(4, 0));
  m.problem.modes.max_stages = 2;
  EXPECT_EQ(place(m.done(), "even-split"), (Devices{0, 0, 1, 1}));
  Maker one(Goal::kThroughput);
  one.device().device().device().chain({0});
  EXPECT_EQ(place(one.done(), "even-split"), (Devices{1}));
}

TEST(Baselines, CpusJoinWhenAcceleratorsCannotHoldTheParts) {
  Maker m(Goal::kThroughput);
  m.device(DeviceKind::kAccelerator, 2).cpu().chain({1, 1, 1, 1});
  EXPECT_EQ(place(m.done(), "even-split"), (Devices{0, 0, 1, 1}));
  Maker full(Goal::kThroughput);
  full.device(DeviceKind::kAccelerator, 1).cpu(1).chain({1, 1, 1, 1});
  EXPECT_EQ(place(full.done(), "even-split"), Devices{});
}

TEST(Baselines, DeepspeedMinimisesTheLargestPart) {
  Maker m(Goal::kThroughput);
  m.device().device().chain({0, 0, 0, 0, 0}, {1, 2, 3, 4, 5});
  EXPECT_EQ(place(m.done(), "deepspeed-parameters"), (Devices{0, 0, 0, 1, 1}));
  Maker no_weights(Goal::kThroughput);
  no_weights.device().device().chain({9, 0, 0, 0});
  EXPECT_EQ(place(no_weights.done(), "deepspeed-parameters"), (Devices{0, 0, 1, 1}));
}

TEST(Baselines, MemoryProportionalUsesLargestRemainders) {
  Maker m(Goal::kThroughput);  // shares of 7: 4.2, 2.1, 0.7
  m.device(DeviceKind::kAccelerator, 60)
      .device(DeviceKind::kAccelerator, 30)
      .device(DeviceKind::kAccelerator, 10);
  m.chain(std::vector<std::int64_t>(7, 1));
  EXPECT_EQ(place(m.done(), "memory-proportional"), (Devices{0, 0, 0, 0, 1, 1, 2}));
  Maker unlimited(Goal::kThroughput);
  unlimited.device().device().chain({1, 1, 1});
  EXPECT_EQ(place(unlimited.done(), "memory-proportional"), (Devices{0, 0, 1}));
}

TEST(Baselines, AccelerateSequentialKeepsRoomForTheLargestRemaining) {
  Maker m(Goal::kThroughput);  // d0: 10 - 3 kept free holds two; d1 holds three; the cpu is last and keeps
                               // nothing free
  m.device(DeviceKind::kAccelerator, 10).device(DeviceKind::kAccelerator, 10).cpu(9);
  m.chain(std::vector<std::int64_t>(8, 3));
  EXPECT_EQ(place(m.done(), "accelerate-sequential"), (Devices{0, 0, 1, 1, 1, 2, 2, 2}));
}

TEST(Baselines, AccelerateBalancedCapsAllAcceleratorsButTheLast) {
  Maker m(Goal::kThroughput);  // 24 / 2 + 1.25 x 3 = 15.75, less 3 kept free: four of three bytes
  m.device(DeviceKind::kAccelerator, 100).device(DeviceKind::kAccelerator, 100).cpu();
  m.chain(std::vector<std::int64_t>(8, 3));
  EXPECT_EQ(place(m.done(), "accelerate-balanced"), (Devices{0, 0, 0, 0, 1, 1, 1, 1}));
  EXPECT_EQ(place(m.problem, "accelerate-sequential"), Devices(8, 0));
}

TEST(Baselines, AccelerateSkipsDevicesThatMayNotRunAModule) {
  Maker m(Goal::kThroughput);
  m.device().device().chain({1, 1, 1});
  m.problem.constraints.forbid.emplace_back(OpId(1), DeviceId(0));
  EXPECT_EQ(place(m.done(), "accelerate-sequential"), (Devices{0, 1, 1}));
}

TEST(Baselines, OrtBudgetStopsAtTheFirstThatDoesNotFit) {
  Maker m(Goal::kThroughput);  // 1.5 x (3 + 3) = 9 fits in 10, one more does not; the last would, but is not
                               // looked at
  m.cpu().device(DeviceKind::kAccelerator, 10).device().chain({3, 3, 3, 0});
  EXPECT_EQ(place(m.done(), "ort-budget"), (Devices{1, 1, 0, 0}));
  Maker no_cpu(Goal::kThroughput);
  no_cpu.device(DeviceKind::kAccelerator, 10).device().chain({3, 3, 3});
  EXPECT_EQ(place(no_cpu.done(), "ort-budget"), (Devices{0, 0, 1}));
  Maker cpus(Goal::kThroughput);
  cpus.cpu().chain({1});
  EXPECT_FALSE(solver("ort-budget").accepts(cpus.done()));
}

TEST(ModuleOrder, MergesUnitsThatContainEachOthersPaths) {
  Maker m(Goal::kThroughput);
  m.device().device().chain({1, 2, 4, 8, 16});
  m.problem.constraints.together = {{OpId(1), OpId(3)}};
  const ModuleOrder order = moduleOrder(m.done());
  const std::vector<Block>& blocks = order.blocks;
  ASSERT_EQ(blocks.size(), 3u);
  EXPECT_EQ(blocks[1].ops, 3u);
  EXPECT_EQ(blocks[1].resident_bytes, 14);
  EXPECT_EQ(place(m.problem, "even-split"), (Devices{0, 0, 0, 0, 1}));
}

TEST(ModuleOrder, OrphanBackwardUnitsFollowReversedEdges) {
  Maker m(Goal::kThroughput);
  m.device().device();
  const OpId orphan = m.phased(Phase::kBackward);
  const OpId f0 = m.phased(Phase::kForward), f1 = m.phased(Phase::kForward);
  const OpId b1 = m.phased(Phase::kBackward), b0 = m.phased(Phase::kBackward);
  m.edge(f0, f1);
  m.edge(f1, b1);
  m.edge(b1, b0);
  m.edge(b1, orphan);  // reversed: the orphan's unit precedes b1's
  m.problem.constraints.together = {{f0, b0}, {f1, b1}};
  const ModuleOrder order = moduleOrder(m.done());
  const std::vector<Block>& blocks = order.blocks;
  ASSERT_EQ(blocks.size(), 3u);
  EXPECT_EQ(blocks[2].units.front(), m.problem.unit(f1));
}

double makespan(const Problem& problem, const Plan& plan) {
  double last = 0;
  for (std::size_t i = 0; i < problem.opCount(); ++i) {
    last = std::max(last, plan.start[i] + problem.opSeconds(OpId(i), plan.assignment[i]));
  }
  return last;
}

// What a plan's decisions break, empty when nothing. Starts are read in link mode free.
std::string fault(const Problem& problem, const Plan& plan) {
  if (plan.assignment.size() != problem.opCount()) return "incomplete";
  std::vector<double> bytes(problem.deviceCount(), 0);
  for (std::size_t i = 0; i < problem.opCount(); ++i) {
    const DeviceId device = plan.assignment[i];
    if (!device.valid()) return "unplaced op";
    const UnitId unit = problem.unit(OpId(i));
    if (!problem.allowed(unit, device)) return "device not allowed";
    if (plan.assignment[problem.unitOps(unit).front().index()] != device) return "unit torn apart";
    bytes[device.index()] += problem.residentBytes(OpId(i));
  }
  for (std::size_t d = 0; d < bytes.size(); ++d) {
    if (bytes[d] > problem.memoryLimit(DeviceId(d))) return "memory";
  }
  if (plan.start.empty()) return {};
  std::vector<std::vector<std::pair<double, double>>> busy(problem.deviceCount());
  for (std::size_t i = 0; i < problem.opCount(); ++i) {
    const OpId op(i);
    const DeviceId device = plan.assignment[i];
    const double release =
        problem.goal() == Goal::kCompletion ? problem.model_release[problem.graph.op_model[i].index()] : 0;
    if (plan.start[i] < release) return "before its release";
    for (const TensorId tensor : problem.graph.inputs(op)) {
      const OpId from = problem.graph.producer(tensor);
      const DeviceId at = plan.assignment[from.index()];
      const double arrival = plan.start[from.index()] + problem.opSeconds(from, at) +
                             problem.transferSeconds(tensor, at, device);
      if (plan.start[i] < arrival - 1e-12) return "before its input";
    }
    const double seconds = problem.busySeconds(op, device);
    if (seconds > 0) busy[device.index()].emplace_back(plan.start[i], plan.start[i] + seconds);
  }
  for (auto& ops : busy) {
    std::sort(ops.begin(), ops.end());
    for (std::size_t k = 1; k < ops.size(); ++k) {
      if (ops[k].first < ops[k - 1].second - 1e-12) return "two ops at once";
    }
  }
  return {};
}

Plan schedule(const Problem& problem, std::string_view name) {
  std::vector<Plan> plans = run(problem, name);
  EXPECT_EQ(plans.size(), 1u) << name;
  if (plans.empty()) return {};
  EXPECT_EQ(fault(problem, plans[0]), "") << name;
  return std::move(plans[0]);
}

TEST(Baselines, HeftInsertsIntoIdleGaps) {
  Maker m(Goal::kLatency);
  m.device().device();
  const OpId x = m.op({1, kInfinity}), y = m.op({kInfinity, 1}), z = m.op({1, kInfinity});
  const OpId w = m.op({2, kInfinity});  // lowest rank, fits while z waits for y
  m.edge(x, y, 3);
  m.edge(y, z, 3);
  const Plan plan = schedule(m.done(), "heft");
  EXPECT_EQ(plan.start, (std::vector<double>{0, 4, 8, 1}));
  EXPECT_EQ(devicesOf(plan), (Devices{0, 1, 0, 0}));
  EXPECT_EQ(plan.start[w.index()], 1);
}

TEST(Baselines, LaunchKeepsTheDeviceButNotTheResult) {
  Maker m(Goal::kLatency);
  m.device(DeviceKind::kAccelerator, {}, 0.5).device();
  const OpId a = m.op({1, kInfinity}), b = m.op({1, kInfinity}), c = m.op({kInfinity, 1});
  m.edge(a, b);
  m.edge(a, c);
  EXPECT_EQ(schedule(m.done(), "heft").start, (std::vector<double>{0, 1.5, 1}));
}

TEST(Baselines, PeftLooksAheadWhereHeftDoesNot) {
  Maker m(Goal::kLatency);
  m.device().device();
  const OpId a = m.op({1, 2}), b = m.op({kInfinity, 1});
  m.edge(a, b, 10);
  m.done();
  EXPECT_EQ(makespan(m.problem, schedule(m.problem, "heft")), 12);
  EXPECT_EQ(makespan(m.problem, schedule(m.problem, "peft")), 3);
}

TEST(Baselines, PeftUsesExactPairs) {
  Maker m(Goal::kLatency);
  m.device().device().device();
  const OpId a = m.op({1, 1, kInfinity}), b = m.op({kInfinity, kInfinity, 1});
  m.edge(a, b, std::numeric_limits<double>::quiet_NaN());
  m.problem.tensor_matrix[0] = 0;
  m.problem.matrices = {0, 0, 9, 0, 0, 1, 0, 0, 0};  // d0 -> d2 takes 9, d1 -> d2 takes 1
  EXPECT_EQ(devicesOf(schedule(m.done(), "peft")), (Devices{1, 2}));
  EXPECT_EQ(devicesOf(schedule(m.problem, "heft")), (Devices{0, 2}));
}

TEST(Baselines, CpopKeepsTheCriticalPathOnOneDevice) {
  Maker m(Goal::kLatency);
  m.device().device();
  const OpId a = m.op({1, 2}), b = m.op({5, 2}), c = m.op({1, 2});
  m.edge(a, b);
  m.edge(b, c);
  EXPECT_EQ(devicesOf(schedule(m.done(), "cpop")), (Devices{1, 1, 1}));
  EXPECT_EQ(devicesOf(schedule(m.problem, "heft")), (Devices{0, 1, 0}));
}

TEST(Baselines, EtfLooksAtStartsAndMinEftAtFinishes) {
  Maker m(Goal::kLatency);
  m.device().device();
  m.op({9, 1});
  m.op({9, 1});
  EXPECT_EQ(devicesOf(schedule(m.done(), "etf")), (Devices{1, 0}));
  const Plan plan = schedule(m.problem, "min-eft");
  EXPECT_EQ(devicesOf(plan), (Devices{1, 1}));
  EXPECT_EQ(plan.start, (std::vector<double>{0, 1}));
}

TEST(Baselines, EtfWaitsForInputsAndLetsZeroTimeOpsPass) {
  Maker m(Goal::kLatency);
  m.device();
  const OpId a = m.op({2}), b = m.op({3}), zero = m.op({0}), c = m.op({1});
  m.edge(a, zero);
  m.edge(zero, c);
  const Plan plan = schedule(m.done(), "etf");
  EXPECT_EQ(plan.start[b.index()], 2);
  EXPECT_EQ(plan.start[zero.index()], 2);  // while b runs
  EXPECT_EQ(plan.start[c.index()], 5);
}

TEST(Baselines, ListSchedulersTakeTheMemoryOfAWholeUnit) {
  Maker m(Goal::kLatency);
  m.device(DeviceKind::kAccelerator, 5).device(DeviceKind::kAccelerator, 8);
  const OpId a = m.op({1, 3}, 3), b = m.op({1, 3}, 3), c = m.op({1, 3}, 5);
  m.edge(a, b);
  m.problem.constraints.together = {{a, b}};  // six bytes: only d1 has room, then only d0 for c
  m.done();
  for (const char* name : {"heft", "peft", "cpop", "etf", "min-eft"}) {
    EXPECT_EQ(devicesOf(schedule(m.problem, name)), (Devices{1, 1, 0})) << name;
  }
  EXPECT_EQ(c.index(), 2u);
}

TEST(Baselines, NothingIsReportedWhereNothingFits) {
  Maker m(Goal::kCompletion);
  m.device(DeviceKind::kAccelerator, 1).chain({1, 1});
  m.done();
  for (const Solver& s : baselineSolvers()) EXPECT_TRUE(run(m.problem, s.name).empty()) << s.name;
}

// Two models of one op each on one device.
Maker twoModels(double first, double second) {
  Maker m(Goal::kCompletion);
  m.device();
  m.problem.graph.model_name = {"a", "b"};
  m.op({first});
  m.op({second});
  m.problem.graph.op_model[1] = ModelId(1);
  return m;
}

TEST(Baselines, ShortestModelGoesFirst) {
  Maker m = twoModels(10, 1);
  m.done();
  EXPECT_EQ(schedule(m.problem, "eft").start, (std::vector<double>{0, 10}));
  EXPECT_EQ(schedule(m.problem, "spt").start, (std::vector<double>{1, 0}));
  EXPECT_EQ(schedule(m.problem, "spt-fastest").start, (std::vector<double>{1, 0}));
  Maker weighted = twoModels(10, 1);
  weighted.problem.model_weight = {100, 1};
  EXPECT_EQ(schedule(weighted.done(), "spt").start, (std::vector<double>{0, 10}));
}

TEST(Baselines, ModelsWaitForTheirRelease) {
  Maker m = twoModels(10, 1);
  m.problem.model_release = {0, 5};
  m.done();
  EXPECT_EQ(schedule(m.problem, "spt").start, (std::vector<double>{6, 5}));
  EXPECT_EQ(schedule(m.problem, "eft").start, (std::vector<double>{0, 10}));
  EXPECT_EQ(schedule(m.problem, "etf").start, (std::vector<double>{0, 10}));
  Maker fits = twoModels(4, 1);
  fits.problem.model_release = {0, 5};
  EXPECT_EQ(schedule(fits.done(), "spt").start, (std::vector<double>{0, 5}));
}

TEST(Baselines, SptFastestStaysOnTheFastestDevice) {
  Maker m(Goal::kCompletion);
  m.device().device();
  m.op({2, 3});
  m.op({2, 3});
  EXPECT_EQ(devicesOf(schedule(m.done(), "spt")), (Devices{0, 1}));
  EXPECT_EQ(devicesOf(schedule(m.problem, "spt-fastest")), (Devices{0, 0}));
}

TEST(Baselines, OrderBetweenModelsBeatsTheModelOrder) {
  Maker m = twoModels(10, 1);
  m.problem.constraints.order = {{OpId(0), OpId(1)}};
  EXPECT_EQ(schedule(m.done(), "spt").start, (std::vector<double>{0, 10}));
}

TEST(Baselines, AcceptWhatTheyCanDo) {
  Maker m(Goal::kThroughput);
  m.device().cpu().chain({1, 1});
  m.done();
  const auto accepted = [&] {
    std::vector<std::string> names;
    for (const Solver& s : baselineSolvers()) {
      if (s.accepts(m.problem)) names.emplace_back(s.name);
    }
    return names;
  };
  EXPECT_EQ(accepted().size(), 7u);
  m.problem.modes.goal = Goal::kLatency;
  EXPECT_EQ(accepted().size(), 12u);
  m.problem.modes.model = LatencyModel::kSubgraphCalls;
  EXPECT_EQ(accepted().size(), 7u);
  m.problem.modes.goal = Goal::kCompletion;
  EXPECT_EQ(accepted().size(), 15u);
}

// A random problem with pins, forbidden devices, units, tight memory, several models and all phases.
Problem randomProblem(Random& random, Goal goal, std::size_t ops, bool training) {
  Maker m(goal);
  const std::size_t devices = 1 + random.below(4);
  for (std::size_t d = 0; d < devices; ++d) {
    const auto memory = random.chance(0.5)
                            ? std::optional<std::int64_t>(random.below(static_cast<std::uint32_t>(6 * ops)))
                            : std::nullopt;
    m.device(random.chance(0.7) ? DeviceKind::kAccelerator : DeviceKind::kCpu, memory,
             random.chance(0.3) ? 0.25 : 0);
  }
  m.problem.graph.model_name = {"a", "b"};
  m.problem.model_release = {0, static_cast<double>(random.below(5))};
  for (std::size_t i = 0; i < ops; ++i) {
    std::vector<double> seconds;
    for (std::size_t d = 0; d < devices; ++d) {
      seconds.push_back(random.chance(0.1) ? kInfinity : random.chance(0.2) ? 0 : 1 + random.unit());
    }
    m.op(seconds, random.below(8), random.below(4));
    m.problem.graph.op_model.back() = ModelId(random.below(2));
    if (training) m.problem.graph.op_phase.back() = static_cast<Phase>(random.below(3));
  }
  for (std::size_t i = 0; i + 1 < ops; ++i) {
    const std::size_t first =
        i + 1 + random.below(static_cast<std::uint32_t>(std::min<std::size_t>(4, ops - i - 1)));
    if (random.chance(0.8)) m.edge(OpId(i), OpId(first), random.unit());
  }
  for (std::size_t k = 0; k < ops / 6; ++k) {
    const OpId a(random.below(static_cast<std::uint32_t>(ops))),
        b(random.below(static_cast<std::uint32_t>(ops)));
    if (a != b) m.problem.constraints.together.push_back({a, b});
  }
  if (random.chance(0.3))
    m.problem.constraints.pin.emplace_back(OpId(0),
                                           DeviceId(random.below(static_cast<std::uint32_t>(devices))));
  return std::move(m.done());
}

TEST(Baselines, DecisionsOnRandomProblemsAreSound) {
  Random random(7);
  std::map<std::string_view, int> reported;
  for (int round = 0; round < 1500; ++round) {
    const Goal goal = static_cast<Goal>(random.below(3));
    const Problem problem = randomProblem(random, goal, 1 + random.below(25), random.chance(0.3));
    for (const Solver& s : baselineSolvers()) {
      if (!s.accepts(problem)) continue;
      for (const Plan& plan : run(problem, s.name)) {
        ++reported[s.name];
        ASSERT_EQ(fault(problem, plan), "") << s.name << " round " << round;
        ASSERT_EQ(plan.modes.goal, goal);
      }
    }
  }
  for (const Solver& s : baselineSolvers()) EXPECT_GT(reported[s.name], 20) << s.name;
}

TEST(ModuleOrder, FollowsEveryForwardEdge) {
  Random random(11);
  for (int round = 0; round < 500; ++round) {
    const Problem problem = randomProblem(random, Goal::kThroughput, 1 + random.below(40), round % 2 == 0);
    const ModuleOrder order = moduleOrder(problem);
    const std::vector<Block>& blocks = order.blocks;
    std::vector<std::size_t> position(problem.unitCount(), SIZE_MAX);
    std::size_t ops = 0;
    for (std::size_t b = 0; b < blocks.size(); ++b) {
      for (const UnitId unit : blocks[b].units) position[unit.index()] = b;
      ops += blocks[b].ops;
    }
    ASSERT_EQ(ops, problem.opCount());
    for (std::size_t t = 0; t < problem.graph.tensorCount(); ++t) {
      const OpId from = problem.graph.tensor_producer[t];
      for (const OpId to : problem.graph.tensor_consumers[t]) {
        if (problem.graph.op_phase[from.index()] != Phase::kForward) continue;
        if (problem.graph.op_phase[to.index()] != Phase::kForward) continue;
        ASSERT_LE(position[problem.unit(from).index()], position[problem.unit(to).index()]);
      }
    }
  }
}

TEST(Baselines, LargeGraphsAreAppended) {
  Random random(3);
  Maker m(Goal::kLatency);
  m.device().device().device();
  const std::size_t ops = baseline::kInsertionLimit + 10'000;
  for (std::size_t i = 0; i < ops; ++i) {
    const OpId op = m.op({random.unit(), random.unit(), random.unit()});
    if (i > 4) m.edge(OpId(i - 1 - random.below(4)), op, random.unit());
  }
  m.done();
  for (const char* name : {"heft", "min-eft", "cpop", "peft"})
    EXPECT_LT(makespan(m.problem, schedule(m.problem, name)), 1e5);
  EXPECT_FALSE(solver("etf").accepts(m.problem));
}

TEST(Baselines, StopsWhenAsked) {
  Maker m(Goal::kCompletion);
  m.device().chain({1, 1, 1});
  m.done();
  const std::atomic<bool> stop{true};
  const Budget budget(RunOptions{}, &stop);
  for (const Solver& s : baselineSolvers()) {
    Recorder recorder;
    EXPECT_EQ(s.solve(m.problem, budget, recorder).end, SolveEnd::kStopped) << s.name;
    EXPECT_TRUE(recorder.plans.empty()) << s.name;
  }
}

// Makespans in milliseconds, in link mode free, that an earlier, separate implementation of the same rules
// found. Not compared: PEFT on googlenet (1.407 here, 1.458 there), for which no cause was found, and ETF
// (1.783, 12.73, 61.4, 23.50 here; 1.918, 67.37, 20.73, 23.50 there), whose rule for equal starts is not
// known there; that rule alone moves yolov5x from 29.5 to 23.5.
struct Known {
  const char* graph;
  const char* solver;
  double milliseconds;
};

class MoiraiFigures : public testing::TestWithParam<Known> {};

TEST_P(MoiraiFigures, Agree) {
  const char* data = std::getenv("ALLOT_DATA");
  if (!data) GTEST_SKIP() << "ALLOT_DATA is not set";
  const std::string file = std::string(data) + "/moirai/" + GetParam().graph + ".json";
  std::ifstream stream(file);
  if (!stream) GTEST_SKIP() << file << " is absent";
  std::stringstream text;
  text << stream.rdbuf();
  Warnings warnings;
  Result<Problem> problem = readProblem(text.str(), file, {}, nullptr, warnings);
  ASSERT_TRUE(problem) << problem.error().text();
  Modes modes = problem->modes;
  modes.goal = Goal::kLatency;
  modes.link_mode = LinkMode::kFree;
  ASSERT_TRUE(problem->setModes(modes));
  const double found = 1e3 * makespan(*problem, schedule(*problem, GetParam().solver));
  EXPECT_NEAR(found, GetParam().milliseconds, 0.02 * GetParam().milliseconds);
}

INSTANTIATE_TEST_SUITE_P(
    Baselines, MoiraiFigures,
    testing::Values(Known{"googlenet", "heft", 1.385}, Known{"inceptionv4", "heft", 12.61},
                    Known{"transformer", "heft", 20.07}, Known{"yolov5x", "heft", 23.50},
                    Known{"inceptionv4", "peft", 11.96}, Known{"transformer", "peft", 18.46},
                    Known{"yolov5x", "peft", 23.50}),
    [](const auto& known) { return std::string(known.param.solver) + "_" + known.param.graph; });

}  // namespace
}  // namespace allot
