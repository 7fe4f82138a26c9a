// The optional solvers: models against enumeration, stops, cutoffs, and that nothing is loaded unasked. Where
// the libraries are absent (`make helpers` fetches them) the tests that need them are skipped.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>

#include "allot/allot.h"
#include "base/random.h"
#include "solve/helpers/cp_sat.h"
#include "solve/helpers/free_model.h"
#include "solve/helpers/free_solvers.h"
#include "solve/helpers/highs.h"
#include "solve/helpers/library.h"
#include "support/brute_force.h"
#include "support/random_problem.h"
#include "support/scale.h"
#include "support/stop_time.h"

namespace allot {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The program of the tests lies deeper than the command, so the project's folder is named to it. Empty when
// both libraries can be used, else why not.
std::string missingHelpers() {
#ifdef __SANITIZE_THREAD__
  return "the libraries are not built for the thread sanitizer";
#endif
  setenv("ALLOT_HELPERS_DIR", ALLOT_SOURCE_DIR "/third_party/helpers", 0);
  for (const auto& loaded : {loadMilpSolver(), loadCpSolver()}) {
    if (!loaded) return loaded.error().text();
  }
  return "";
}

bool isLoaded(const char* file) {
  for (const auto& folder : helperFolders()) {
    if (dlopen((folder / file).c_str(), RTLD_NOW | RTLD_NOLOAD) != nullptr) return true;
  }
  return false;
}

// A problem of contiguity `none` without replicas; odd seeds get times that are no round numbers.
Problem freeProblem(std::uint64_t seed) {
  Problem problem = randomProblem(seed, Goal::kThroughput, {7, 3});
  if (seed % 2 == 1) {
    Random random(seed, 9);
    for (double& seconds : problem.op_seconds) seconds *= 0.5 + random.unit();
    for (double& seconds : problem.tensor_seconds) seconds *= 0.5 + random.unit();
  }
  Modes modes = problem.modes;
  modes.contiguity = Contiguity::kNone;
  modes.replicate = modes.in_flight = false;
  modes.max_stages = 0;
  EXPECT_TRUE(problem.setModes(modes));
  return problem;
}

// `layers` rows of `width` ops, each read by two of the next row: too large to finish in a second.
Problem largeProblem(std::uint32_t layers, std::uint32_t width) {
  Problem problem;
  problem.modes.goal = Goal::kThroughput;
  problem.modes.contiguity = Contiguity::kNone;
  problem.cluster.classes.push_back({"gpu", DeviceKind::kAccelerator, 0, 1});
  for (int d = 0; d < 6; ++d)
    problem.cluster.devices.push_back({"d" + std::to_string(d), ClassId(0), std::nullopt, HostId()});
  Random random(7, 0);
  for (std::uint32_t i = 0; i < layers * width; ++i) {
    problem.graph.addOp("op" + std::to_string(i));
    problem.op_seconds.push_back(0.5 + random.unit());
  }
  for (std::uint32_t i = 0; i + width < layers * width; ++i) {
    const std::uint32_t next = (i / width + 1) * width;
    const OpId readers[] = {OpId(next + i % width), OpId(next + (i + 1) % width)};
    problem.addTensor(OpId(i), readers, 0, 0.5 * random.unit());
  }
  const auto done = problem.finish();
  EXPECT_TRUE(done) << (done ? "" : done.error().text());
  return problem;
}

class HelperTest : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (const std::string missing = missingHelpers(); !missing.empty()) GTEST_SKIP() << missing;
  }
  static RunOptions run(double seconds = 60) {
    RunOptions run;
    run.solver = GetParam();
    run.time_limit_seconds = seconds;
    run.threads = GetParam() == "helpers-free" ? 2 : 1;
    return run;
  }
};

// The random problems have memory limits, permissions, links that differ by direction, both overlap rules and
// both training loads. By-link models are relaxations: their bound holds, their value may not be least.
TEST_P(HelperTest, AgreesWithEnumeration) {
  for (std::uint64_t seed = 0; seed < scaled(300); ++seed) {
    const Problem problem = freeProblem(seed);
    SCOPED_TRACE("seed " + std::to_string(seed) + ", " + describe(problem));
    const std::optional<double> best = bruteForce(problem);
    const SolveOutcome outcome = solve(problem, run());
    EXPECT_EQ(outcome.message, "");
    if (!best) {
      EXPECT_FALSE(outcome.plan.hasPlan());
      continue;
    }
    EXPECT_LE(outcome.plan.bound, *best * (1 + 1e-12));
    if (problem.transfers() == Transfers::kByLink) continue;
    ASSERT_TRUE(outcome.plan.hasPlan());
    EXPECT_NEAR(outcome.plan.value, *best, *best * (GetParam() == "highs-free" ? 2e-6 : 1e-9));
    // Without a start the margin of HiGHS is relative to a looser scale.
    EXPECT_GE(outcome.plan.bound, *best * (1 - 2e-5));
    if (GetParam() != "highs-free") {
      EXPECT_EQ(name(outcome.plan.status), name(Status::kOptimal));
    }
    if (HasFailure()) return;
  }
}

TEST_P(HelperTest, TakesTheBestPlanAsStart) {
  for (std::uint64_t seed = 1000; seed < 1100; ++seed) {
    const Problem problem = freeProblem(seed);
    SCOPED_TRACE("seed " + std::to_string(seed) + ", " + describe(problem));
    RunOptions all;
    all.solver = "exhaustive";
    const SolveOutcome exact = solve(problem, all);
    if (!exact.plan.hasPlan() || exact.plan.value == 0) continue;
    const FreeModel model(problem);
    const auto binary = model.columnsOf(exact.plan);
    for (std::size_t c = 0; c < binary.size(); ++c) ASSERT_FALSE(binary[c] == 1 && model.fixed[c] == 1);
    const SolveOutcome again = solve(problem, run(), &exact.plan);
    EXPECT_EQ(again.message, "");
    EXPECT_EQ(again.plan.value, exact.plan.value);
    EXPECT_LE(again.plan.bound, exact.plan.value);
    if (problem.transfers() == Transfers::kViaHost) {
      EXPECT_GE(again.plan.bound, exact.plan.value * (1 - 3e-6));
    }
    if (HasFailure()) return;
  }
}

TEST_P(HelperTest, StopsInTime) {
  const Problem problem = largeProblem(40, 6);
  for (const double limit : {0.05, 0.5, 1.5}) {
    const SolveOutcome outcome = solve(problem, run(limit));
    EXPECT_EQ(outcome.message, "");
    // 50 ms, and as much again for a busy machine and the start of the libraries.
    EXPECT_LT(outcome.plan.seconds, limit + 0.5) << limit;
    EXPECT_TRUE(outcome.plan.time_limited);
  }
}

TEST_P(HelperTest, ObeysAStopRequest) {
  // Small enough for short linear programmes, inside which HiGHS does not ask, too large to be proven at
  // once.
  const Problem problem = largeProblem(10, 3);
  const StoppedRun stopped = stopAfter(problem, run(), 0.7);
  EXPECT_EQ(stopped.outcome.message, "");
  EXPECT_LT(stopped.seconds, GetParam() == "cp-sat-free" ? kStopAllowance : 3);
}

TEST_P(HelperTest, RefusesOtherModes) {
  Problem problem = largeProblem(4, 3);
  Modes modes = problem.modes;
  modes.contiguity = Contiguity::kChain;
  ASSERT_TRUE(problem.setModes(modes));
  EXPECT_EQ(solve(problem, run()).plan.status, Status::kBadInput);
  modes.contiguity = Contiguity::kNone;
  ASSERT_TRUE(problem.setModes(modes));
  RunOptions counted = run();
  counted.work_limit = 1000;
  EXPECT_FALSE(solve(problem, counted).plan.hasPlan());
}

INSTANTIATE_TEST_SUITE_P(Helpers, HelperTest, testing::Values("highs-free", "cp-sat-free", "helpers-free"),
                         [](const auto& info) {
                           return info.param.substr(0, 2) == "hi"   ? "Highs"
                                  : info.param.substr(0, 2) == "cp" ? "CpSat"
                                                                    : "Both";
                         });

TEST(Helpers, OffLoadsNothing) {
  setenv("ALLOT_HELPERS_DIR", ALLOT_SOURCE_DIR "/third_party/helpers", 0);
  // Each test runs in a process of its own under CTest; run together, an earlier one may have loaded them.
  if (isLoaded(kMilpLibrary) || isLoaded(kCpLibrary)) GTEST_SKIP() << "loaded by an earlier test";
  const Problem problem = largeProblem(3, 3);
  for (const char* solver : {"", "highs-free", "cp-sat-free", "helpers-free"}) {
    RunOptions run;
    run.time_limit_seconds = 0.3;
    run.helpers = Helpers::kOff;
    run.solver = solver;
    solve(problem, run);
  }
  EXPECT_FALSE(isLoaded(kMilpLibrary));
  EXPECT_FALSE(isLoaded(kCpLibrary));
}

TEST(Helpers, ChosenFolderIsTheOnlyOne) {
  const char* before = std::getenv("ALLOT_HELPERS_DIR");
  const std::string kept = before == nullptr ? "" : before;
  setenv("ALLOT_HELPERS_DIR", "/nowhere/at/all", 1);
  EXPECT_EQ(helperFolders(), std::vector<std::filesystem::path>{"/nowhere/at/all"});
  EXPECT_FALSE(HelperLibrary::present(kMilpLibrary));
  EXPECT_FALSE(HelperLibrary::open(kMilpLibrary));
  if (before == nullptr)
    unsetenv("ALLOT_HELPERS_DIR");
  else
    setenv("ALLOT_HELPERS_DIR", kept.c_str(), 1);
}

// Two solvers that share nothing but the model, on problems too large to enumerate: neither may prove more
// than the other attains.
TEST(Helpers, ProofsOfBothAgree) {
  if (const std::string missing = missingHelpers(); !missing.empty()) GTEST_SKIP() << missing;
  for (std::uint64_t seed = 0; seed < scaled(10); ++seed) {
    Problem problem = randomProblem(seed, Goal::kThroughput, {18, 4});
    Modes modes = problem.modes;
    modes.contiguity = Contiguity::kNone;
    modes.replicate = modes.in_flight = false;
    modes.max_stages = 0;
    ASSERT_TRUE(problem.setModes(modes));
    if (problem.transfers() == Transfers::kByLink) continue;
    SCOPED_TRACE("seed " + std::to_string(seed) + ", " + describe(problem));
    RunOptions run;
    run.threads = 1;
    run.time_limit_seconds = 10;
    run.solver = "highs-free";
    const SolveOutcome highs = solve(problem, run);
    run.solver = "cp-sat-free";
    const SolveOutcome cp = solve(problem, run);
    if (!highs.plan.hasPlan() || !cp.plan.hasPlan()) continue;
    EXPECT_LE(highs.plan.bound, cp.plan.value * (1 + 1e-12));
    EXPECT_LE(cp.plan.bound, highs.plan.value * (1 + 1e-12));
  }
}

// minimise y with 3 a + 2 b >= 4, y >= 5 a + 3 b, a and b binary: both must be 1, y = 8.
TEST(Helpers, SmallMilp) {
  if (const std::string missing = missingHelpers(); !missing.empty()) GTEST_SKIP() << missing;
  MilpModel model{{0, 0, 1}, {0, 0, 0},       {1, 1, 100},      {1, 1, 0}, {4, 0}, {kInfinity, kInfinity},
                  {0, 2, 5}, {0, 1, 0, 1, 2}, {3, 2, -5, -3, 1}};
  const auto answer = solveMilp(model, {});
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->end, MilpEnd::kOptimal);
  EXPECT_NEAR(answer->bound, 8, 1e-6);
  ASSERT_EQ(answer->solution.size(), 3u);
  EXPECT_NEAR(answer->solution[2], 8, 1e-6);
  model.row_lower[0] = 6;
  const auto none = solveMilp(model, {});
  ASSERT_TRUE(none);
  EXPECT_EQ(none->end, MilpEnd::kInfeasible);
}

TEST(Helpers, SmallCp) {
  if (const std::string missing = missingHelpers(); !missing.empty()) GTEST_SKIP() << missing;
  CpModel model{{0, 0, 1},  {0, 0, 0}, {1, 1, 100},     {4, 0},
                {100, 100}, {0, 2, 5}, {0, 1, 0, 1, 2}, {3, 2, -5, -3, 1}};
  const auto answer = solveCp(model, {});
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->end, CpEnd::kOptimal);
  EXPECT_EQ(answer->bound, 8);
  EXPECT_EQ(answer->solution, (std::vector<std::int64_t>{1, 1, 8}));
  model.row_lower[0] = 6;
  const auto none = solveCp(model, {});
  ASSERT_TRUE(none);
  EXPECT_EQ(none->end, CpEnd::kInfeasible);
  model.upper[0] = -1;
  EXPECT_FALSE(solveCp(model, {}));
}

}  // namespace
}  // namespace allot
