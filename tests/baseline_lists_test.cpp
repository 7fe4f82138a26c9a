// List schedulers on hand-checked cases, all baselines on random problems (every reported decision must be
// sound), and, where the public graphs are at hand, makespans known for them.
#include "baselines_support.h"

namespace allot::baselines_test {
namespace {

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
  for (const Solver& s : baselineSolvers()) {
    if (s.accepts(m.problem)) EXPECT_TRUE(run(m.problem, s.name).empty()) << s.name;
  }
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
  EXPECT_EQ(accepted().size(), 9u);
  m.problem.modes.goal = Goal::kLatency;
  EXPECT_EQ(accepted().size(), 17u);
  m.problem.modes.model = LatencyModel::kSubgraphCalls;
  EXPECT_EQ(accepted().size(), 7u);
  m.problem.modes.goal = Goal::kCompletion;
  EXPECT_EQ(accepted().size(), 21u);
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
}  // namespace allot::baselines_test
