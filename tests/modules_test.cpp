// The modules between barriers against the exact search of the whole graph and plain enumeration.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <thread>

#include "allot/allot.h"
#include "base/file_io.h"
#include "base/random.h"
#include "solve/latency/barrier_modules.h"
#include "support/brute_force.h"
#include "support/random_problem.h"
#include "support/stop_time.h"

namespace allot {
namespace {

SolveOutcome solveWith(const Problem& problem, const char* solver, double seconds = 20) {
  RunOptions run;
  run.solver = solver;
  run.threads = 1;
  run.time_limit_seconds = seconds;
  return solve(problem, run);
}

// Groups of parallel chains in a row, each group between two ops; now and then an edge jumps over one of
// them.
Problem seriesProblem(std::uint64_t seed, std::uint32_t groups, std::uint32_t branches,
                      std::uint32_t length) {
  Random random(seed, 3);
  Problem problem;
  const std::uint32_t devices = 2 + random.below(2);
  const bool launch = random.chance(0.2), zeros = random.chance(0.3), jumps = random.chance(0.3);
  for (std::uint32_t d = 0; d < devices; ++d) {
    DeviceClass cls;
    cls.name = fmt::format("k{}", d);
    if (launch) cls.launch_seconds = 0.25 * random.below(4);
    problem.cluster.classes.push_back(cls);
    Device device;
    device.name = fmt::format("d{}", d);
    device.cls = ClassId(d);
    problem.cluster.devices.push_back(device);
  }
  const auto addOp = [&] {
    const OpId op = problem.graph.addOp(fmt::format("o{}", problem.opCount()));
    const bool zero = zeros && random.chance(0.3);
    for (std::uint32_t d = 0; d < devices; ++d)
      problem.op_seconds.push_back(zero ? 0 : 0.25 * (1 + random.below(20)));
    return op;
  };
  const auto addEdge = [&](OpId from, OpId to) {
    const OpId consumer[1] = {to};
    problem.addTensor(from, consumer, 0, 0.25 * random.below(12));
  };
  OpId before = addOp();
  for (std::uint32_t g = 0; g < groups; ++g) {
    std::vector<OpId> ends;
    for (std::uint32_t b = 0; b < branches; ++b) {
      OpId at = before;
      for (std::uint32_t i = 0; i < 1 + random.below(length); ++i) {
        const OpId op = addOp();
        addEdge(at, op);
        at = op;
      }
      ends.push_back(at);
    }
    const OpId join = addOp();
    for (const OpId end : ends) addEdge(end, join);
    if (jumps && random.chance(0.5)) {
      const OpId behind = addOp();
      addEdge(join, behind);
      addEdge(before, behind);
      before = behind;
    } else {
      before = join;
    }
  }
  problem.modes.goal = Goal::kLatency;
  problem.modes.link_mode = static_cast<LinkMode>(random.below(3));
  problem.modes.send = static_cast<Send>(random.below(2));
  const auto done = problem.finish();
  if (!done) ADD_FAILURE() << done.error().text();
  return problem;
}

TEST(Modules, BarriersCutARowOfGroups) {
  const Problem problem = seriesProblem(5, 3, 2, 2);
  const ScheduleModel model(problem);
  const Modules modules = barrierModules(model);
  EXPECT_GE(modules.parts.size(), 3u);
  EXPECT_FALSE(modules.dropped_jumps);
  std::size_t ops = 0;
  for (std::size_t m = 0; m < modules.parts.size(); ++m) {
    const BarrierModule& part = modules.parts[m];
    ops += part.ops.size() - (part.has_entry ? 1 : 0);
    if (m > 0) {
      EXPECT_EQ(part.ops.front(), modules.parts[m - 1].ops.back());
    }
  }
  EXPECT_EQ(ops, problem.opCount());
}

TEST(Modules, AgreesWithTheSearchOfTheWholeGraph) {
  int optimal = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const Problem problem = seriesProblem(seed, 2 + seed % 2, 2, 2);
    SCOPED_TRACE("seed " + std::to_string(seed) + ", " + describe(problem));
    const SolveOutcome whole = solveWith(problem, "schedule-exact");
    const SolveOutcome modules = solveWith(problem, "modules");
    ASSERT_TRUE(modules.message.empty()) << modules.message;
    ASSERT_EQ(whole.plan.status, Status::kOptimal);
    ASSERT_TRUE(modules.plan.hasPlan());
    EXPECT_LE(modules.plan.bound, whole.plan.value * (1 + 1e-9));
    EXPECT_GE(modules.plan.value, whole.plan.value * (1 - 1e-9));
    if (modules.plan.status == Status::kOptimal) ++optimal;
    bool launch = false;
    for (const DeviceClass& cls : problem.cluster.classes) launch = launch || cls.launch_seconds > 0;
    if (!launch) {
      EXPECT_EQ(modules.plan.status, Status::kOptimal);
    }
    if (HasFailure()) return;
  }
  EXPECT_GT(optimal, 200);
}

TEST(Modules, BoundHoldsOnTinyProblemsOfEveryKind) {
  int plans = 0;
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    const Problem problem = randomProblem(seed, Goal::kLatency, {4, 3});
    if (problem.modes.model != LatencyModel::kEvents || problem.opCount() < 2) continue;
    if (problem.modes.memory == MemoryModel::kLive) continue;
    SCOPED_TRACE("seed " + std::to_string(seed) + ", " + describe(problem));
    const SolveOutcome outcome = solveWith(problem, "modules");
    ASSERT_TRUE(outcome.message.empty()) << outcome.message;
    const std::optional<double> best = bruteForce(problem);
    if (best) {
      EXPECT_LE(outcome.plan.bound, *best * (1 + 1e-9));
      if (outcome.plan.hasPlan()) {
        EXPECT_GE(outcome.plan.value, *best * (1 - 1e-9));
      }
      ++plans;
    } else {
      EXPECT_FALSE(outcome.plan.hasPlan());
    }
    if (HasFailure()) return;
  }
  EXPECT_GT(plans, 500);
}

TEST(Modules, TheSameWorkGivesTheSamePlan) {
  const Problem problem = seriesProblem(11, 4, 4, 5);
  for (const char* solver : {"modules", "schedule-exact"}) {
    RunOptions run;
    run.solver = solver;
    run.work_limit = 30'000;
    run.threads = 1;
    const SolveOutcome first = solve(problem, run);
    run.threads = 4;
    const SolveOutcome second = solve(problem, run);
    EXPECT_EQ(first.plan.value, second.plan.value);
    EXPECT_EQ(first.plan.bound, second.plan.bound);
    EXPECT_EQ(first.plan.start, second.plan.start);
    EXPECT_TRUE(first.plan.assignment == second.plan.assignment);
  }
}

TEST(Modules, StopsSoonAfterARequest) {
  const Problem problem = seriesProblem(7, 3, 6, 5);
  for (const char* solver : {"modules", "schedule-exact"}) {
    ASSERT_TRUE(findSolver(solver)->accepts(problem)) << solver;
    expectStopsSoon(problem, solver);
  }
}

TEST(Modules, ProvesThePublishedGraphs) {
  const char* data = std::getenv("ALLOT_DATA");
  if (data == nullptr) GTEST_SKIP() << "ALLOT_DATA names no folder of public data";
  const struct {
    const char* file;
    LinkMode mode;
    double value;
  } cases[] = {{"googlenet", LinkMode::kFree, 1.24132e-3},
               {"yolov5x", LinkMode::kFree, 23.502e-3},
               {"yolov5x", LinkMode::kFullDuplex, 23.745e-3}};
  for (const auto& wanted : cases) {
    const std::string path = fmt::format("{}/moirai/{}.json", data, wanted.file);
    const auto text = readFile(path);
    if (!text) GTEST_SKIP() << path << " is not there";
    Warnings warnings;
    auto problem = readProblem(*text, path, {}, nullptr, warnings);
    ASSERT_TRUE(problem.has_value());
    Modes modes = problem->modes;
    modes.goal = Goal::kLatency;
    modes.link_mode = wanted.mode;
    ASSERT_TRUE(problem->setModes(modes).has_value());
    const SolveOutcome outcome = solveWith(*problem, "modules", 60);
    EXPECT_EQ(outcome.plan.status, Status::kOptimal) << wanted.file;
    EXPECT_NEAR(outcome.plan.value, wanted.value, 1e-9) << wanted.file;
  }
}

}  // namespace
}  // namespace allot
